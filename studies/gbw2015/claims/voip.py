"""Section 5.2 of gbw2015: a VoIP flow upstream beside one TCP flow or RRUL (Fig. 3, Table 2)."""

from collections.abc import Iterable
from math import inf
from typing import Final

from analysis.claims.check import (
    Condition,
    Quantity,
    every,
    less,
    printed,
    ratio,
    same_order,
    within,
)
from analysis.claims.verdict import Rule
from analysis.measures.agreement import PACKET_PERCENT

from .words import (
    AQM,
    FIFO,
    FQ,
    LINKS,
    LOW,
    MUCH,
    NEW_AQM,
    QDISCS,
    SPIKE,
    UP,
    in_rrul,
    order,
)

ONE: Final = "voip_1up"  # beside one TCP flow upstream
RRUL: Final = "voip_rrul"
DELAY: Final = "voip_delay_ms"
MEDIAN: Final = "voip_delay_median_ms"
P99: Final = "voip_delay_p99_ms"
LOSS: Final = "voip_loss_percent"

USABLE_PERCENT: Final = 1.0  # of loss, above which speech suffers

LOSERS: Final = ("sfq", "fq_codel")  # with queues a flow, and losses in Table 2
APART_MS: Final = 10.0  # between packets of the call, which D-ITG sends


def _table_2() -> dict[str, Rule]:
    """The claims g070 to g111 are the cells of Table 2, a row of qdiscs after the other."""
    cells = [
        Quantity(LOSS, experiment, link, qdisc)
        for experiment in (ONE, RRUL)
        for link in reversed(LINKS)
        for qdisc in QDISCS
    ]
    return {f"g{number:03d}": as_printed(cell) for number, cell in enumerate(cells, start=70)}


def as_printed(cell: Quantity) -> Rule:
    """The loss is that of Table 2, which has three decimals at 100/100 and otherwise two, or that
    of Table 3, which has two."""
    decimals = 3 if (cell.experiment in (ONE, RRUL) and cell.link == "100/100") else 2
    error = 0.5 * 10**-decimals
    return lambda claim: printed(cell, claim.value, error, step=PACKET_PERCENT)


def _each(
    metric: str, experiment: str, link: str, qdiscs: Iterable[str], low: float, high: float
) -> Condition:
    return every(*(within(Quantity(metric, experiment, link, one), low, high) for one in qdiscs))


def axis(experiment: str, link: str) -> Rule:
    """The 99th percentile of every qdisc is on the plot."""
    return lambda claim: _each(P99, experiment, link, QDISCS, claim.value_low, claim.value_high)


IMPROVED: Final = order(DELAY, AQM, (FIFO,), experiments=(ONE, RRUL))
PROTECTED: Final = every(  # but for the cells of Table 2 that the paper excepts
    *(_each(LOSS, ONE, link, FQ, 0, 0) for link in LINKS),
    *(_each(LOSS, RRUL, link, FQ, 0, 0) for link in ("100/100", "10/10")),
    _each(LOSS, RRUL, "10/1", ("fq_nocodel",), 0, 0),
)

RULES: Final[dict[str, Rule]] = {
    "g054": order(DELAY, AQM, (FIFO,), experiments=(ONE, RRUL), factor=MUCH),
    "g055": every(  # g057 has the exception: SFQ at 10/1 with RRUL
        order(DELAY, ("fq_nocodel", "fq_codel"), (FIFO, *AQM), experiments=(ONE, RRUL)),
        order(DELAY, ("sfq",), (FIFO, *AQM), experiments=(ONE,)),
        order(DELAY, ("sfq",), (FIFO, *AQM), ("100/100", "10/10"), experiments=(RRUL,)),
    ),
    "g056": every(
        *(
            same_order(
                [Quantity(UP, RRUL, link, qdisc) for qdisc in QDISCS],
                [in_rrul(UP, link, qdisc) for qdisc in QDISCS],
                low=0.8,
            )
            for link in LINKS
        )
    ),
    "g057": ratio(
        Quantity(P99, RRUL, "10/1", "sfq"), Quantity(P99, RRUL, "10/1", "fq_codel"), low=1 / MUCH
    ),
    "g058": every(
        *(
            ratio(Quantity(P99, RRUL, link, qdisc), Quantity(MEDIAN, RRUL, link, qdisc), low=SPIKE)
            for link in LOW
            for qdisc in NEW_AQM
        )
    ),
    "g059": _each(LOSS, ONE, "10/1", AQM, 2 * USABLE_PERCENT, 100),
    "g060": less(Quantity(LOSS, ONE, "10/1", FIFO), Quantity(LOSS, RRUL, "10/1", FIFO)),
    "g061": within(Quantity(LOSS, RRUL, "10/1", "ared"), low=25),
    "g062": PROTECTED,
    "g063": every(  # its packets wait for each other where the wait is longer than their distance
        *(within(Quantity(DELAY, RRUL, "10/1", one), low=APART_MS) for one in LOSERS),
        *(within(Quantity(DELAY, RRUL, "10/10", one), high=APART_MS) for one in LOSERS),
    ),
    "g064": axis(ONE, "100/100"),
    "g065": axis(RRUL, "100/100"),
    "g066": axis(ONE, "10/10"),
    "g067": axis(RRUL, "10/10"),
    "g068": axis(ONE, "10/1"),
    "g069": axis(RRUL, "10/1"),
    **_table_2(),
    "g140": every(
        *(_each(LOSS, experiment, "10/1", FQ, -inf, USABLE_PERCENT) for experiment in (ONE, RRUL))
    ),
}
