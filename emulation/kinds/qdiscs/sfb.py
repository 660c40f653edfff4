"""Stochastic fair blue: marks or drops by the queue of a flow's hash in each of several tables."""

from typing import Any

from qdisclab.emulation.kinds.qdiscs.base import MILLISECONDS, Look, QdiscKind, TcOption
from qdisclab.emulation.model.units import Duration, Packets


def read_back(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, float]]:
    """Return times in us. The kernel has the steps as parts of 65535, and tc rounds up."""
    values = {**options, **{f"{name}_us": options[name] for name in ("rehash", "db")}}
    return values, dict.fromkeys(("increment", "decrement"), 1.01 / 65535)


KIND = QdiscKind(
    "sfb",
    {
        "rehash": TcOption(Duration, step=MILLISECONDS, is_bare=True),
        "db": TcOption(Duration, step=MILLISECONDS, is_bare=True),
        "limit": Packets,
        "max": Packets,
        "target": Packets,
        "increment": float,
        "decrement": float,
        "penalty_rate": int,  # packets per second
        "penalty_burst": Packets,
    },
    marks_by_default=True,
    mark_counter="marked",
    counters="early penalty bucket queue child marked max_queue_packets max_probability "
    "average_probability",
    parts={"max_probability": 0xFFFF, "average_probability": 0xFFFF},
    look=Look("#117733", "#82cd8f", "<", (3, 1)),
    read_back=read_back,
)
