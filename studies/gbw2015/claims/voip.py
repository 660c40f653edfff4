"""Section 5.2 of gbw2015: a VoIP flow upstream beside one TCP flow or RRUL (Fig. 3, Table 2)."""

from typing import Final

from qdisclab.analysis.claims.check import every, less, printed, ratio, same_order, within
from qdisclab.analysis.claims.quantity import Cells, Quantity, cells
from qdisclab.analysis.claims.verdict import Rule
from qdisclab.analysis.measures.agreement import PACKET_PERCENT

from .words import (
    AQM,
    FIFO,
    FQ,
    LINKS,
    LOW,
    MUCH,
    NEW_AQM,
    QDISCS,
    SCHEDULERS,
    SPIKE,
    UP,
    bounded,
    in_rrul,
    order,
)

ONE: Final = "voip_1up"  # beside one TCP flow upstream
RRUL: Final = "voip_rrul"
DELAY, MEDIAN, P99 = "voip_delay_ms", "voip_delay_median_ms", "voip_delay_p99_ms"
LOSS: Final = "voip_loss_percent"

USABLE_PERCENT: Final = 1.0  # of loss, above which speech suffers

LOSERS: Final = ("sfq", "fq_codel")  # with queues a flow, and losses in Table 2
APART_MS: Final = 10.0  # between packets of the call, which D-ITG sends


def as_printed(cell: Quantity) -> Rule:
    """The loss is that of Table 2, which has three decimals at 100/100 and otherwise two, or that
    of Table 3, which has two."""
    decimals = 3 if (cell.experiment in (ONE, RRUL) and cell.link == "100/100") else 2
    error = 0.5 * 10**-decimals
    return lambda claim: printed(cell, claim.value, error, step=PACKET_PERCENT)


def table(first: int, losses: Cells) -> dict[str, Rule]:
    """Return the rules of the claims from the `first` on, which are the cells of a table."""
    return {f"g{number:03d}": as_printed(cell) for number, cell in enumerate(losses, first)}


IMPROVED: Final = order(DELAY, AQM, (FIFO,), experiments=(ONE, RRUL))
PROTECTED: Final = every(  # but for the cells of Table 2 that the paper excepts
    *(within(cells(LOSS, ONE, link, FQ), 0, 0) for link in LINKS),
    *(within(cells(LOSS, RRUL, link, FQ), 0, 0) for link in ("100/100", "10/10")),
    within(cells(LOSS, RRUL, "10/1", "fq_nocodel"), 0, 0),
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
            same_order(cells(UP, RRUL, link, QDISCS), in_rrul(UP, link, QDISCS), low=0.8)
            for link in LINKS
        )
    ),
    "g057": ratio(
        cells(P99, RRUL, "10/1", SCHEDULERS), cells(P99, RRUL, "10/1", "fq_codel"), low=1 / MUCH
    ),
    "g058": ratio(cells(P99, RRUL, LOW, NEW_AQM), cells(MEDIAN, RRUL, LOW, NEW_AQM), low=SPIKE),
    "g059": within(cells(LOSS, ONE, "10/1", AQM), 2 * USABLE_PERCENT, 100),
    "g060": less(cells(LOSS, ONE, "10/1", (FIFO, *AQM)), cells(LOSS, RRUL, "10/1", (FIFO, *AQM))),
    "g061": within(Quantity(LOSS, RRUL, "10/1", "ared"), low=25),
    "g062": PROTECTED,
    "g063": every(  # its packets wait for each other where the wait is longer than their distance
        *within(cells(DELAY, RRUL, "10/1", LOSERS), low=APART_MS),
        *within(cells(DELAY, RRUL, "10/10", LOSERS), high=APART_MS),
    ),
    "g064": bounded(cells(P99, ONE, "100/100", QDISCS)),
    "g065": bounded(cells(P99, RRUL, "100/100", QDISCS)),
    "g066": bounded(cells(P99, ONE, "10/10", QDISCS)),
    "g067": bounded(cells(P99, RRUL, "10/10", QDISCS)),
    "g068": bounded(cells(P99, ONE, "10/1", QDISCS)),
    "g069": bounded(cells(P99, RRUL, "10/1", QDISCS)),
    # g070 to g111, a row of qdiscs after the other
    **table(70, cells(LOSS, (ONE, RRUL), LINKS[::-1], QDISCS)),
    "g140": every(
        *(within(cells(LOSS, name, "10/1", FQ), high=USABLE_PERCENT) for name in (ONE, RRUL))
    ),
}
