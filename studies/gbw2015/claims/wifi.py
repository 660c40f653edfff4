"""Section 7 of gbw2015: RRUL, VoIP and web pages over a WiFi link (Fig. 9 to 11, Table 3)."""

from typing import Final

from qdisclab.analysis.claims.check import (
    Checks,
    Condition,
    Lacking,
    apart,
    every,
    less,
    ratio,
    same_order,
    setting,
    some,
    widening,
    within,
)
from qdisclab.analysis.claims.quantity import Quantity, cells, several
from qdisclab.analysis.claims.verdict import Rule

from . import startup, voip, web
from .words import AQM, DOWN, FIFO, FQ, LATENCY, LOW, NEW_AQM, QDISCS, SPIKE, UP, bounded, in_rrul

LINK: Final = "100/100"  # of the wire; the other ones are no wider than the air
RRUL: Final = "wifi_rrul"
VOIP_ONE, VOIP_RRUL = "wifi_voip_1up", "wifi_voip_rrul"
SMALL_ONE, SMALL_RRUL = "wifi_web_small_1up", "wifi_web_small_rrul"
LARGE_ONE, LARGE_RRUL = "wifi_web_large_1up", "wifi_web_large_rrul"

BELOW: Final = "below_qdiscs_ms"
MANAGED: Final = (*AQM, *FQ)

LIMITED_MS: Final = 50.0  # of induced latency: where Fig. 9 ends, and less than any qdisc has in it
ALMOST_NOTHING: Final = 0.1  # of the download
ALIKE: Final = (0.8, 1.25)  # "almost completely identical", "determined by something other"
ABOUT: Final = (0.8, 1.25)  # times a number that is printed with "around"
MOSTLY: Final = 0.5
VERY_HIGH_PERCENT: Final = 5.0  # of loss: all AQMs of Table 3 have more
TABLE_3_ONE: Final = (0.13, 0.47)  # %, what Table 3 has beside one flow


@several()
def over_wifi(metric: str, qdisc: str, experiment: str = RRUL, link: str = LINK) -> Quantity:
    """Return the metric over the WiFi link."""
    return Quantity(metric, experiment, link, qdisc)


def _as_over_the_wire(link: str, qdisc: str) -> Condition:
    """Latency within 15 % or 3 ms, goodput within 3 %: what README's figures allow."""
    wire, air = in_rrul(LATENCY, link, qdisc), over_wifi(LATENCY, qdisc, link=link)
    goodputs = ratio(
        over_wifi((DOWN, UP), qdisc, link=link), in_rrul((DOWN, UP), link, qdisc), 0.97, 1.03
    )
    return every(some(ratio(air, wire, 0.85, 1.15), apart(air, wire, -3, 3)), *goodputs)


def _alike(metric: str, experiment: str) -> Checks:
    """Each qdisc has what the FIFO has, within ALIKE."""
    fifo = over_wifi(metric, FIFO, experiment)
    return ratio(over_wifi(metric, MANAGED, experiment), fifo, *ALIKE)


def _web_order(wire: str, air: str) -> Condition:
    """Qdiscs are ordered over WiFi as over the wire, PIE and CoDel further from fair queueing."""
    there, here = cells(web.FETCH, wire, LINK, QDISCS), cells(web.FETCH, air, LINK, QDISCS)
    return every(
        same_order(there, here, low=0.8),
        *widening(
            cells(web.FETCH, wire, LINK, NEW_AQM),
            cells(web.FETCH, wire, LINK, FQ),
            cells(web.FETCH, air, LINK, NEW_AQM),
            cells(web.FETCH, air, LINK, FQ),
        ),
    )


#: Of what is left of latency under a managed queue, most is below the qdiscs.
SPOILED: Final = ratio(over_wifi(BELOW, MANAGED), over_wifi(LATENCY, MANAGED), low=MOSTLY)
NOT_LIMITED: Final = within(over_wifi(LATENCY, QDISCS), low=LIMITED_MS)

RULES: Final[dict[str, Rule]] = {
    "g004": SPOILED,
    "g008": NOT_LIMITED,
    "g025": Lacking("the single samples of runs over WiFi at 10/10 and 10/1", "metric"),
    "g180": every(*(_as_over_the_wire(link, qdisc) for link in LOW for qdisc in QDISCS)),
    "g181": ratio(over_wifi(startup.PEAK, QDISCS), over_wifi(startup.STEADY, QDISCS), high=SPIKE),
    # Sec. 7.1
    "g182": every(
        less(over_wifi(LATENCY, NEW_AQM), over_wifi(LATENCY, FIFO)),
        less(over_wifi(LATENCY, ("ared", *FQ)), over_wifi(LATENCY, NEW_AQM)),
    ),
    "g183": lambda claim: every(
        *within(over_wifi(LATENCY, QDISCS), low=ABOUT[0] * claim.value),
        some(*within(over_wifi(LATENCY, QDISCS), high=ABOUT[1] * claim.value)),
    ),
    "g184": ratio(over_wifi(UP, QDISCS), over_wifi(DOWN, QDISCS), high=ALMOST_NOTHING),
    "g185": bounded(over_wifi((DOWN, UP), QDISCS, RRUL)),
    "g186": bounded(over_wifi(LATENCY, QDISCS, RRUL)),
    "g187": setting("the order of printed labels"),
    # Sec. 7.2
    "g188": every(*_alike(voip.MEDIAN, VOIP_ONE), *_alike(voip.P99, VOIP_ONE)),
    "g189": same_order(
        over_wifi(voip.DELAY, QDISCS, VOIP_RRUL), over_wifi(LATENCY, QDISCS), low=0.8
    ),
    "g190": within(over_wifi(voip.LOSS, QDISCS, VOIP_ONE), *TABLE_3_ONE),
    "g191": within(over_wifi(voip.LOSS, AQM, VOIP_RRUL), low=VERY_HIGH_PERCENT),
    # g192 to g205, a column of qdiscs after the other
    **voip.table(192, cells(voip.LOSS, (VOIP_ONE, VOIP_RRUL), LINK, QDISCS)),
    "g206": bounded(over_wifi(voip.P99, QDISCS, VOIP_ONE)),
    "g207": bounded(over_wifi(voip.P99, QDISCS, VOIP_RRUL)),
    # Sec. 7.3
    "g208": every(*_alike(web.FETCH, SMALL_ONE), *_alike(web.FETCH, LARGE_ONE)),
    "g209": every(_web_order(web.SMALL_RRUL, SMALL_RRUL), _web_order(web.LARGE_RRUL, LARGE_RRUL)),
    "g210": bounded(over_wifi(web.FETCH, QDISCS, SMALL_ONE)),
    "g211": bounded(over_wifi(web.FETCH, QDISCS, SMALL_RRUL)),
    "g212": bounded(over_wifi(web.FETCH, QDISCS, LARGE_ONE)),
    "g213": bounded(over_wifi(web.FETCH, QDISCS, LARGE_RRUL)),
    # Sec. 7.4 and 8
    "g214": every(SPOILED, NOT_LIMITED),
    "g221": less(over_wifi(LATENCY, FQ), over_wifi(LATENCY, AQM)),
}
