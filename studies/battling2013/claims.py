"""What each claim of battling2013 means as a condition on measured values.

The abstract says nothing of the link, the path and the buffer. Claims are judged on the setting of
`studies/battling2013/study.yaml` that was found to give its "almost a second": 10 Mbit/s
both ways, 1 ms, 1000 packets. The notebook `battling_settings` shows what others give.
"""

from collections.abc import Iterable
from typing import Final

from analysis.claims.check import Every, Quantity, every, less, ratio, within
from analysis.claims.verdict import Rule

LINK: Final = "10/10"
FIFO: Final = "pfifo_fast"
OTHERS: Final = ("codel", "sfq", "fq_codel")
LATENCY: Final = "probe_rtt_ms"  # whole round trips, as netperf-wrapper plotted them
TOTAL: Final = "goodput_total_mbit_s"
SILENT: Final = "unanswered_percent"
TCP_TESTS: Final = ("tcp_bidirectional", "rrul")
SEVERAL_FLOWS: Final = "rrul"

CLEARLY: Final = 0.75  # "significantly": at most so many times the other, as for gbw2015
MUCH: Final = 0.5
SLIGHTLY: Final = 0.95
FACTOR: Final = 1.5  # within which a small percentage is that of the abstract
POINTS: Final = 10.0  # within which a large one is


def of(metric: str, experiment: str, qdisc: str) -> Quantity:
    """The metric in one of the three tests."""
    return Quantity(metric, experiment, LINK, qdisc)


def at_most(factor: float, metric: str, experiments: Iterable[str], qdiscs: Iterable[str]) -> Every:
    """Each of `qdiscs` has at most `factor` times what the FIFO has."""
    names = tuple(qdiscs)
    return every(
        *(
            ratio(of(metric, experiment, qdisc), of(metric, experiment, FIFO), high=factor)
            for experiment in experiments
            for qdisc in names
        )
    )


RULES: Final[dict[str, Rule]] = {
    "b001": every(
        at_most(MUCH, LATENCY, TCP_TESTS, OTHERS),
        *(
            less(of(TOTAL, experiment, FIFO), of(TOTAL, experiment, other))
            for experiment in TCP_TESTS
            for other in OTHERS
        ),
    ),
    "b002": lambda claim: at_most(1 / claim.value_low, LATENCY, TCP_TESTS, OTHERS),
    "b003": every(
        *(
            less(of(LATENCY, experiment, "codel"), of(LATENCY, experiment, FIFO))
            for experiment in TCP_TESTS
        )
    ),
    "b004": every(
        *(
            ratio(of(LATENCY, "udp_flood", fair), of(LATENCY, "udp_flood", "codel"), high=MUCH)
            for fair in ("sfq", "fq_codel")
        ),
        *(
            less(of(SILENT, "udp_flood", fair), of(SILENT, "udp_flood", "codel"))
            for fair in ("sfq", "fq_codel")
        ),
    ),
    "b005": every(
        *(
            ratio(
                of(LATENCY, SEVERAL_FLOWS, "fq_codel"),
                of(LATENCY, SEVERAL_FLOWS, other),
                high=CLEARLY,
            )
            for other in (FIFO, "codel", "sfq")
        )
    ),
    "b006": every(
        *(
            part
            for experiment in TCP_TESTS
            for a, b in [(of(TOTAL, experiment, "fq_codel"), of(TOTAL, experiment, "sfq"))]
            for part in (less(a, b), ratio(a, b, low=SLIGHTLY))
        )
    ),
    "b007": lambda claim: ratio(
        of(TOTAL, SEVERAL_FLOWS, "fq_codel"),
        of(TOTAL, SEVERAL_FLOWS, "sfq"),
        low=1 - claim.value * FACTOR / 100,
        high=1 - claim.value / FACTOR / 100,
    ),
    "b008": lambda claim: ratio(
        of(LATENCY, SEVERAL_FLOWS, "fq_codel"),
        of(LATENCY, SEVERAL_FLOWS, "sfq"),
        low=1 - (claim.value + POINTS) / 100,
        high=1 - (claim.value - POINTS) / 100,
    ),
    "b009": lambda claim: every(
        *(
            within(of(LATENCY, experiment, "fq_codel"), high=claim.value_high)
            for experiment in (*TCP_TESTS, "udp_flood")
        )
    ),
    "b010": lambda claim: within(
        of(LATENCY, SEVERAL_FLOWS, FIFO), 1000 * claim.value_low, 1000 * claim.value_high
    ),
}
