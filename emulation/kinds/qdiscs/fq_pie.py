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
    counters=(
        *(("packets_in", "u4"), ("dropped", "u4"), ("overlimit", "u4"), ("overmemory", "u4")),
        *(("ecn_mark", "u4"), ("new_flow_count", "u4"), ("new_flows", "u4")),
        *(("old_flows", "u4"), ("memory_bytes", "u4")),
    ),
    look=Look("#ae4b8f", "#c075b8", "H", (4, 1.5)),
)
