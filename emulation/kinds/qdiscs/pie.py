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
    counters=(
        *(("probability", "u8"), ("delay_us", "u4"), ("dequeue_rate_bytes_per_s", "u4")),
        *(("dequeue_rate_estimating", "u4"), ("packets_in", "u4"), ("dropped", "u4")),
        *(("overlimit", "u4"), ("max_queue_packets", "u4"), ("ecn_mark", "u4")),
    ),
    parts={"probability": 2.0**64},
    look=Look("#D55E00", "#f07a28", "^", ()),
)
