"""Sections 4.1.2 and 4.1.3 of khademi2013: intervals and base RTTs (Figs. 5 to 8)."""

from collections.abc import Iterable
from itertools import combinations, pairwise
from typing import Final

from analysis.claims.check import (
    Condition,
    Quantity,
    apart,
    every,
    ratio,
    rising,
    some,
)
from analysis.claims.verdict import Rule
from analysis.runs.statement import Claim

from .words import (
    AQMS,
    CONVERGED,
    EQUAL,
    GOODPUT,
    LITTLE,
    LOADS,
    MEDIAN,
    MUCH,
    NEW,
    POINTS,
    SAWTOOTH,
    below,
    cell,
)

CODEL: Final = ("_interval_5ms", "_interval_30ms", "")  # 5, 30 and 100 ms
PIE: Final = ("_tupdate_5ms", "", "_tupdate_100ms")  # 5, 30 and 100 ms
LIGHT: Final = LOADS[0]
SHORT: Final = tuple(f"{load}_rtt_5ms" for load in LOADS)
LONG: Final = tuple(f"{load}_rtt_500ms" for load in LOADS)


def lower(shorter: Quantity, usual: Quantity, claim: Claim, points: float = POINTS) -> Condition:
    """The first is lower than the second by the printed percentage, give or take `points`."""
    low, high = 1 - claim.value_high / 100 - points, 1 - claim.value_low / 100 + points
    return ratio(shorter, usual, low, high)


def by_rtt(metric: str, aqm: str, load: str) -> Condition:
    """It falls with the base RTT."""
    order = (f"{load}_rtt_500ms", load, f"{load}_rtt_5ms")
    return rising(*(cell(metric, where, aqm) for where in order))


def equal_goodput(experiments: Iterable[str], low: float, high: float) -> Condition:
    """ARED's goodput, of CoDel's and of PIE's."""
    return every(
        *(
            ratio(cell(GOODPUT, where, "ared"), cell(GOODPUT, where, aqm), low, high)
            for where in experiments
            for aqm in NEW
        )
    )


def not_rising(load: str, shorter: str, longer: str) -> Condition:
    """PIE's median queuing delay is not less with the shorter interval."""
    return apart(cell(MEDIAN, load, "pie", 5, shorter), cell(MEDIAN, load, "pie", 5, longer), low=0)


def _most_fall(load: str) -> Condition:
    """Of two of the three AQMs median queuing delay and goodput fall with the base RTT."""
    each = [every(by_rtt(MEDIAN, aqm, load), by_rtt(GOODPUT, aqm, load)) for aqm in AQMS]
    return some(*(every(*pair) for pair in combinations(each, 2)))


RULES: Final[dict[str, Rule]] = {
    "k024": lambda claim: every(
        *(
            lower(cell(MEDIAN, load, "codel", 5, more), cell(MEDIAN, load, "codel"), claim)
            for load in LOADS
            for more in CODEL[:2]
        )
    ),
    "k025": lambda claim: lower(
        cell(GOODPUT, LIGHT, "codel", 5, CODEL[0]), cell(GOODPUT, LIGHT, "codel"), claim, 0.02
    ),
    "k026": every(
        rising(*(cell(MEDIAN, LIGHT, "pie", 5, more) for more in PIE)),
        rising(*(cell(GOODPUT, LIGHT, "pie", 5, more) for more in PIE)),
    ),
    # At light load the delay rises with the interval, at heavy load it does not always.
    "k027": every(
        rising(*(cell(MEDIAN, LIGHT, "pie", 5, more) for more in PIE)),
        *(
            some(*(not_rising(load, one, next_one) for one, next_one in pairwise(PIE)))
            for load in LOADS[2:]
        ),
    ),
    "k028": lambda claim: lower(
        cell(MEDIAN, LIGHT, "pie", 5, PIE[0]), cell(MEDIAN, LIGHT, "pie"), claim
    ),
    "k029": lambda claim: lower(
        cell(GOODPUT, LIGHT, "pie", 5, PIE[0]), cell(GOODPUT, LIGHT, "pie"), claim, 0.02
    ),
    "k030": every(*(_most_fall(load) for load in LOADS)),
    "k031": every(below(MEDIAN, "ared", NEW, SHORT, factor=MUCH), equal_goodput(SHORT, *EQUAL)),
    "k032": every(
        below(MEDIAN, "ared", NEW, (*LOADS, *LONG), factor=MUCH),
        equal_goodput((*LOADS, *LONG), LITTLE, 1.1),
    ),
    "k033": every(
        *(
            rising(
                *(
                    cell(metric, where, aqm)
                    for where in (f"{load}_rtt_5ms", load, f"{load}_rtt_500ms")
                )
            )
            for metric in (SAWTOOTH, CONVERGED)
            for load in LOADS
            for aqm in AQMS
        )
    ),
}
