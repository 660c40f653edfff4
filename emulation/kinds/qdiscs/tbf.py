"""Token bucket: limits the rate of what leaves, around a FIFO or another queue."""

from typing import Any

from qdisclab.emulation.kinds.qdiscs.base import QdiscKind, TcOption
from qdisclab.emulation.model.units import Rate, Size


def read_back(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, float]]:
    """Return the rate in bit/s and sizes in bytes.

    The kernel keeps sizes as times, in units of 64 ns, and tc makes whole microseconds of them and
    then whole bytes, each rounded down (iproute2, tc/q_tbf.c).
    """
    rate = options["rate"]
    limit = options["lat"] * 1e-6 * rate + options["burst"]
    values = {**options, "rate_bit_s": rate * 8, "limit": limit}
    return values, dict.fromkeys(("burst", "limit"), rate * 1.1e-6 + 1)


KIND = QdiscKind(
    "tbf",
    {
        "rate": TcOption(Rate, is_required=True),
        "burst": TcOption(Size, is_required=True),
        "limit": TcOption(Size, is_required=True),
    },
    is_of_rig=True,
    shaper="rate",
    read_back=read_back,
)
