"""A FIFO that is limited in bytes."""

from qdisclab.emulation.kinds.qdiscs.base import QdiscKind
from qdisclab.emulation.model.units import Size

KIND = QdiscKind("bfifo", {"limit": Size})
