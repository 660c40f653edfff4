"""PIE: drops what arrives with a probability that follows how far the delay is from `target`."""

from qdisclab.emulation.kinds.qdiscs.base import Look, QdiscKind, TcOption, TcOptions
from qdisclab.emulation.model.units import Duration, Packets

OPTIONS: TcOptions = {
    "target": Duration,
    "tupdate": Duration,
    "limit": Packets,
    "alpha": TcOption(int, least=0, most=32),
    "beta": TcOption(int, least=0, most=32),
    "ecn": bool,
    "noecn": bool,
    "bytemode": bool,
    "dq_rate_estimator": bool,
}
CHOICES = (("ecn", "noecn"),)

KIND = QdiscKind(
    "pie",
    OPTIONS,
    CHOICES,
    counters="probability:u8 delay_us dequeue_rate_bytes_per_s dequeue_rate_estimating packets_in "
    "dropped overlimit max_queue_packets ecn_mark",
    parts={"probability": 2.0**64},
    look=Look("#D55E00", "#f07a28", "^", ()),
)
