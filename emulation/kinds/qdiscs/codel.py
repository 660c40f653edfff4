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
    counters="max_packet_bytes count last_count delay_us drop_next_us:i4 drop_overlimit ecn_mark "
    "dropping ce_mark",
    look=Look("#0072B2", "#4aa3dd", "D", ()),
    drops_at_head=True,
)
