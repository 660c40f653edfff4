"""Sections 7 and 8 of khademi2013: ECN (Figs. 13 and 14, Table 5), and what is concluded."""

from collections.abc import Iterable
from typing import Final

from analysis.claims.check import (
    Check,
    Condition,
    Quantity,
    every,
    less,
    printed_ratio,
    ratio,
    read_back,
    rising,
    setting,
    some,
    widening,
)
from analysis.claims.verdict import Rule
from analysis.runs.statement import Claim

from ..measures.ecn import DIGIT, REPETITIONS
from .interval import LONG, SHORT
from .wifi import DOWN, MIXED, RTT, UP_RTT, air
from .words import (
    BADLY,
    DROPPED,
    GOODPUT,
    LOADS,
    MARKED,
    MEDIAN,
    MUCH,
    NEW,
    TAIL,
    TARGETS,
    below,
    cell,
)

SENDERS: Final = 4
ROWS: Final = (1, 4, 8, 16)  # flows a sender
COLUMNS: Final = ("codel", "pie", "ared")
FIRST: Final = 65  # k065 is the first cell of Table 5, row by row


def marked(metric: str, experiment: str, aqm: str) -> Quantity:
    """The metric of an AQM that marks."""
    return cell(metric, f"{experiment}_ecn", aqm, 5, "_ecn")


def marks_by_drops(flows_per_sender: int, aqm: str, low: float, high: float) -> Check:
    """Marks with ECN by drops without."""
    where = f"flows_{SENDERS * flows_per_sender}"
    return ratio(marked(MARKED, where, aqm), cell(DROPPED, where, aqm), low, high)


def _table_5(flows_per_sender: int, aqm: str) -> Rule:
    def rule(claim: Claim) -> Condition:
        where = f"flows_{SENDERS * flows_per_sender}"
        marks, drops = marked(MARKED, where, aqm), cell(DROPPED, where, aqm)
        return printed_ratio(marks, drops, claim.value, DIGIT, repetitions=REPETITIONS)

    return rule


def _between(aqms: Iterable[str], rows: Iterable[int]) -> Rule:
    """Within the printed bounds, a twentieth more either way: the table rounds to them."""
    cells = [(row, aqm) for row in rows for aqm in aqms]
    return lambda claim: every(
        *(marks_by_drops(*one, 0.95 * claim.value_low, 1.05 * claim.value_high) for one in cells)
    )


TABLE_5: Final = {
    f"k{FIRST + index:03d}": _table_5(row, aqm)
    for index, (row, aqm) in enumerate((row, aqm) for row in ROWS for aqm in COLUMNS)
}

RULES: Final[dict[str, Rule]] = {
    "k059": every(
        *(less(marked(MEDIAN, LOADS[0], "ared"), marked(MEDIAN, LOADS[0], aqm)) for aqm in NEW),
        widening(
            marked(MEDIAN, LOADS[0], "ared"),
            cell(MEDIAN, LOADS[0], "ared"),
            marked(MEDIAN, LOADS[2], "ared"),
            cell(MEDIAN, LOADS[2], "ared"),
        ),
    ),
    "k060": every(
        *(
            ratio(marked(MEDIAN, LOADS[2], aqm), cell(MEDIAN, LOADS[2], aqm), low=1 / MUCH)
            for aqm in NEW
        )
    ),
    "k061": every(
        *(ratio(marked(TAIL, LOADS[2], aqm), cell(TAIL, LOADS[2], aqm), high=MUCH) for aqm in NEW)
    ),
    "k062": rising(*(marked(GOODPUT, load, "ared") for load in LOADS)),
    "k063": every(
        *(
            less(marked(MARKED, load, aqm), marked(MARKED, load, "ared"))
            for load in LOADS
            for aqm in NEW
        )
    ),
    "k064": every(
        *(
            ratio(marked(GOODPUT, load, "ared"), cell(GOODPUT, load, "ared"), high=BADLY)
            for load in LOADS[:2]
        )
    ),
    **TABLE_5,
    "k077": _between(["ared"], ROWS),
    "k078": _between(NEW, ROWS[:3]),
    # Less delay than both in all but those cases; of these, in mixed traffic more than one of them.
    "k079": every(
        below(MEDIAN, "ared", NEW, LOADS),
        *(less(air(RTT, load, "ared"), air(RTT, load, aqm)) for load in DOWN for aqm in NEW),
        *(
            some(*(less(air(UP_RTT, load, aqm), air(UP_RTT, load, "ared")) for aqm in NEW))
            for load in MIXED
        ),
    ),
    "k080": every(
        below(MEDIAN, "ared", NEW, LOADS, TARGETS), below(MEDIAN, "ared", NEW, (*SHORT, *LONG))
    ),
    "k081": read_back("default of PIE's update interval"),
    "k082": read_back("default of PIE's target"),
    "k083": read_back("default of PIE's alpha"),
    "k084": read_back("default of PIE's beta"),
    "k085": setting("default of ARED's interval"),
    "k086": setting("default of ARED's decrease"),
    "k087": setting("contradicted by Sec. 5 of the same report"),
}
