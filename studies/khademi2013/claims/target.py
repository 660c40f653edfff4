"""Sections 4 and 4.1.1 of khademi2013: one flow, and targets at three loads (Figs. 2 to 4)."""

from typing import Final

from analysis.claims.check import Every, every, less, ratio, rising, tending, within
from analysis.claims.quantity import Cells
from analysis.claims.verdict import Rule

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
    TENDS,
    TOTAL,
    cell,
    lower,
)

ONE: Final = ("flows_1",)
LOW: Final = (1, 5, 10)  # "small values of target delay"
USUAL: Final = (5, 10, 20, 30)  # all but the extreme one


def printed(cells: Cells) -> Rule:
    """All between the printed bounds, as payload, give or take 3 %."""
    return lambda claim: every(
        *within(
            cells,
            PAYLOAD * (claim.value_low * EQUAL[0]),
            PAYLOAD * (claim.value_high * EQUAL[1]),
        )
    )


def by_target(metric: str) -> Every:
    """ARED's rises with the target."""
    return every(*(rising(*cell(metric, load, "ared", TARGETS)) for load in LOADS))


RULES: Final[dict[str, Rule]] = {
    "k001": lower(MEDIAN, "ared", NEW, LOADS),
    "k002": printed(cell(TOTAL, "flows_1", "codel", TARGETS)),
    "k003": printed(cell(TOTAL, "flows_1", "pie", TARGETS)),
    "k004": printed(cell(TOTAL, "flows_1", "ared", TARGETS)),
    "k005": every(
        *(within(cell(MEDIAN, "flows_1", aqm, t), high=t) for aqm in AQMS for t in USUAL)
    ),
    "k006": every(lower(MOST, "ared", NEW, ONE, TARGETS), lower(TAIL, "ared", NEW, ONE, TARGETS)),
    "k007": less(
        cell(TOTAL, "flows_1", ("pie", "ared"), TARGETS), cell(TOTAL, "flows_1", "codel", TARGETS)
    ),
    "k008": lower(TOTAL, "ared", ("codel",), ONE, LOW, factor=BADLY),
    "k009": rising(*(cell((P10, MEDIAN, P90), load, NEW, TARGETS) for load in LOADS)),
    "k010": lower(OFF, "ared", NEW, LOADS, TARGETS),
    "k011": every(*map(by_target, (P10, MEDIAN, P90))),
    "k012": ratio(cell(MEDIAN, LOADS[1:], NEW, 5), cell(MEDIAN, LOADS[1:], NEW, 30), low=0.5),
    "k013": lower(TAIL, "ared", NEW, LOADS[2:], TARGETS),
    "k014": ratio(
        cell(TAIL, LOADS, "codel", (1, 10, 20, 30)), cell(TAIL, LOADS, "codel", 5), *ROUGHLY
    ),
    "k015": every(
        *(tending(*cell(TAIL, load, "pie", TARGETS[::-1]), low=TENDS) for load in LOADS[1:])
    ),
    "k016": lower(TAIL, "ared", ("pie",), LOADS[2:], LOW, factor=0.5),
    "k017": every(lower(TAIL, "ared", NEW, LOADS, TARGETS, factor=MUCH), by_target(TAIL)),
    "k018": printed(cell(GOODPUT, "flows_4", "ared", 1)),
    "k019": printed(cell(GOODPUT, "flows_4", "ared", USUAL)),
    "k020": printed(cell(GOODPUT, "flows_4", "pie", TARGETS)),
    "k021": printed(cell(GOODPUT, "flows_4", "codel", TARGETS)),
    "k022": every(
        *(
            ratio(cell(GOODPUT, "flows_16", "ared", t), cell(GOODPUT, "flows_16", aqm, t), *EQUAL)
            for aqm in NEW
            for t in USUAL
        )
    ),
    "k023": printed(cell(GOODPUT, "flows_64", AQMS, TARGETS)),
}
