"""FQ-CoDel: a queue with CoDel for each flow, served in turn, new flows first."""

from qdisclab.emulation.kinds.qdiscs.base import Look, QdiscKind, TcOption
from qdisclab.emulation.kinds.qdiscs.codel import CHOICES, OPTIONS
from qdisclab.emulation.model.units import Packets, Size

KIND = QdiscKind(
    "fq_codel",
    {
        **OPTIONS,
        "flows": int,
        "quantum": TcOption(Size, is_bare=True),
        "memory_limit": Size,
        "drop_batch": Packets,
    },
    CHOICES,
    marks_by_default=True,
    counters=(
        *(("", "u4"), ("max_packet_bytes", "u4"), ("drop_overlimit", "u4"), ("ecn_mark", "u4")),
        *(("new_flow_count", "u4"), ("new_flows", "u4"), ("old_flows", "u4"), ("ce_mark", "u4")),
        *(("memory_bytes", "u4"), ("drop_overmemory", "u4")),
    ),
    look=Look("#009E73", "#2cc598", "X", ()),
)
