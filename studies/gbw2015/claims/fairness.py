"""Section 6.1 of gbw2015: four uploads of 10, 50, 200 and 500 ms round trip (Fig. 6)."""

from typing import Final

from qdisclab.analysis.claims.check import (
    Condition,
    Same,
    every,
    less,
    ratio,
    same_order,
    setting,
    within,
)
from qdisclab.analysis.claims.quantity import Quantity, several
from qdisclab.analysis.claims.verdict import Rule

from .words import AQM, EQUAL, FIFO, FQ, LINKS, LOW, QDISCS, SCHEDULERS, SEVERAL, bounded, order

FAIRNESS: Final = "rtt_fairness"
JAIN, TOTAL = "jain_index", "goodput_total_mbit_s"
FLOWS: Final = tuple(f"goodput_{rtt}ms_mbit_s" for rtt in (10, 50, 200, 500))

PERFECT, ALMOST_PERFECT, VERY_GOOD = 0.99, 0.95, 0.9


@several()
def of(metric: str, link: str, qdisc: str, cc: str = "") -> Quantity:
    """Return the metric in the RTT fairness test."""
    return Quantity(metric, FAIRNESS, link, qdisc, cc)


def _share(link: str, qdisc: str, low: float, high: float) -> Condition:
    """Total goodput, of that of fq_nocodel."""
    return ratio(of(TOTAL, link, qdisc), of(TOTAL, link, "fq_nocodel"), low, high)


AQM_WORSE: Final = order(JAIN, AQM, (FIFO,), experiments=(FAIRNESS,))

RULES: Final[dict[str, Rule]] = {
    "g006": AQM_WORSE,
    "g142": every(
        *(
            same_order(of(JAIN, link, QDISCS, "cubic"), of(JAIN, link, QDISCS, "reno"), low=0.8)
            for link in LINKS
        )
    ),
    "g143": Same("g006"),
    "g144": order(FLOWS[-1], AQM, (FIFO,), experiments=(FAIRNESS,)),
    "g145": less(  # captured at 10/1
        of("drops_together_500ms", "10/1", AQM), of("drops_together_500ms", "10/1", FIFO)
    ),
    "g146": within(of(JAIN, LINKS, FQ), low=VERY_GOOD),
    "g147": within(of(JAIN, LOW, SCHEDULERS), low=PERFECT),  # g149 has the exception
    "g148": order(JAIN, ("fq_codel",), SCHEDULERS, LOW, experiments=(FAIRNESS,)),
    "g149": within(of(JAIN, "100/100", SCHEDULERS), high=PERFECT),
    "g150": less(
        of(FLOWS[0], "10/1", (FIFO, "ared", "fq_codel")),
        of(FLOWS[1], "10/1", (FIFO, "ared", "fq_codel")),
    ),
    "g151": within(of("first_congestions_10ms", "10/1", FIFO), low=SEVERAL),
    "g152": within(of("timeouts_10ms_in_a_row", "10/1", "ared"), low=SEVERAL),
    "g153": within(of("timeouts_10ms", "10/1", "fq_codel"), low=1),
    "g154": setting("arithmetic: a quarter of 1 Mbit/s for 10 ms is 312.5 B"),
    "g155": _share("10/1", "ared", 0.85, 0.90),
    "g156": _share("10/1", "fq_codel", 0.93, 0.97),
    "g157": every(
        *(
            _share(link, qdisc, *EQUAL)
            for link in LINKS
            for qdisc in QDISCS
            if qdisc != "fq_nocodel"
            and (link, qdisc) not in (("10/1", "ared"), ("10/1", "fq_codel"))
        )
    ),
    "g158": setting("no index can leave an axis from 0 to 1.2"),
    "g159": bounded(of(FLOWS, "100/100", QDISCS), from_zero=True),
    "g160": bounded(of(FLOWS, "10/10", QDISCS), from_zero=True),
    "g161": bounded(of(FLOWS, "10/1", QDISCS), from_zero=True),
    "g177": Same("g006"),
    "g220": within(of(JAIN, LINKS, FQ), low=ALMOST_PERFECT),
}
