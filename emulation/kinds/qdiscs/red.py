"""Random early detection: drops with a probability that grows with the average queue.

With `adaptive` it is ARED, whose probability adapts to the load.
"""

from qdisclab.emulation.kinds.qdiscs.base import QdiscKind, TcOption
from qdisclab.emulation.model.units import Rate, Size

#: Options that `tc` makes a table of, which is not shown.
OF_TABLE = {
    "avpkt": TcOption(Size, is_read_back=False),
    "burst": TcOption(int, is_read_back=False),
    "bandwidth": TcOption(Rate, is_read_back=False),
}

KIND = QdiscKind(
    "red",
    {
        "limit": TcOption(Size, is_required=True),
        "min": Size,
        "max": Size,
        **OF_TABLE,
        "avpkt": TcOption(Size, is_read_back=False, is_required=True),
        "probability": TcOption(float, is_read_back=False),
        "adaptive": bool,
        "harddrop": bool,
        "ecn": bool,
    },
    mark_counter="marked",
    counters="early queue_limit other marked",
)
