"""Priorities by the packet: the highest is sent first; the lowest is dropped where it is full.

A packet has the priority of its socket, on a router that of its type of service.
"""

from qdisclab.emulation.kinds.qdiscs.base import QdiscKind
from qdisclab.emulation.model.units import Packets

KIND = QdiscKind("skbprio", {"limit": Packets}, linux="net/sched/sch_skbprio.c")
