"""FQ-PIE: a queue with PIE for each flow, served in turn."""

from qdisclab.emulation.kinds.qdiscs.base import Look, QdiscKind, TcOption
from qdisclab.emulation.kinds.qdiscs.pie import CHOICES, OPTIONS
from qdisclab.emulation.model.units import Size

KIND = QdiscKind(
    "fq_pie",
    {
        **OPTIONS,
        "flows": int,
        "quantum": Size,
        "memory_limit": Size,
        "ecn_prob": TcOption(int, least=0, most=100),
    },
    CHOICES,
    counters="packets_in dropped overlimit overmemory ecn_mark new_flow_count new_flows old_flows "
    "memory_bytes",
    look=Look("#ae4b8f", "#c075b8", "H", (4, 1.5)),
)
