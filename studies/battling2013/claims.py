"""What each claim of battling2013 means as a condition on measured values.

The abstract says nothing of the link, the path and the buffer. Claims are judged on the setting of
`studies/battling2013/study.yaml` that was found to give its "almost a second": 10 Mbit/s
both ways, 1 ms, 1000 packets. The notebook `battling_settings` shows what others give.
"""

from typing import Final

from qdisclab.analysis.claims.check import every, less, ratio, within
from qdisclab.analysis.claims.quantity import Quantity, several
from qdisclab.analysis.claims.verdict import Rule

LINK: Final = "10/10"
FIFO: Final = "pfifo_fast"
OTHERS: Final = ("codel", "sfq", "fq_codel")
LATENCY: Final = "probe_rtt_ms"  # whole round trips, as netperf-wrapper plotted them
TOTAL, SILENT = "goodput_total_mbit_s", "unanswered_percent"
TCP_TESTS: Final = ("tcp_bidirectional", "rrul")
SEVERAL_FLOWS: Final = "rrul"
FAIR: Final = ("sfq", "fq_codel")

CLEARLY: Final = 0.75  # "significantly": at most so many times the other, as for gbw2015
MUCH: Final = 0.5
SLIGHTLY: Final = 0.95
FACTOR: Final = 1.5  # within which a small percentage is that of the abstract
POINTS: Final = 10.0  # within which a large one is


@several()
def of(metric: str, experiment: str, qdisc: str) -> Quantity:
    """Return the metric in one of the three tests."""
    return Quantity(metric, experiment, LINK, qdisc)


LATENCIES: Final = of(LATENCY, TCP_TESTS, OTHERS), of(LATENCY, TCP_TESTS, FIFO)
TOTALS: Final = of(TOTAL, TCP_TESTS, "fq_codel"), of(TOTAL, TCP_TESTS, "sfq")

RULES: Final[dict[str, Rule]] = {
    "b001": every(
        ratio(*LATENCIES, high=MUCH),
        *less(of(TOTAL, TCP_TESTS, FIFO), of(TOTAL, TCP_TESTS, OTHERS)),
    ),
    "b002": lambda claim: ratio(*LATENCIES, high=1 / claim.value_low),
    "b003": ratio(  # "somewhat lower": by less than much
        of(LATENCY, TCP_TESTS, "codel"), of(LATENCY, TCP_TESTS, FIFO), low=MUCH, high=1
    ),
    "b004": every(
        *ratio(of(LATENCY, "udp_flood", FAIR), of(LATENCY, "udp_flood", "codel"), high=MUCH),
        *less(of(SILENT, "udp_flood", FAIR), of(SILENT, "udp_flood", "codel")),
    ),
    "b005": ratio(
        of(LATENCY, SEVERAL_FLOWS, "fq_codel"),
        of(LATENCY, SEVERAL_FLOWS, (FIFO, "codel", "sfq")),
        high=CLEARLY,
    ),
    "b006": every(*map(every, less(*TOTALS), ratio(*TOTALS, low=SLIGHTLY))),
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
    "b009": lambda claim: within(
        of(LATENCY, (*TCP_TESTS, "udp_flood"), "fq_codel"), high=claim.value_high
    ),
    "b010": lambda claim: within(
        of(LATENCY, SEVERAL_FLOWS, FIFO), 1000 * claim.value_low, 1000 * claim.value_high
    ),
}
