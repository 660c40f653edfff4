"""What the paper's words and names stand for, in one place."""

from math import inf
from typing import Final

from qdisclab.analysis.claims.check import Every, below, every, within
from qdisclab.analysis.claims.quantity import Cells, Quantity, several
from qdisclab.analysis.claims.verdict import Rule

LINKS: Final = ("100/100", "10/10", "10/1")
LOW: Final = ("10/10", "10/1")  # "low(er) bandwidths"
FIFO: Final = "pfifo_fast"
AQM: Final = ("ared", "pie", "codel")
NEW_AQM: Final = ("pie", "codel")
FQ: Final = ("sfq", "fq_nocodel", "fq_codel")
SCHEDULERS: Final = ("sfq", "fq_nocodel")  # "AQM-less", "pure schedulers"
QDISCS: Final = (FIFO, *AQM, *FQ)
BUT_ARED: Final = tuple(name for name in QDISCS if name != "ared")

LATENCY: Final = "induced_latency_ms"
DOWN, UP = "goodput_download_mbit_s", "goodput_upload_mbit_s"
GOODPUT: Final = "goodput"
"""Of RRUL, that of the direction which Fig. 2 draws: flent's plot of one direction has the upload,
and at 10/1, where the figure has both, the text is about the download (docs/metrics.md)."""
DRAWN: Final = {"100/100": UP, "10/10": UP, "10/1": DOWN}

MUCH: Final = 0.75  # "significantly", "marked": at most so many times the other
VASTLY: Final = 0.5
SLIGHTLY: Final = 0.95  # "a tiny bit": less than the other, but not less than so many times it
EQUAL: Final = (0.97, 1.03)  # "identical" goodput: within the 3 % that README's figures allow
SPIKE: Final = 2.0  # times the steady latency
PRACTICALLY_ZERO: Final = 0.05  # of the FIFO's
SEVERAL: Final = 2.0


#: What Fig. 2 draws, as the median of the runs' means; other figures draw means of runs.
FIG_2: Final = (LATENCY, DOWN, UP)


@several("experiment")
def in_rrul(metric: str, link: str, qdisc: str, experiment: str = "rrul") -> Quantity:
    """Return the metric in the RRUL test, or in another."""
    metric = DRAWN[link] if metric == GOODPUT else metric
    median = experiment == "rrul" and metric in FIG_2
    return Quantity(metric, experiment, link, qdisc, median=median)


def order(
    metric: str,
    smaller: tuple[str, ...],
    greater: tuple[str, ...],
    links: tuple[str, ...] = LINKS,
    *,
    experiments: tuple[str, ...] = ("rrul",),
    factor: float | None = None,
) -> Every:
    """Each of the qdiscs `smaller` has less than each of `greater` on each of `links`, or, where
    there is a `factor`, at most so many times it."""
    less_of = in_rrul(metric, links, smaller, experiments)
    return every(*below(less_of, in_rrul(metric, links, greater, experiments), factor))


def bounded(cells: Cells, *, from_zero: bool = False) -> Rule:
    """All values are within the plot. With `from_zero` an axis from 0 has one bound: nothing can be
    less, but the interval over a few seeds may well go there."""
    lowest = -inf if from_zero else 0.0
    return lambda claim: within(cells, claim.value_low or lowest, claim.value_high)
