"""Section 7 of gbw2015: RRUL, VoIP and web pages over a WiFi link (Fig. 9 to 11, Table 3)."""

from typing import Final

from analysis.claims.check import (
    Check,
    Condition,
    Lacking,
    Quantity,
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
from analysis.claims.verdict import Rule

from . import startup, voip, web
from .words import (
    AQM,
    DOWN,
    FIFO,
    FQ,
    LATENCY,
    LOW,
    NEW_AQM,
    QDISCS,
    SPIKE,
    UP,
    in_rrul,
    order,
)

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


def over_wifi(metric: str, qdisc: str, experiment: str = RRUL, link: str = LINK) -> Quantity:
    """The metric over the WiFi link."""
    return Quantity(metric, experiment, link, qdisc)


def _order(metric: str, smaller: tuple[str, ...], greater: tuple[str, ...]) -> Condition:
    return order(metric, smaller, greater, (LINK,), experiments=(RRUL,))


def _as_over_the_wire(link: str, qdisc: str) -> Condition:
    """Latency within 15 % or 3 ms, goodput within 3 %: what README's figures allow."""
    wire, air = in_rrul(LATENCY, link, qdisc), over_wifi(LATENCY, qdisc, link=link)
    goodputs = (ratio(over_wifi(m, qdisc, link=link), in_rrul(m, link, qdisc), 0.97, 1.03)
                for m in (DOWN, UP))  # fmt: skip
    return every(some(ratio(air, wire, 0.85, 1.15), apart(air, wire, -3, 3)), *goodputs)


def _alike(metric: str, experiment: str) -> list[Check]:
    """Each qdisc has what the FIFO has, within ALIKE."""
    fifo = over_wifi(metric, FIFO, experiment)
    return [ratio(over_wifi(metric, one, experiment), fifo, *ALIKE) for one in MANAGED]


def axis(metrics: tuple[str, ...], experiment: str) -> Rule:
    """All qdiscs are within the plot."""
    cells = [over_wifi(metric, qdisc, experiment) for metric in metrics for qdisc in QDISCS]
    return lambda claim: every(*(within(c, claim.value_low, claim.value_high) for c in cells))


def _table_3() -> dict[str, Rule]:
    """The claims g192 to g205 are the cells of Table 3, a column of qdiscs after the other."""
    cells = [
        over_wifi(voip.LOSS, qdisc, experiment)
        for experiment in (VOIP_ONE, VOIP_RRUL)
        for qdisc in QDISCS
    ]
    return {f"g{number:03d}": voip.as_printed(cell) for number, cell in enumerate(cells, start=192)}


def _web_order(wire: str, air: str) -> Condition:
    """Qdiscs are ordered over WiFi as over the wire, PIE and CoDel further from fair queueing."""
    return every(
        same_order(
            [Quantity(web.FETCH, wire, LINK, qdisc) for qdisc in QDISCS],
            [over_wifi(web.FETCH, qdisc, air) for qdisc in QDISCS],
            low=0.8,
        ),
        *(
            widening(
                Quantity(web.FETCH, wire, LINK, aqm),
                Quantity(web.FETCH, wire, LINK, fq),
                over_wifi(web.FETCH, aqm, air),
                over_wifi(web.FETCH, fq, air),
            )
            for aqm in NEW_AQM
            for fq in FQ
        ),
    )


#: Of what is left of latency under a managed queue, most is below the qdiscs.
SPOILED: Final = every(
    *(ratio(over_wifi(BELOW, one), over_wifi(LATENCY, one), low=MOSTLY) for one in MANAGED)
)
NOT_LIMITED: Final = every(*(within(over_wifi(LATENCY, one), low=LIMITED_MS) for one in QDISCS))

RULES: Final[dict[str, Rule]] = {
    "g004": SPOILED,
    "g008": NOT_LIMITED,
    "g025": Lacking("the single samples of runs over WiFi at 10/10 and 10/1", "metric"),
    "g180": every(*(_as_over_the_wire(link, qdisc) for link in LOW for qdisc in QDISCS)),
    "g181": every(
        *(
            ratio(over_wifi(startup.PEAK, one), over_wifi(startup.STEADY, one), high=SPIKE)
            for one in QDISCS
        )
    ),
    # Sec. 7.1
    "g182": every(_order(LATENCY, NEW_AQM, (FIFO,)), _order(LATENCY, ("ared", *FQ), NEW_AQM)),
    "g183": lambda claim: every(
        *(within(over_wifi(LATENCY, one), low=ABOUT[0] * claim.value) for one in QDISCS),
        some(*(within(over_wifi(LATENCY, one), high=ABOUT[1] * claim.value) for one in QDISCS)),
    ),
    "g184": every(
        *(ratio(over_wifi(UP, one), over_wifi(DOWN, one), high=ALMOST_NOTHING) for one in QDISCS)
    ),
    "g185": axis((DOWN, UP), RRUL),
    "g186": axis((LATENCY,), RRUL),
    "g187": setting("the order of printed labels"),
    # Sec. 7.2
    "g188": every(*_alike(voip.MEDIAN, VOIP_ONE), *_alike(voip.P99, VOIP_ONE)),
    "g189": same_order(
        [over_wifi(voip.DELAY, one, VOIP_RRUL) for one in QDISCS],
        [over_wifi(LATENCY, one) for one in QDISCS],
        low=0.8,
    ),
    "g190": every(*(within(over_wifi(voip.LOSS, one, VOIP_ONE), *TABLE_3_ONE) for one in QDISCS)),
    "g191": every(
        *(within(over_wifi(voip.LOSS, one, VOIP_RRUL), low=VERY_HIGH_PERCENT) for one in AQM)
    ),
    **_table_3(),
    "g206": axis((voip.P99,), VOIP_ONE),
    "g207": axis((voip.P99,), VOIP_RRUL),
    # Sec. 7.3
    "g208": every(*_alike(web.FETCH, SMALL_ONE), *_alike(web.FETCH, LARGE_ONE)),
    "g209": every(_web_order(web.SMALL_RRUL, SMALL_RRUL), _web_order(web.LARGE_RRUL, LARGE_RRUL)),
    "g210": axis((web.FETCH,), SMALL_ONE),
    "g211": axis((web.FETCH,), SMALL_RRUL),
    "g212": axis((web.FETCH,), LARGE_ONE),
    "g213": axis((web.FETCH,), LARGE_RRUL),
    # Sec. 7.4 and 8
    "g214": every(SPOILED, NOT_LIMITED),
    "g221": every(*(less(over_wifi(LATENCY, fq), over_wifi(LATENCY, a)) for fq in FQ for a in AQM)),
}
