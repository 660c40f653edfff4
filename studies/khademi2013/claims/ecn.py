"""Sections 7 and 8 of khademi2013: ECN (Figs. 13 and 14, Table 5), and what is concluded."""

from itertools import product
from typing import Final

from analysis.claims.check import (
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
from analysis.claims.quantity import Quantity, several
from analysis.claims.verdict import Rule

from ..measures.ecn import DIGIT, REPETITIONS
from .interval import LONG, SHORT
from .wifi import DOWN, MIXED, RTT, UP_RTT, air
from .words import (
    BADLY,
    DROPPED,
    GOODPUT,
    LINK,
    LOADS,
    MARKED,
    MEDIAN,
    MUCH,
    NEW,
    TAIL,
    TARGETS,
    cell,
    lower,
)

SENDERS: Final = 4
ROWS: Final = (1, 4, 8, 16)  # flows a sender
COLUMNS: Final = ("codel", "pie", "ared")
FIRST: Final = 65  # k065 is the first cell of Table 5, row by row


@several("experiment")
def marked(metric: str, experiment: str, aqm: str) -> Quantity:
    """Return the metric of an AQM that marks."""
    return Quantity(metric, f"{experiment}_ecn", LINK, f"{aqm}_5ms_ecn")


def table_5(row: int, aqm: str) -> Rule:
    """Marks with ECN by drops without are those of a cell of Table 5."""
    where = f"flows_{SENDERS * row}"
    of = marked(MARKED, where, aqm), cell(DROPPED, where, aqm)
    return lambda claim: printed_ratio(*of, claim.value, DIGIT, repetitions=REPETITIONS)


def _between(aqms: tuple[str, ...], rows: tuple[int, ...]) -> Rule:
    """Within the printed bounds, a twentieth more either way: the table rounds to them."""
    where = tuple(f"flows_{SENDERS * row}" for row in rows)
    of = marked(MARKED, where, aqms), cell(DROPPED, where, aqms)
    return lambda claim: ratio(*of, 0.95 * claim.value_low, 1.05 * claim.value_high)


TABLE_5: Final = {
    f"k{FIRST + index:03d}": table_5(*place) for index, place in enumerate(product(ROWS, COLUMNS))
}

RULES: Final[dict[str, Rule]] = {
    "k059": every(
        *less(marked(MEDIAN, LOADS[0], "ared"), marked(MEDIAN, LOADS[0], NEW)),
        widening(
            marked(MEDIAN, LOADS[0], "ared"),
            cell(MEDIAN, LOADS[0], "ared"),
            marked(MEDIAN, LOADS[2], "ared"),
            cell(MEDIAN, LOADS[2], "ared"),
        ),
    ),
    "k060": ratio(marked(MEDIAN, LOADS[2], NEW), cell(MEDIAN, LOADS[2], NEW), low=1 / MUCH),
    "k061": ratio(marked(TAIL, LOADS[2], NEW), cell(TAIL, LOADS[2], NEW), high=MUCH),
    "k062": rising(*marked(GOODPUT, LOADS, "ared")),
    "k063": less(marked(MARKED, LOADS, NEW), marked(MARKED, LOADS, "ared")),
    "k064": ratio(marked(GOODPUT, LOADS[:2], "ared"), cell(GOODPUT, LOADS[:2], "ared"), high=BADLY),
    **TABLE_5,
    "k077": _between(("ared",), ROWS),
    "k078": _between(NEW, ROWS[:3]),
    # Less delay than both in all but those cases; of these, in mixed traffic more than one of them.
    "k079": every(
        lower(MEDIAN, "ared", NEW, LOADS),
        *less(air(RTT, DOWN, "ared"), air(RTT, DOWN, NEW)),
        *(some(*less(air(UP_RTT, load, NEW), air(UP_RTT, load, "ared"))) for load in MIXED),
    ),
    "k080": every(
        lower(MEDIAN, "ared", NEW, LOADS, TARGETS), lower(MEDIAN, "ared", NEW, (*SHORT, *LONG))
    ),
    "k081": read_back("default of PIE's update interval"),
    "k082": read_back("default of PIE's target"),
    "k083": read_back("default of PIE's alpha"),
    "k084": read_back("default of PIE's beta"),
    "k085": setting("default of ARED's interval"),
    "k086": setting("default of ARED's decrease"),
    "k087": setting("contradicted by Sec. 5 of the same report"),
}
