"""What the RFCs ask for and what the data set found, as bounds; a note says which are ours."""

from typing import Final

from qdisclab.analysis.claims.check import Condition, every, less, ratio, within
from qdisclab.analysis.claims.quantity import Cells, Quantity, cells, several
from qdisclab.analysis.claims.verdict import Rule

ALL: Final = ("5ms", "20ms", "80ms", "160ms")
LINK: Final = "40/40"


def share(metric: str, *rtts: str, qdisc: str | tuple[str, ...] = "dualpi2") -> Cells:
    """DCTCP beside CUBIC."""
    return cells(f"l4s_{metric}", tuple(f"share_{rtt}" for rtt in rtts), LINK, qdisc, "dctcp")


def one(metric: str, experiment: str, qdisc: str, cc: str = "dctcp", link: str = LINK) -> Quantity:
    """One cell of an experiment that has no axis of its own."""
    return Quantity(f"l4s_{metric}", experiment, link, qdisc, cc)


def step(qdisc: str, cc: str = "dctcp") -> Quantity:
    """How long a flow's own delay lasts after the link's rate has fallen."""
    return one("spike_s", "step", qdisc, cc, "50/50")


@several("udp")
def overload(metric: str, udp: str, qdisc: str = "dualpi2") -> Quantity:
    """Two flows beside datagrams."""
    return Quantity(f"l4s_{metric}", f"overload_{udp}", "20/20", qdisc, "dctcp")


def of_link(percent: float) -> float:
    """Return a share of 20 Mbit/s in Mbit/s."""
    return 20 * percent / 100


def both(metric: str, low: float, high: float, *qdiscs: str) -> Condition:
    """DCTCP beside CUBIC with ECN where it is classic."""
    return every(*(within(one(metric, "fallback", qdisc), low, high) for qdisc in qdiscs))


QUEUES: Final = ("fq_codel_ce", "cake")
UDP: Final = ("ect1_30", "not_ect_30")

RULES: Final[dict[str, Rule]] = {
    "l001": within(share("ratio", "20ms", "80ms"), 0.5, 2),
    "l002": within(share("ratio", "5ms", "160ms"), 0.5, 2),
    "l003": every(
        within(share("ect1_mean_ms", *ALL), high=1), within(share("ect1_p99_ms", *ALL), high=2)
    ),
    "l004": within(share("classic_mean_ms", "20ms", "80ms"), high=25),
    "l005": less(share("ect1_mean_ms", *ALL), share("classic_mean_ms", *ALL)),
    "l006": within(share("used", "5ms", "20ms", "80ms"), 90),
    "l007": within(share("ratio", "5ms", "20ms", "80ms", qdisc=QUEUES), 0.5, 2),
    "l008": within(share("ratio", *ALL, qdisc="pfifo_fast"), high=2),
    "l009": both("ratio", 0.5, 2, "pie_ecn", "codel_ecn"),
    "l010": both("ratio", 0.5, 2, "fq_codel"),
    "l011": within(one("ratio", "rtts", "dualpi2"), high=8),
    "l012": ratio(
        one("marks", "alone", "dualpi2", link="10/10"), one("marks", "alone", "dualpi2"), 0.5, 2
    ),
    "l013": within(overload("second_mbit_s", "ect1_10"), of_link(12.5)),
    "l014": within(overload("second_mbit_s", "ect1_30"), of_link(5)),
    "l015": ratio(overload("udp_mbit_s", UDP[0]), overload("udp_mbit_s", UDP[1]), high=1.1),
    "l016": within(overload("ect1_mean_ms", "ect1_30"), high=15),
    "l017": within(overload("second_mbit_s", UDP, QUEUES), of_link(50 / 3)),
    "l018": within(overload("second_mbit_s", UDP, "pfifo_fast"), high=of_link(5)),
    "l019": within(share("ratio", "20ms", "80ms"), 2),
    "l020": within(one("ratio", "rtts", "dualpi2"), 16),
    "l021": less(one("ratio", "rtts", "pfifo_fast", "cubic"), one("ratio", "rtts", "dualpi2")),
    "l022": less(step("fq_codel", "cubic"), step("fq_codel")),
    "l023": less(step("fq_codel_ce"), step("fq_codel")),
    "l024": ratio(
        one("first_mbit_s", "bursts_alone", "dualpi2"),
        one("first_mbit_s", "alone", "dualpi2"),
        high=0.75,
    ),
    "l025": ratio(
        one("first_mbit_s", "bursts_alone", "fq_codel_ce", "cubic"),
        one("first_mbit_s", "alone", "fq_codel_ce", "cubic"),
        0.9,
    ),
    "l026": less(
        one("first_mbit_s", "bursts", "dualpi2"), one("second_mbit_s", "bursts", "dualpi2")
    ),
}
