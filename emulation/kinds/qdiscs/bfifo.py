"""A FIFO that is limited in bytes."""

from emulation.kinds.qdiscs.base import QdiscKind
from emulation.model.units import Size

KIND = QdiscKind("bfifo", {"limit": Size})
