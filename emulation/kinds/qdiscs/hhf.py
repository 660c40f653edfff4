"""Heavy-hitter filter: flows that send much share a queue of their own, which is served less."""

from typing import Any

from qdisclab.emulation.kinds.qdiscs.base import MILLISECONDS, QdiscKind, TcOption
from qdisclab.emulation.model.units import Duration, Packets, Size


def read_back(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, float]]:
    """Return times in us, as tc shows them."""
    times = {f"{name}_us": options[name] for name in ("reset_timeout", "evict_timeout")}
    return {**options, **times}, {}


KIND = QdiscKind(
    "hhf",
    {
        "limit": Packets,
        "quantum": TcOption(Size, is_bare=True),
        "hh_limit": int,
        "reset_timeout": TcOption(Duration, step=MILLISECONDS),
        "admit_bytes": TcOption(Size, is_bare=True),
        "evict_timeout": TcOption(Duration, step=MILLISECONDS),
        "non_hh_weight": int,
    },
    counters="drop_overlimit heavy_overlimit heavy_total heavy_now",
    read_back=read_back,
)
