"""Section 6 of khademi2013: CoDel and FQ-CoDel (Figs. 11 and 12)."""

from typing import Final

from analysis.claims.check import Condition, every, less, ratio, some, tending, widening
from analysis.claims.quantity import Grid
from analysis.claims.verdict import Rule
from analysis.runs.statement import Claim

from .words import (
    MEDIAN,
    NUMBERS,
    ONE_MEDIAN,
    ONE_TAIL,
    P10,
    P90,
    POINTS,
    TAIL,
    WITH,
    cell,
    lower,
    within_percent,
)

FQ: Final = "fq_codel"


def pair(metric: str, target: int = 5) -> tuple[Grid, Grid]:
    """FQ-CoDel's and CoDel's at each number of flows."""
    return cell(metric, NUMBERS, FQ, target), cell(metric, NUMBERS, "codel", target)


def increased(claim: Claim, target: int) -> Condition:
    """Somewhere, and nowhere by more than printed."""
    fq, codel = pair(P90, target)
    return every(
        some(*less(codel, fq)), *ratio(fq, codel, high=1 + claim.value_high / 100 + POINTS)
    )


RULES: Final[dict[str, Rule]] = {
    "k050": tending(
        *(cell((P10, MEDIAN, P90), where, "codel", (5, 20)) for where in NUMBERS), low=WITH
    ),
    "k051": every(
        *(lower(metric, FQ, ("codel",), NUMBERS, (5, 20), factor=0.9) for metric in (P10, MEDIAN))
    ),
    "k052": lambda claim: within_percent(claim, *pair(P10)),
    "k053": lambda claim: within_percent(claim, *pair(MEDIAN)),
    "k054": lambda claim: increased(claim, 5),
    "k055": lambda claim: increased(claim, 20),
    "k056": every(
        lower(MEDIAN, FQ, ("codel",), NUMBERS, (5, 20)),
        *(part for target in (5, 20) for part in less(*pair(TAIL, target)[::-1])),
    ),
    "k057": every(*less(*pair(ONE_MEDIAN)), *less(*pair(ONE_TAIL)[::-1])),
    "k058": widening(
        cell(MEDIAN, NUMBERS[0], "codel"),
        cell(MEDIAN, NUMBERS[0], FQ),
        cell(MEDIAN, NUMBERS[-1], "codel"),
        cell(MEDIAN, NUMBERS[-1], FQ),
    ),
}
