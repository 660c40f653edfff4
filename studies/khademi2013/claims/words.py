"""What the words and names of khademi2013 stand for, in one place."""

from typing import Final

from analysis.claims.check import Condition, Every, below, every, ratio
from analysis.claims.quantity import Cells, Quantity, several
from analysis.runs.statement import Claim

LINK: Final = "10/10"
TARGETS: Final = (1, 5, 10, 20, 30)  # ms; the paper names these and says "1 to 30"
NEW: Final = ("codel", "pie")
AQMS: Final = (*NEW, "ared")
LOADS: Final = ("flows_4", "flows_16", "flows_64")  # light, moderate, heavy (Sec. 4.1.1)
NUMBERS: Final = ("flows_4", "flows_16", "flows_32", "flows_64")

MEDIAN: Final = "queuing_median_ms"
P10: Final = "queuing_p10_ms"
P90: Final = "queuing_p90_ms"
TAIL: Final = "queuing_tail_ms"  # between the two (Sec. 4.1.1)
MOST: Final = "queuing_most_ms"
OFF: Final = "queuing_off_target_ms"
GOODPUT: Final = "goodput_median_mbit_s"
TOTAL: Final = "goodput_mean_mbit_s"
MARKED: Final = "packets_marked"
DROPPED: Final = "packets_dropped"
SAWTOOTH: Final = "sawtooth_kb"
CONVERGED: Final = "converged_s"
ONE_MEDIAN: Final = "flow_median_ms"
ONE_TAIL: Final = "flow_tail_ms"

#: The paper's goodput has headers: it prints up to 9.73 Mbit/s, and of TCP's payload an Ethernet of
#: 10 Mbit/s carries 9.415 (1448 bytes of 1538), of IP packets 9.753 (1500 bytes). Ours is payload,
#: of which the shaper, which counts 1514 bytes for a packet, leaves 9.564 Mbit/s.
PAYLOAD: Final = (1448 / 1514) / (1500 / 1538)  # ours for a printed goodput of 1, 0.981

EQUAL: Final = (0.97, 1.03)  # the same goodput
MUCH: Final = 0.75  # "significantly", "much shorter": at most so many times the other
LITTLE: Final = 0.9  # "little goodput lost": at least so many times the other
BADLY: Final = 0.95  # "low link utilization": at most so many times that of CoDel
ROUGHLY: Final = (0.75, 1.33)  # "roughly equal"
TENDS: Final = 0.5  # rank correlation: "tends to"
WITH: Final = 0.8  # rank correlation: "proportionally", as gbw2015's for what mirrors another order
POINTS: Final = 0.1  # by which a printed percentage may be missed, as a share


@several("experiment")
def cell(metric: str, experiment: str, aqm: str, target: int = 5, more: str = "") -> Quantity:
    """Return the metric of an AQM with a target, `more` of its name behind it."""
    return Quantity(metric, experiment, LINK, f"{aqm}_{target}ms{more}")


def lower(
    metric: str,
    aqm: str,
    others: tuple[str, ...],
    experiments: tuple[str, ...],
    targets: int | tuple[int, ...] = 5,
    *,
    factor: float | None = None,
) -> Every:
    """The AQM has less than each of `others`, at most `factor` times it where given."""
    less_of = cell(metric, experiments, aqm, targets)
    return every(*below(less_of, cell(metric, experiments, others, targets), factor))


def within_percent(claim: Claim, a: Cells, b: Cells, points: float = POINTS) -> Condition:
    """The first is lower than the second by the printed percentage, give or take `points`."""
    low, high = 1 - claim.value_high / 100 - points, 1 - claim.value_low / 100 + points
    return ratio(a, b, low, high)
