"""Sections 4.1.2 and 4.1.3 of khademi2013: intervals and base RTTs (Figs. 5 to 8)."""

from itertools import combinations, pairwise
from typing import Final

from analysis.claims.check import Condition, apart, every, less, ratio, rising, some
from analysis.claims.verdict import Rule

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
    SAWTOOTH,
    cell,
    lower,
    within_percent,
)

CODEL: Final = ("_interval_5ms", "_interval_30ms", "")  # 5, 30 and 100 ms
PIE: Final = ("_tupdate_5ms", "", "_tupdate_100ms")  # 5, 30 and 100 ms
LIGHT: Final = LOADS[0]
SHORT: Final = tuple(f"{load}_rtt_5ms" for load in LOADS)
LONG: Final = tuple(f"{load}_rtt_500ms" for load in LOADS)


def by_rtt(metric: str, aqm: str, load: str) -> Condition:
    """It falls with the base RTT."""
    return rising(*cell(metric, (f"{load}_rtt_500ms", load, f"{load}_rtt_5ms"), aqm))


def equal_goodput(experiments: tuple[str, ...], low: float, high: float) -> Condition:
    """ARED's goodput, of CoDel's and of PIE's."""
    return ratio(cell(GOODPUT, experiments, "ared"), cell(GOODPUT, experiments, NEW), low, high)


def not_rising(load: str, shorter: str, longer: str) -> Condition:
    """PIE's median queuing delay is not less with the shorter interval."""
    return apart(cell(MEDIAN, load, "pie", 5, shorter), cell(MEDIAN, load, "pie", 5, longer), low=0)


def _most_fall(load: str) -> Condition:
    """Of two of the three AQMs median queuing delay and goodput fall with the base RTT."""
    each = [every(by_rtt(MEDIAN, aqm, load), by_rtt(GOODPUT, aqm, load)) for aqm in AQMS]
    return some(*(every(*pair) for pair in combinations(each, 2)))


RULES: Final[dict[str, Rule]] = {
    "k024": lambda claim: within_percent(
        claim,
        cell(MEDIAN, LOADS, "codel", 5, CODEL[:2]),
        cell(MEDIAN, LOADS, "codel", 5, CODEL[2:]),
    ),
    "k025": lambda claim: within_percent(
        claim, cell(GOODPUT, LIGHT, "codel", 5, CODEL[0]), cell(GOODPUT, LIGHT, "codel"), 0.02
    ),
    "k026": every(
        rising(*cell(MEDIAN, LIGHT, "pie", 5, PIE)), rising(*cell(GOODPUT, LIGHT, "pie", 5, PIE))
    ),
    # At light load the delay rises with the interval, at heavy load it does not always.
    "k027": every(
        rising(*cell(MEDIAN, LIGHT, "pie", 5, PIE)),
        some(*(not_rising(LOADS[2], *pair) for pair in pairwise(PIE))),
    ),
    "k028": lambda claim: within_percent(
        claim, cell(MEDIAN, LIGHT, "pie", 5, PIE[0]), cell(MEDIAN, LIGHT, "pie")
    ),
    "k029": lambda claim: within_percent(
        claim, cell(GOODPUT, LIGHT, "pie", 5, PIE[0]), cell(GOODPUT, LIGHT, "pie"), 0.02
    ),
    "k030": every(*(_most_fall(load) for load in LOADS)),
    "k031": every(lower(MEDIAN, "ared", NEW, SHORT, factor=MUCH), equal_goodput(SHORT, *EQUAL)),
    "k032": every(
        lower(MEDIAN, "ared", NEW, (*LOADS, *LONG), factor=MUCH),
        equal_goodput((*LOADS, *LONG), LITTLE, 1.1),
    ),
    "k033": every(  # of the long one, beside either of the others
        *(
            less(cell(metric, f"{load}{rtt}", AQMS), cell(metric, f"{load}_rtt_500ms", AQMS))
            for metric in (SAWTOOTH, CONVERGED)
            for load in LOADS
            for rtt in ("_rtt_5ms", "")
        )
    ),
    "k088": ratio(  # "only when congestion level is light"
        cell(GOODPUT, LOADS[1:], "codel", 5, CODEL[:2]),
        cell(GOODPUT, LOADS[1:], "codel"),
        low=EQUAL[0],
    ),
}
