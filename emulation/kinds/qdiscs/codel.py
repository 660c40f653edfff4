"""CoDel: drops at the head while each packet has waited longer than `target` for an `interval`."""

from qdisclab.emulation.kinds.qdiscs.base import Look, QdiscKind, TcOptions
from qdisclab.emulation.model.units import Duration, Packets

OPTIONS: TcOptions = {
    "target": Duration,
    "interval": Duration,
    "limit": Packets,
    "ce_threshold": Duration,
    "ecn": bool,
    "noecn": bool,
}
CHOICES = (("ecn", "noecn"),)

KIND = QdiscKind(
    "codel",
    OPTIONS,
    CHOICES,
    counters=(
        *(("max_packet_bytes", "u4"), ("count", "u4"), ("last_count", "u4"), ("delay_us", "u4")),
        *(("drop_next_us", "i4"), ("drop_overlimit", "u4"), ("ecn_mark", "u4")),
        *(("dropping", "u4"), ("ce_mark", "u4")),
    ),
    look=Look("#0072B2", "#4aa3dd", "D", ()),
    drops_at_head=True,
)
