"""A FIFO that is limited in packets."""

from emulation.kinds.qdiscs.base import QdiscKind
from emulation.model.units import Packets

KIND = QdiscKind("pfifo", {"limit": Packets})
