"""Section 5 of khademi2013: downlink and mixed traffic over 802.11g (Figs. 9 and 10)."""

from typing import Final

from analysis.claims.check import Every, Lacking, Quantity, every, less, ratio, rising, within
from analysis.claims.verdict import Rule
from analysis.runs.statement import Claim

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


def air(metric: str, experiment: str, aqm: str) -> Quantity:
    """The metric of an AQM on the access point; its target is 5 ms."""
    return Quantity(metric, experiment, LINK, f"{aqm}_5ms")


def printed(metric: str, experiment: str, aqm: str, scale: float = 1.0) -> Rule:
    """The printed number, `scale` times it in the metric's unit."""

    def rule(claim: Claim) -> Every:
        low, high = (scale * claim.value * factor for factor in PRINTED)
        return every(within(air(metric, experiment, aqm), low, high))

    return rule


#: Of an upload's round trip most is the wait of its acknowledgment at the AQM.
FROM_AQM: Final = every(
    *(
        ratio(air(ACK_WAIT, load, aqm), air(UP_RTT, load, aqm), low=MOSTLY)
        for load in MIXED[1:]
        for aqm in ("codel", "ared")
    )
)

RULES: Final[dict[str, Rule]] = {
    "k034": every(
        *(within(air(UP_RTT_P90, load, aqm), *DELAYS_MS) for load in MIXED for aqm in AQMS)
    ),
    "k035": Lacking("one flow and no delay: testbed/wifi_goodput has 24.8 Mbit/s", "metric"),
    "k036": every(
        *(ratio(air(MEDIAN, DOWN[0], "ared"), air(MEDIAN, DOWN[0], aqm), high=MUCH) for aqm in NEW),
        *(less(air(GOODPUT, DOWN[0], "ared"), air(GOODPUT, DOWN[0], aqm)) for aqm in NEW),
    ),
    "k037": printed(GOODPUT, DOWN[0], "ared", WITHOUT_HEADERS),
    "k038": printed(GOODPUT, DOWN[0], "codel", WITHOUT_HEADERS),
    "k039": printed(GOODPUT, DOWN[0], "pie", WITHOUT_HEADERS),
    "k040": rising(*(air(GOODPUT, load, "ared") for load in DOWN)),
    "k041": every(
        *(
            within(air(RTT, load, aqm), high=BASE_MS + CONTROLLED_MS)
            for load in DOWN
            for aqm in AQMS
        )
    ),
    # Sec. 5, mixed traffic
    "k042": lambda claim: every(
        *(within(air(UP_RTT, MIXED[0], aqm), claim.value_low, claim.value_high) for aqm in AQMS)
    ),
    "k043": printed(UP_RTT, MIXED[1], "codel", 1000),
    "k044": printed(UP_RTT, MIXED[1], "ared", 1000),
    "k045": every(
        *(rising(*(air(UP_RTT, load, aqm) for load in MIXED)) for aqm in ("codel", "ared"))
    ),
    "k046": every(
        *(
            ratio(air(UP_RTT, load, "pie"), air(UP_RTT, MIXED[0], "pie"), *ALMOST_CONSTANT)
            for load in MIXED[1:]
        )
    ),
    "k047": FROM_AQM,
    # Whose drops cause it has more of it than a queue that hardly drops.
    "k048": every(
        *(
            less(Quantity(UP_RTT, load, LINK, FIFO), air(UP_RTT, load, aqm))
            for load in MIXED[1:]
            for aqm in ("codel", "ared")
        )
    ),
    "k049": every(
        *(
            ratio(air(UP_RTT, load, "pie"), air(UP_RTT, load, aqm), high=MUCH)
            for load in MIXED[1:]
            for aqm in ("codel", "ared")
        )
    ),
}
