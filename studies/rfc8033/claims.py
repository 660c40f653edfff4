"""What RFC 8033's rule of 10 % is for, and what follows of other values, as bounds of our own."""

from typing import Final

from qdisclab.analysis.claims.check import less, ratio, within
from qdisclab.analysis.claims.quantity import Quantity, cells, several
from qdisclab.analysis.claims.verdict import Rule

FEW: Final = ("4", "16")
DROPPED, SETTLED, BACKLOG = "pie_dropped", "pie_dropped_settled", "pie_backlog_settled"


@several()
def flows(metric: str, ecn: str, number: str) -> Quantity:
    """A number of uploads through fq_pie."""
    return Quantity(metric, f"{ecn}_{number}", "10/10", "fq_pie")


RULES: Final[dict[str, Rule]] = {
    "r001": less(flows(DROPPED, "ecn_99", FEW), flows(DROPPED, "ecn_10", FEW)),
    "r002": within(flows(SETTLED, "ecn_99", "16"), 0, 0),
    "r003": within(flows(SETTLED, "ecn_99", "64"), 1),
    "r004": ratio(flows(BACKLOG, "ecn_99", FEW), flows(BACKLOG, "ecn_10", FEW), high=1.5),
    "r005": less(
        cells(DROPPED, "one_queue_16_ect", "10/10", "pie"),
        cells(DROPPED, "one_queue_16_not_ect", "10/10", "pie"),
    ),
    "r006": less(flows(DROPPED, "ecn_10", FEW), flows(DROPPED, "not_ect", FEW)),
}
