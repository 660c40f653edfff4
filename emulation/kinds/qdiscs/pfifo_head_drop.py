"""A FIFO that drops its oldest packet where a new one finds no room."""

from qdisclab.emulation.kinds.qdiscs.base import QdiscKind
from qdisclab.emulation.model.units import Packets

KIND = QdiscKind("pfifo_head_drop", {"limit": Packets}, drops_at_head=True)
