"""SFQ: a FIFO for each hash of a flow, served in turn; `perturb` changes the hash."""

from qdisclab.emulation.kinds.qdiscs.base import Look, QdiscKind
from qdisclab.emulation.model.units import Packets

KIND = QdiscKind(
    "sfq",
    {"limit": Packets, "depth": int, "flows": int, "divisor": int, "perturb": int},
    look=Look("#CC79A7", "#e08fbe", "v", (4, 1.5, 1, 1.5)),
)
