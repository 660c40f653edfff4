"""Understanding Queues (Figs 1 to 4): one connection with a fixed window."""

from typing import Final

from analysis.claims.check import apart, every, less, ratio, within
from analysis.claims.quantity import Quantity
from analysis.claims.verdict import Rule

LINK: Final = "1.2/1.2"
QDISC: Final = "fifo_100"
FULL: Final = "window_25"
EXACT: Final = "window_20"
AT_ONCE: Final = "window_20_at_once"
TWICE: Final = "window_40_at_once"  # the queue of Fig. 4
FEWER: Final = "window_30_at_once"

MARGIN: Final = 0.2  # of a wait in ms and a number of packets: a fiftieth and a fifth of a packet
AS_FAST: Final = (0.99, 1.01)
NEVER: Final = 1.0  # percent of the time
UNDERUSED: Final = 0.95  # times what was sent: at most


def of(metric: str, experiment: str = FULL) -> Quantity:
    """Return the metric of one of the connections."""
    return Quantity(metric, experiment, LINK, QDISC)


def printed(metric: str) -> Rule:
    """The metric is the number that the claim prints."""
    return lambda claim: within(of(metric), claim.value - MARGIN, claim.value + MARGIN)


RULES: Final[dict[str, Rule]] = {
    "c001": printed("second_waits_ms"),
    "c002": printed("third_waits_ms"),
    "c003": within(of("arrivals_by_departures"), *AS_FAST),
    "c004": lambda claim: apart(
        of("queue_most_packets"), of("queue_least_packets"), high=2 * claim.value
    ),
    "c005": printed("pipe_packets"),
    "c006": printed("excess_packets"),
    "c007": lambda claim: every(
        within(of("queue_least_packets"), low=claim.value_low),
        within(of("queue_most_packets"), high=claim.value_high),
    ),
    "c008": every(
        less(of("queue_most_packets", EXACT), of("queue_least_packets")),
        ratio(of("busy_percent"), of("busy_percent", EXACT), *AS_FAST),
    ),
    "c009": within(of("empty_percent", AT_ONCE), high=NEVER),
    "c010": every(
        less(of("queue_mean_packets", FEWER), of("queue_mean_packets", TWICE)),
        ratio(of("busy_percent", FEWER), of("busy_percent", TWICE), high=UNDERUSED),
    ),
}
