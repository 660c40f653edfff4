"""A FIFO that is limited in packets."""

from qdisclab.emulation.kinds.qdiscs.base import QdiscKind
from qdisclab.emulation.model.units import Packets

KIND = QdiscKind("pfifo", {"limit": Packets})
