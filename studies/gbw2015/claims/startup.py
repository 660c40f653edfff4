"""Section 6.2 of gbw2015: latency while the RRUL flows start (Fig. 7)."""

from typing import Final

from qdisclab.analysis.claims.check import (
    Checks,
    Condition,
    Every,
    Lacking,
    Same,
    every,
    less,
    ratio,
    rising,
    setting,
    some,
    within,
)
from qdisclab.analysis.claims.quantity import Quantity, several
from qdisclab.analysis.claims.verdict import Rule

from .words import FIFO, FQ, LINKS, LOW, MUCH, NEW_AQM, SEVERAL, SPIKE, VASTLY, in_rrul, order

PEAK, STEADY, CONTROL = "startup_peak_ms", "steady_latency_ms", "control_s"

#: Of drops linear in time: their number grows with its square. A constant rate makes a power of 1,
#: one that grows with the square of time 3; CoDel's control law, from 1 s on, 1.8 to 2.0.
LINEAR: Final = (1.5, 2.5)

#: Where the paper reports a spike: everywhere but PIE at 100/100 (g174).
SPIKES: Final = (*((link, "codel") for link in LINKS), *((link, "pie") for link in LOW))


def spike(links: str | tuple[str, ...], qdiscs: str) -> Checks:
    """The peak is at least SPIKE times the steady latency."""
    return ratio(in_rrul(PEAK, links, qdiscs), in_rrul(STEADY, links, qdiscs), low=SPIKE)


def no_spike(links: str | tuple[str, ...], qdiscs: str) -> Checks:
    """The peak is at most SPIKE times the steady latency."""
    return ratio(in_rrul(PEAK, links, qdiscs), in_rrul(STEADY, links, qdiscs), high=SPIKE)


@several()
def in_flood(metric: str, link: str) -> Quantity:
    """Return the metric where a flow that answers no loss keeps CoDel's queue."""
    return Quantity(metric, f"flood_{link.replace('/', '_')}", link, "codel")


def too_slowly(link: str, qdisc: str) -> Condition:
    """From the first drop on it takes several seconds to control the wait, and a larger share is
    dropped in the second half of that time: the drop rate is what control waits for."""
    return every(
        within(in_rrul("uncontrolled_s", link, qdisc), low=SEVERAL),
        within(in_rrul("late_drops_times", link, qdisc), low=1),
    )


#: Of each new AQM it takes several seconds to control latency on one link at least.
SOMEWHERE_SEVERAL: Final = [
    some(*within(in_rrul(CONTROL, LINKS, name), low=SEVERAL)) for name in NEW_AQM
]

#: The first 20 s are as the second half of the load; a peak of small latencies says little.
FAIR_QUEUEING: Final = ratio(
    in_rrul("startup_latency_ms", LINKS, FQ), in_rrul(STEADY, LINKS, FQ), 0.8, 1.25
)
ARED_BETTER: Final = order(PEAK, ("ared",), NEW_AQM)
#: Where the others have a spike, ARED has none to control (g175), or controls it much sooner.
ARED_SOONER: Final = every(
    *(
        some(
            no_spike(link, "ared"),
            ratio(in_rrul(CONTROL, link, "ared"), in_rrul(CONTROL, link, qdisc), high=MUCH),
        )
        for link, qdisc in SPIKES
    )
)


def takes(seconds: float) -> Every:
    """Latency is under control after so many seconds or later, wherever there is a spike."""
    return every(*(within(in_rrul(CONTROL, *place), low=seconds) for place in SPIKES))


RULES: Final[dict[str, Rule]] = {
    "g162": setting("how long the plot is"),
    "g163": every(*(spike(link, qdisc) for link, qdisc in SPIKES)),
    "g164": order(PEAK, ("codel", "ared"), ("pie",), LOW),
    "g165": order(PEAK, (FIFO,), ("pie",), ("10/10",)),
    "g166": every(
        order(PEAK, ("codel",), ("pie",), LOW), order(PEAK, ("pie",), ("codel",), ("100/100",))
    ),
    "g167": every(*takes(SEVERAL), some(*takes(20))),
    "g168": every(*(too_slowly(link, qdisc) for link, qdisc in SPIKES)),
    "g169": Lacking("the time from the load's start to the first drop", "metric"),
    "g170": rising(*in_rrul(CONTROL, LINKS[::-1], "codel")),
    "g171": every(
        *within(in_flood("drop_power", LINKS), *LINEAR),
        rising(*in_flood("drop_growth_percent_s", LINKS)),
    ),
    "g172": setting("the code of Linux 3.14"),
    "g173": within(in_rrul(PEAK, "10/10", "pie"), 0.8 * 250, 1.2 * 250),
    "g174": every(  # a relative lack: beside CoDel's there, and beside its own at 10/10
        less(in_rrul(PEAK, "100/100", "pie"), in_rrul(PEAK, "100/100", "codel")),
        ratio(in_rrul(PEAK, "100/100", "pie"), in_rrul(PEAK, "10/10", "pie"), high=VASTLY),
    ),
    "g175": every(ARED_BETTER, *no_spike(LINKS, "ared")),
    "g176": FAIR_QUEUEING,
    "g178": Same("g007"),
    "g217": every(ARED_SOONER, *SOMEWHERE_SEVERAL),
    "g218": some(*less(in_rrul(PEAK, LINKS, FIFO), in_rrul(PEAK, LINKS, NEW_AQM))),
    # abstract and Sec. 1
    "g002": every(*(some(*spike(LINKS, qdisc)) for qdisc in NEW_AQM)),
    "g007": every(*SOMEWHERE_SEVERAL),
}
