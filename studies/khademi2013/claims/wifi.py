"""Section 5 of khademi2013: downlink and mixed traffic over 802.11g (Figs. 9 and 10)."""

from typing import Final

from analysis.claims.check import Lacking, every, less, ratio, rising, within
from analysis.claims.quantity import Quantity, cells, several
from analysis.claims.verdict import Rule

from .words import AQMS, GOODPUT, MEDIAN, MUCH, NEW

FIFO: Final = "pfifo_fast"
LINK: Final = "100/100"  # the wire behind the access point
DOWN: Final = ("wifi_down_4", "wifi_down_16", "wifi_down_64")  # light, moderate, heavy
MIXED: Final = ("wifi_mixed_4", "wifi_mixed_16", "wifi_mixed_64")

RTT: Final = "rtt_median_ms"  # of downloads
UP_RTT: Final = "up_rtt_median_ms"  # of uploads
UP_RTT_P90: Final = "up_rtt_p90_ms"
ACK_WAIT: Final = "ack_wait_median_ms"  # of uploads' acknowledgments at the AQM

WITHOUT_HEADERS: Final = 1448 / 1500  # payload of IP packets, which the paper counts (`words`)
BASE_MS: Final = 100.0
PRINTED: Final = (0.9, 1.1)  # about a number of the text: "1.15 sec", "18.6 Mbps"
ALMOST_CONSTANT: Final = (0.75, 1.33)  # "stay at an almost constant level"
CONTROLLED_MS: Final = 100.0  # "control latency well": the load at most doubles the base RTT
MOSTLY: Final = 0.5  # what a delay "comes from" is at least half of it
DELAYS_MS: Final = (200.0, 10_000.0)  # "hundreds of milliseconds to multiple seconds"


@several("experiment")
def air(metric: str, experiment: str, aqm: str) -> Quantity:
    """Return the metric of an AQM on the access point; its target is 5 ms."""
    return Quantity(metric, experiment, LINK, f"{aqm}_5ms")


def printed(metric: str, experiment: str, aqm: str, scale: float = 1.0) -> Rule:
    """The printed number, `scale` times it in the metric's unit."""
    low, high = PRINTED
    return lambda claim: within(
        air(metric, experiment, aqm), scale * claim.value * low, scale * claim.value * high
    )


MANY: Final = MIXED[1:]

RULES: Final[dict[str, Rule]] = {
    "k034": within(air(UP_RTT_P90, MIXED, AQMS), *DELAYS_MS),
    "k035": Lacking("one flow and no delay: testbed/wifi_goodput has 24.8 Mbit/s", "metric"),
    "k036": every(
        *ratio(air(MEDIAN, DOWN[0], "ared"), air(MEDIAN, DOWN[0], NEW), high=MUCH),
        *less(air(GOODPUT, DOWN[0], "ared"), air(GOODPUT, DOWN[0], NEW)),
    ),
    "k037": printed(GOODPUT, DOWN[0], "ared", WITHOUT_HEADERS),
    "k038": printed(GOODPUT, DOWN[0], "codel", WITHOUT_HEADERS),
    "k039": printed(GOODPUT, DOWN[0], "pie", WITHOUT_HEADERS),
    "k040": rising(*air(GOODPUT, DOWN, "ared")),
    "k041": within(air(RTT, DOWN, AQMS), high=BASE_MS + CONTROLLED_MS),
    # Sec. 5, mixed traffic
    "k042": lambda claim: within(air(UP_RTT, MIXED[0], AQMS), claim.value_low, claim.value_high),
    "k043": printed(UP_RTT, MIXED[1], "codel", 1000),
    "k044": printed(UP_RTT, MIXED[1], "ared", 1000),
    "k045": rising(*(air(UP_RTT, load, ("codel", "ared")) for load in MIXED)),
    "k046": ratio(air(UP_RTT, MANY, "pie"), air(UP_RTT, MIXED[0], "pie"), *ALMOST_CONSTANT),
    # Of an upload's round trip most is the wait of its acknowledgment at the AQM.
    "k047": ratio(
        air(ACK_WAIT, MANY, ("codel", "ared")), air(UP_RTT, MANY, ("codel", "ared")), low=MOSTLY
    ),
    # Whose drops cause it has more of it than a queue that hardly drops.
    "k048": less(cells(UP_RTT, MANY, LINK, FIFO), air(UP_RTT, MANY, ("codel", "ared"))),
    "k049": ratio(air(UP_RTT, MANY, "pie"), air(UP_RTT, MANY, ("codel", "ared")), high=MUCH),
}
