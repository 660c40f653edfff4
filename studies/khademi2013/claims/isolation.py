"""Section 6 of khademi2013: CoDel and FQ-CoDel (Figs. 11 and 12)."""

from typing import Final

from analysis.claims.check import (
    Condition,
    Quantity,
    every,
    less,
    ratio,
    rising,
    some,
    widening,
)
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
    below,
    cell,
)

FQ: Final = "fq_codel"


def pairs(metric: str, target: int) -> list[tuple[Quantity, Quantity]]:
    """FQ-CoDel's and CoDel's at each number of flows."""
    return [
        (cell(metric, where, FQ, target), cell(metric, where, "codel", target)) for where in NUMBERS
    ]


def reduced(metric: str) -> Rule:
    """By the printed percentages, give or take POINTS, at every number of flows."""

    def rule(claim: Claim) -> Condition:
        low, high = 1 - claim.value_high / 100 - POINTS, 1 - claim.value_low / 100 + POINTS
        return every(*(ratio(fq, codel, low, high) for fq, codel in pairs(metric, 5)))

    return rule


def increased(target: int) -> Rule:
    """Somewhere, and nowhere by more than printed."""

    def rule(claim: Claim) -> Condition:
        found = pairs(P90, target)
        return every(
            some(*(less(codel, fq) for fq, codel in found)),
            *(ratio(fq, codel, high=1 + claim.value_high / 100 + POINTS) for fq, codel in found),
        )

    return rule


RULES: Final[dict[str, Rule]] = {
    "k050": every(
        *(
            rising(*(cell(metric, where, "codel", target) for where in NUMBERS))
            for metric in (P10, MEDIAN, P90)
            for target in (5, 20)
        )
    ),
    "k051": every(
        *(below(metric, FQ, ["codel"], NUMBERS, (5, 20), factor=0.9) for metric in (P10, MEDIAN))
    ),
    "k052": reduced(P10),
    "k053": reduced(MEDIAN),
    "k054": increased(5),
    "k055": increased(20),
    "k056": every(
        below(MEDIAN, FQ, ["codel"], NUMBERS, (5, 20)),
        *(less(codel, fq) for target in (5, 20) for fq, codel in pairs(TAIL, target)),
    ),
    "k057": every(
        *(less(fq, codel) for fq, codel in pairs(ONE_MEDIAN, 5)),
        *(less(codel, fq) for fq, codel in pairs(ONE_TAIL, 5)),
    ),
    "k058": widening(
        cell(MEDIAN, NUMBERS[0], "codel"),
        cell(MEDIAN, NUMBERS[0], FQ),
        cell(MEDIAN, NUMBERS[-1], "codel"),
        cell(MEDIAN, NUMBERS[-1], FQ),
    ),
}
