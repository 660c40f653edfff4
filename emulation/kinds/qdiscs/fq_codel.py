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
    counters=":u4 max_packet_bytes drop_overlimit ecn_mark new_flow_count new_flows old_flows "
    "ce_mark memory_bytes drop_overmemory",
    look=Look("#009E73", "#2cc598", "X", ()),
)
