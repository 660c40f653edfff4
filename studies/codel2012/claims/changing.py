"""Dynamic Links, Consumer Edge and Manage the Right Queue of codel2012 (Fig. 7, the table)."""

from typing import Final

from analysis.claims.check import (
    Checks,
    Condition,
    Lacking,
    apart,
    every,
    less,
    near,
    ratio,
    setting,
    within,
)
from analysis.claims.verdict import Rule

from .words import ALIKE, ALIKE_USE, CLOSE, EDGE, EQUAL, MOSTLY, MUCH, SENT, SPIKE, dynamic, edge

TAIL_DROP: Final = "tail_drop_8bdp"  # at the edge: with CoDel's buffer, as codel.tcl has it
SCHEMES: Final = ("codel", "tail_drop", "red")
STEP_MS: Final = 50.0  # of the series that the first drop is looked for in
FOUND: Final = 1.1  # a printed number is met within a tenth
ABOUT: Final = 0.05  # a share that the paper calls "about" so large


def longest(qdisc: str, ms: float) -> Condition:
    """The longest delay is what the paper prints."""
    return near(dynamic("queue_longest_ms", qdisc), ms, FOUND, 0.0)


def share(small: str, large: str, value: float) -> Condition:
    """The one with the small buffer sends about `value` of what the other one does."""
    return ratio(dynamic(SENT, small), dynamic(SENT, large), value - ABOUT, value + ABOUT)


def percentile(metric: str) -> Rule:
    """CoDel's delay is near the printed one."""
    return lambda claim: near(dynamic(metric, "codel_830"), claim.value_high, ALIKE[1], 0.0)


def beside_tail(metric: str, *bounds: float) -> Checks:
    """CoDel's at the edge, of Tail Drop's, is within the bounds."""
    return ratio(edge(metric, EDGE, "codel"), edge(metric, EDGE, TAIL_DROP), *bounds)


RULES: Final[dict[str, Rule]] = {
    "c016": every(
        ratio(dynamic(SENT, "codel_830"), dynamic(SENT, "tail_drop_830"), 0.9),
        ratio(
            dynamic("queue_p95_ms", "codel_830"),
            dynamic("queue_p95_ms", "tail_drop_830"),
            high=MUCH,
        ),
    ),
    "c034": setting("the buffer of one bandwidth-delay product"),
    "c035": lambda claim: longest("tail_drop_830", 1000 * claim.value_high),
    "c036": within(dynamic("full_percent", "tail_drop_830"), MOSTLY),
    "c037": every(
        less(dynamic("queue_mean_ms", "red_830"), dynamic("queue_mean_ms", "tail_drop_830")),
        less(dynamic("after_falls_ms", "codel_830"), dynamic("after_falls_ms", "red_830")),
    ),
    "c038": ratio(
        dynamic("start_longest_ms", "codel_830"), dynamic("queue_p75_ms", "codel_830"), SPIKE
    ),
    "c039": within(dynamic("fall_1_times", "codel_830"), SPIKE),
    "c040": within(dynamic("fall_2_times", "codel_830"), SPIKE),
    "c041": within(dynamic("fall_3_times", "codel_830"), SPIKE),
    "c042": lambda claim: within(
        dynamic("first_drop_ms", "codel_830"), high=claim.value_high + STEP_MS
    ),
    "c043": lambda claim: ratio(
        dynamic(SENT, "codel_830"), dynamic(SENT, "tail_drop_830"), claim.value_low, EQUAL[1]
    ),
    "c044": every(
        ratio(
            dynamic("elsewhere_megabytes", "codel_830"),
            dynamic("elsewhere_megabytes", "tail_drop_830"),
            *EQUAL,
        ),
        less(
            dynamic("after_rises_megabytes", "codel_830"),
            dynamic("after_rises_megabytes", "tail_drop_830"),
        ),
    ),
    # Buffers of 10 packets cost all schemes about as much of their throughput.
    "c045": lambda claim: every(
        *(share(f"{name}_10", f"{name}_830", 1 - claim.value_high / 100) for name in SCHEMES)
    ),
    "c046": ratio(dynamic(SENT, "codel_10"), dynamic(SENT, "tail_drop_10"), *EQUAL),
    "c047": lambda claim: longest("tail_drop_10", claim.value_high),
    "c048": lambda claim: share("codel_10", "codel_830", claim.value_high / 100),
    "c049": percentile("queue_median_ms"),
    "c050": percentile("queue_p75_ms"),
    "c051": within(dynamic("below_90ms_percent", "codel_830"), 95),
    "c059": apart(
        edge(("queue_dropped_percent", "back_dropped_percent"), EDGE, "codel"),
        edge(("queue_dropped_percent", "back_dropped_percent"), EDGE, TAIL_DROP),
        high=0,
    ),
    "c060": every(
        *map(
            every,
            beside_tail("queue_mean_ms", 0.0, MUCH),
            beside_tail("back_mean_ms", 0.0, MUCH),
            beside_tail(SENT, *ALIKE_USE),
            beside_tail("back_megabytes", *ALIKE_USE),
        )
    ),
    "c061": every(  # `edge_down` is CoDel without traffic in the other direction
        *map(
            every,
            less(
                edge("queue_mean_ms", EDGE, "codel", "edge_down"),
                edge("queue_mean_ms", EDGE, "codel"),
            ),
            less(edge(SENT, EDGE, "codel"), edge(SENT, EDGE, "codel", "edge_down")),
        )
    ),
    "c062": beside_tail(SENT, CLOSE),
    "c063": Lacking("a modem behind the router, whose queue is the full one"),
}
