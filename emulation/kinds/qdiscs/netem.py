"""A delay line. The jitter follows the delay; with a rate, no packet overtakes another."""

from typing import Any

from qdisclab.emulation.kinds.qdiscs.base import NANOSECONDS, QdiscKind, TcOption
from qdisclab.emulation.model.units import Duration, Packets, Rate


def read_back(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, float]]:
    """Return times in us and the rate in bit/s."""
    delay = options.get("delay", {})
    times = {f"{name}_us": round(delay.get(name, 0) * 1e6, 3) for name in ("delay", "jitter")}
    values = {**options, **times, "rate_bit_s": options.get("rate", {}).get("rate", 0) * 8}
    return values, dict.fromkeys(times, 1)


KIND = QdiscKind(
    "netem",
    {
        "delay": TcOption(Duration, step=NANOSECONDS),
        "jitter": TcOption(Duration, is_nameless=True),
        "rate": Rate,
        "limit": Packets,
    },
    is_of_rig=True,
    shaper="rate",
    read_back=read_back,
)
