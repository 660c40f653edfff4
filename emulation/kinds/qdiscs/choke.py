"""CHOKe: RED that also drops an arriving packet whose flow a random packet of the queue has."""

from typing import Any

from qdisclab.emulation.kinds.qdiscs.base import Look, QdiscKind, TcOption
from qdisclab.emulation.kinds.qdiscs.red import OF_TABLE
from qdisclab.emulation.model.units import Packets, Rate


def read_back(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, float]]:
    """Return the options as they are: tc shows six digits of the probability."""
    return options, {"probability": 5e-6 * options["probability"]}


KIND = QdiscKind(
    "choke",
    {
        "limit": TcOption(Packets, is_required=True),
        "min": Packets,
        "max": Packets,
        **OF_TABLE,
        "bandwidth": TcOption(Rate, is_read_back=False, is_required=True),
        "probability": float,
        "ecn": bool,
    },
    mark_counter="marked",
    counters="early queue_limit other marked matched",
    look=Look("#849020", "#cdbb62", "h", (1, 1)),
    read_back=read_back,
)
