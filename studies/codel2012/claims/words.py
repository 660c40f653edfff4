"""What the words and names of codel2012 stand for, in one place."""

from typing import Final

from analysis.claims.quantity import Quantity, several

FAST: Final = ("3/3", "10/10", "45/45", "100/100")
SLOW: Final = ("0.128/0.128", "0.256/0.256", "0.512/0.512", "1.5/1.5")
EDGE: Final = ("0.512/0.512", "1.5/1.5")
RTTS: Final = (10, 30, 100, 200, 500)  # ms
LOW_RTTS: Final = (30, 50, 100)
NOMINAL: Final = "100/100"  # of the dynamic link

DELAY: Final = "queue_median_ms"
USE: Final = "utilisation_percent"
SHARED: Final = "drop_share_jain"
SENT: Final = "queue_megabytes"

EQUAL: Final = (0.97, 1.03)  # "identical"
CLOSE: Final = 0.95  # "very close": at least so many times; "slightly" less
ALIKE: Final = (1 / 1.5, 1.5)  # delays that are "similar", or "approach" a value
ALIKE_USE: Final = (0.9, 1.1)  # utilisations that are
MUCH: Final = 0.75  # "noticeably", "much": at most so many times
FAR: Final = 0.5  # "much less delay", "low"
GOOD_USE: Final = 80.0  # percent: "good" utilisation
SPIKE: Final = 2.0  # times what was before
MOSTLY: Final = 75.0  # percent of the time: "generally"


@several()
def static(metric: str, rtt: int, link: str, qdisc: str, cc: str = "") -> Quantity:
    """Return the metric over the loads of one RTT."""
    return Quantity(metric, f"static_rtt_{rtt}ms", link, qdisc, cc)


@several("mtu", "rtt")
def low(metric: str, mtu: int, rtt: int, link: str, qdisc: str = "") -> Quantity:
    """Return the metric over the loads of one RTT and MTU at a low rate; CoDel's unless said
    otherwise."""
    name = qdisc or ("codel" if mtu == 1500 else "codel_mtu500")
    return Quantity(metric, f"low_{mtu}_rtt_{rtt}ms", link, name)


@several()
def constant(metric: str, link: str, qdisc: str) -> Quantity:
    """Return the metric with other constants of CoDel, over the loads at an RTT of 100 ms."""
    return Quantity(metric, "constants", link, qdisc)


@several()
def dynamic(metric: str, qdisc: str) -> Quantity:
    """Return the metric of the link whose rate changes."""
    return Quantity(metric, "dynamic", NOMINAL, qdisc)


@several("link")
def edge(metric: str, link: str, qdisc: str, experiment: str = "edge") -> Quantity:
    """Return the metric at the consumer edge."""
    return Quantity(metric, experiment, link, qdisc)
