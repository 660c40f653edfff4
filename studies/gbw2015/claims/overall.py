"""Claims of gbw2015 that sum up several experiments: abstract, Sec. 1, 5.4, 6.3 and 8."""

import itertools
from typing import Final

from qdisclab.analysis.claims.check import every, less, ratio, some, widening
from qdisclab.analysis.claims.verdict import Rule

from . import fairness, startup, voip, web
from .words import AQM, FIFO, FQ, GOODPUT, LATENCY, LINKS, MUCH, NEW_AQM, VASTLY, in_rrul, order

FQ_LATENCY: Final = order(LATENCY, ("fq_nocodel", "fq_codel"), (FIFO, *AQM))
FQ_GOODPUT: Final = order(GOODPUT, AQM, FQ)
#: No AQM outperforms fair queueing: that has less latency or more goodput.
UNBEATEN: Final = every(
    *(
        some(
            less(in_rrul(LATENCY, link, fq), in_rrul(LATENCY, link, aqm)),
            less(in_rrul(GOODPUT, link, aqm), in_rrul(GOODPUT, link, fq)),
        )
        for link in LINKS
        for fq in FQ
        for aqm in AQM
    )
)
AQM_LATENCY: Final = order(LATENCY, AQM, (FIFO,))
ARED_DROPS: Final = order(GOODPUT, ("ared",), (FIFO,))
VOIP: Final = (voip.ONE, voip.RRUL)

RULES: Final[dict[str, Rule]] = {
    "g001": every(AQM_LATENCY, fairness.AQM_WORSE),
    "g003": every(UNBEATEN, FQ_LATENCY),
    "g005": every(
        order(LATENCY, (*AQM, *FQ), (FIFO,), factor=MUCH),
        order(voip.DELAY, (*AQM, *FQ), (FIFO,), experiments=VOIP, factor=MUCH),
        web.FASTER,
    ),
    "g009": every(
        order(LATENCY, FQ, (FIFO,), factor=VASTLY),
        order(LATENCY, ("fq_nocodel", "fq_codel"), AQM, factor=VASTLY),
        FQ_GOODPUT,
    ),
    "g137": every(AQM_LATENCY, voip.IMPROVED, ARED_DROPS),
    "g138": order(GOODPUT, ("ared", "pie"), (FIFO, "codel"), ("100/100",)),
    "g139": every(  # but for the large page at 10/10 beside RRUL (g124)
        UNBEATEN,
        order(voip.DELAY, ("fq_nocodel", "fq_codel"), AQM, experiments=VOIP),
        web.UNSURPASSED,
    ),
    "g141": every(
        order(LATENCY, ("fq_codel",), ("sfq",)),
        *(
            widening(
                *(in_rrul(LATENCY, link, name) for link in pair for name in ("sfq", "fq_codel"))
            )
            for pair in itertools.pairwise(LINKS)
        ),
    ),
    "g179": every(
        startup.FAIR_QUEUEING, order(fairness.JAIN, AQM, FQ, experiments=(fairness.FAIRNESS,))
    ),
    "g215": every(AQM_LATENCY, voip.IMPROVED, web.IMPROVED),
    "g216": every(  # "slight": not what the paper calls marked
        ARED_DROPS,
        *ratio(in_rrul(GOODPUT, LINKS, "ared"), in_rrul(GOODPUT, LINKS, FIFO), low=MUCH),
        order(LATENCY, ("ared",), (FIFO, *NEW_AQM)),
    ),
    "g219": every(FQ_LATENCY, FQ_GOODPUT),
}
