"""What is said of policers, superpackets and ACK filters, as bounds of our own."""

from typing import Final

from qdisclab.analysis.claims.check import apart, less, ratio, rising, within
from qdisclab.analysis.claims.quantity import Cells, Quantity, cells
from qdisclab.analysis.claims.verdict import Rule


def policed(rtt: str | tuple[str, ...], cc: str) -> Cells:
    """One stream behind the policer."""
    names = (rtt,) if isinstance(rtt, str) else rtt
    return cells("link_down_mbit_s", tuple(f"policer_{name}" for name in names), "-", "-", cc)


def waits(packets: str, qdisc: str) -> Quantity:
    """What pings beside four downloads have at most."""
    return Quantity("link_rtt_p99_ms", packets, "20/5", qdisc, "cubic")


def slow_up(metric: str, qdisc: str) -> Quantity:
    """What flows have over 50 Mbit/s down and 1 Mbit/s up."""
    return Quantity(metric, "acks", "50/1", qdisc, "cubic")


RULES: Final[dict[str, Rule]] = {
    "n001": rising(*(policed(rtt, "cubic") for rtt in ("80ms", "20ms", "2ms"))),
    "n002": rising(*(policed(rtt, "reno") for rtt in ("80ms", "20ms", "2ms"))),
    "n003": ratio(policed("80ms", "cubic"), policed("2ms", "cubic"), high=0.5),
    "n004": within(policed(("2ms", "20ms", "80ms"), "bbr"), 15),
    "n005": apart(waits("joined", "fq_codel"), waits("single", "fq_codel"), 2),
    "n006": apart(waits("joined", "cake"), waits("single", "cake"), high=2),
    "n007": less(slow_up("link_down_mbit_s", "cake"), slow_up("link_down_mbit_s", "cake_acks")),
    "n008": less(slow_up("link_up_mbit_s", "cake"), slow_up("link_up_mbit_s", "cake_acks")),
}
