"""Sections 4 and 4.1.1 of khademi2013: one flow, and targets at three loads (Figs. 2 to 4)."""

from collections.abc import Iterable
from typing import Final

from analysis.claims.check import Every, every, less, ratio, rising, within
from analysis.claims.verdict import Rule
from analysis.runs.statement import Claim

from .words import (
    AQMS,
    BADLY,
    EQUAL,
    GOODPUT,
    LOADS,
    MEDIAN,
    MOST,
    MUCH,
    NEW,
    OFF,
    P10,
    P90,
    PAYLOAD,
    ROUGHLY,
    TAIL,
    TARGETS,
    TOTAL,
    below,
    cell,
)

ONE: Final = ("flows_1",)
LOW: Final = (1, 5, 10)  # "small values of target delay"
USUAL: Final = (5, 10, 20, 30)  # all but the extreme one


def printed(
    metric: str, experiment: str, aqms: Iterable[str], targets: Iterable[int] = TARGETS
) -> Rule:
    """Of each AQM and target between the printed bounds, as payload, give or take 3 %."""
    cells = [cell(metric, experiment, aqm, target) for aqm in aqms for target in targets]

    def rule(claim: Claim) -> Every:
        low, high = (
            PAYLOAD * bound for bound in (claim.value_low * EQUAL[0], claim.value_high * EQUAL[1])
        )
        return every(*(within(one, low, high) for one in cells))

    return rule


def by_target(metric: str, aqm: str, loads: Iterable[str]) -> Every:
    """It rises with the target."""
    return every(*(rising(*(cell(metric, load, aqm, t) for t in TARGETS)) for load in loads))


def by_load(aqms: Iterable[str]) -> Every:
    """Median, 10th and 90th percentile rise with the load at every target."""
    return every(
        *(
            rising(*(cell(metric, load, aqm, target) for load in LOADS))
            for metric in (P10, MEDIAN, P90)
            for aqm in aqms
            for target in TARGETS
        )
    )


RULES: Final[dict[str, Rule]] = {
    "k001": below(MEDIAN, "ared", NEW, LOADS),
    "k002": printed(TOTAL, "flows_1", ["codel"]),
    "k003": printed(TOTAL, "flows_1", ["pie"]),
    "k004": printed(TOTAL, "flows_1", ["ared"]),
    "k005": every(
        *(within(cell(MEDIAN, "flows_1", aqm, t), high=t) for aqm in AQMS for t in USUAL)
    ),
    "k006": every(below(MOST, "ared", NEW, ONE, TARGETS), below(TAIL, "ared", NEW, ONE, TARGETS)),
    "k007": every(
        *(
            less(cell(TOTAL, "flows_1", aqm, target), cell(TOTAL, "flows_1", "codel", target))
            for aqm in ("pie", "ared")
            for target in TARGETS
        )
    ),
    "k008": below(TOTAL, "ared", ["codel"], ONE, LOW, factor=BADLY),
    "k009": by_load(NEW),
    "k010": below(OFF, "ared", NEW, LOADS, TARGETS),
    "k011": every(*(by_target(metric, "ared", LOADS) for metric in (P10, MEDIAN, P90))),
    "k012": every(
        *(
            ratio(cell(MEDIAN, load, aqm, 5), cell(MEDIAN, load, aqm, 30), low=0.5)
            for load in LOADS[1:]
            for aqm in NEW
        )
    ),
    "k013": below(TAIL, "ared", NEW, LOADS[2:], TARGETS),
    "k014": every(
        *(
            ratio(cell(TAIL, load, "codel", target), cell(TAIL, load, "codel", 5), *ROUGHLY)
            for load in LOADS
            for target in TARGETS
            if target != 5
        )
    ),
    "k015": every(
        *(rising(*(cell(TAIL, load, "pie", t) for t in reversed(TARGETS))) for load in LOADS[1:])
    ),
    "k016": below(TAIL, "ared", ["pie"], LOADS[2:], LOW, factor=0.5),
    "k017": every(
        below(TAIL, "ared", NEW, LOADS, TARGETS, factor=MUCH), by_target(TAIL, "ared", LOADS)
    ),
    "k018": printed(GOODPUT, "flows_4", ["ared"], [1]),
    "k019": printed(GOODPUT, "flows_4", ["ared"], USUAL),
    "k020": printed(GOODPUT, "flows_4", ["pie"]),
    "k021": printed(GOODPUT, "flows_4", ["codel"]),
    "k022": every(
        *(
            ratio(cell(GOODPUT, "flows_16", "ared", t), cell(GOODPUT, "flows_16", aqm, t), *EQUAL)
            for aqm in NEW
            for t in USUAL
        )
    ),
    "k023": printed(GOODPUT, "flows_64", AQMS),
}
