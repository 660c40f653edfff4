"""What RFC 8033's rule of 10 % is for, and what follows of other values, as bounds of our own."""

from typing import Final

from qdisclab.analysis.claims.check import every, less, ratio, within
from qdisclab.analysis.claims.quantity import Cells, cells
from qdisclab.analysis.claims.verdict import Rule


def flows(number: str, prob: str, metric: str) -> Cells:
    """A number of uploads through fq_pie."""
    return cells(metric, f"ecn_{prob}_{number}", "10/10", "fq_pie")


RULES: Final[dict[str, Rule]] = {
    "r001": every(
        *(
            less(flows(number, "99", "pie_dropped"), flows(number, "10", "pie_dropped"))
            for number in ("4", "16")
        )
    ),
    "r002": within(flows("16", "99", "pie_dropped_settled"), 0, 0),
    "r003": within(flows("64", "99", "pie_dropped_settled"), 1),
    "r004": every(
        *(
            ratio(
                flows(number, "99", "pie_backlog_settled"),
                flows(number, "10", "pie_backlog_settled"),
                high=1.5,
            )
            for number in ("4", "16")
        )
    ),
    "r005": less(
        cells("pie_dropped", "one_queue_16_ect", "10/10", "pie"),
        cells("pie_dropped", "one_queue_16_not_ect", "10/10", "pie"),
    ),
    "r006": every(
        *(
            less(
                flows(number, "10", "pie_dropped"),
                cells("pie_dropped", f"not_ect_{number}", "10/10", "fq_pie"),
            )
            for number in ("4", "16")
        )
    ),
}
