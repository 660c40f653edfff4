"""What each claim of codel2012 means as a condition on measured values.

First what the paper's words and names stand for, then its sections.
"""

from typing import Final

from qdisclab.analysis.claims.check import (
    Checks,
    Condition,
    Every,
    Lacking,
    Same,
    apart,
    every,
    less,
    near,
    ratio,
    setting,
    some,
    steadier,
    widening,
    within,
)
from qdisclab.analysis.claims.quantity import Cells, Quantity, cells, several
from qdisclab.analysis.claims.verdict import Rule

RULES: dict[str, Rule] = {}

FAST: Final = ("3/3", "10/10", "45/45", "100/100")
SLOW: Final = ("0.128/0.128", "0.256/0.256", "0.512/0.512", "1.5/1.5")
EDGE: Final = ("0.512/0.512", "1.5/1.5")
RTTS: Final = (10, 30, 100, 200, 500)  # ms
LOW_RTTS: Final = (30, 50, 100)
NOMINAL: Final = "100/100"  # of the dynamic link

DELAY, USE = "queue_median_ms", "utilisation_percent"
SHARED, SENT = "drop_share_jain", "queue_megabytes"

EQUAL: Final = (0.97, 1.03)  # "identical"
CLOSE: Final = 0.95  # "very close": at least so many times; "slightly" less
ALIKE: Final = (1 / 1.5, 1.5)  # delays that are "similar", or "approach" a value
ALIKE_USE: Final = (0.9, 1.1)  # utilisations that are
MUCH: Final = 0.75  # "noticeably", "much": at most so many times
FAR: Final = 0.5  # "much less delay", "low"
GOOD_USE: Final = 80.0  # percent: "good" utilisation
SPIKE: Final = 2.0  # times what was before
MOSTLY: Final = 75.0  # percent of the time: "generally"


@several()
def static(metric: str, rtt: int, link: str, qdisc: str = "codel", cc: str = "") -> Quantity:
    """Return the metric over the loads of one RTT; CoDel's unless said otherwise."""
    return Quantity(metric, f"static_rtt_{rtt}ms", link, qdisc, cc)


@several("mtu", "rtt")
def low(metric: str, mtu: int, rtt: int, link: str, qdisc: str = "") -> Quantity:
    """Return the metric over the loads of one RTT and MTU at a low rate; CoDel's unless said
    otherwise."""
    name = qdisc or ("codel" if mtu == 1500 else "codel_mtu500")
    return Quantity(metric, f"low_{mtu}_rtt_{rtt}ms", link, name)


def constant(metric: str, qdisc: str | tuple[str, ...] = "codel") -> Cells:
    """Return the metric with CoDel's constants or others, over the loads at an RTT of 100 ms."""
    return cells(metric, "constants", FAST, qdisc)


@several()
def dynamic(metric: str, qdisc: str = "codel_830") -> Quantity:
    """Return the metric of the link whose rate changes; of CoDel's large buffer unless said
    otherwise."""
    return Quantity(metric, "dynamic", NOMINAL, qdisc)


@several("link")
def edge(metric: str, link: str, qdisc: str, experiment: str = "edge") -> Quantity:
    """Return the metric at the consumer edge."""
    return Quantity(metric, experiment, link, qdisc)


def both(*checks: Checks) -> Every:
    """In each cell all of `checks` hold."""
    return every(*map(every, *checks))


# Understanding Queues (Figs 1 to 4): one connection with a fixed window.

FULL, EXACT, AT_ONCE = "window_25", "window_20", "window_20_at_once"
TWICE: Final = "window_40_at_once"  # the queue of Fig. 4
FEWER: Final = "window_30_at_once"

MARGIN: Final = 0.2  # of a wait in ms and a number of packets: a fiftieth and a fifth of a packet
AS_FAST: Final = (0.99, 1.01)
NEVER: Final = 1.0  # percent of the time
UNDERUSED: Final = 0.95  # times what was sent: at most


def window(metric: str, experiment: str = FULL) -> Quantity:
    """Return the metric of one of the connections."""
    return Quantity(metric, experiment, "1.2/1.2", "fifo_100")


def printed(metric: str) -> Rule:
    """The metric is the number that the claim prints."""
    return lambda claim: within(window(metric), claim.value - MARGIN, claim.value + MARGIN)


RULES |= {
    "c001": printed("second_waits_ms"),
    "c002": printed("third_waits_ms"),
    "c003": within(window("arrivals_by_departures"), *AS_FAST),
    "c004": lambda claim: apart(
        window("queue_most_packets"), window("queue_least_packets"), high=2 * claim.value
    ),
    "c005": printed("pipe_packets"),
    "c006": printed("excess_packets"),
    "c007": lambda claim: every(
        within(window("queue_least_packets"), low=claim.value_low),
        within(window("queue_most_packets"), high=claim.value_high),
    ),
    "c008": every(
        less(window("queue_most_packets", EXACT), window("queue_least_packets")),
        ratio(window("busy_percent"), window("busy_percent", EXACT), *AS_FAST),
    ),
    "c009": within(window("empty_percent", AT_ONCE), high=NEVER),
    "c010": every(
        less(window("queue_mean_packets", FEWER), window("queue_mean_packets", TWICE)),
        ratio(window("busy_percent", FEWER), window("busy_percent", TWICE), high=UNDERUSED),
    ),
}


# Static Link Rates and Dropping the Right Packets (Figs. 5, 6, 8 and 9).

FASTER: Final = FAST[1:]  # "10Mbps and above"
LONGEST: Final = 1000  # ms
USUAL: Final = (10, 30, 100, 200)  # all but 500 ms

#: CoDel uses the link better than RED does.
MORE_USED: Final = less(static(USE, RTTS, FAST, "red"), static(USE, RTTS, FAST))
#: CoDel's drops are shared in better proportion than RED's.
SHARED_MORE_FAIRLY: Final = less(static(SHARED, RTTS, FAST, "red"), static(SHARED, RTTS, FAST))

RULES |= {
    "c011": Lacking("an AQM that acts on the length of the queue, beside CoDel"),
    "c012": some(*less(constant(USE, "codel_1ms"), constant(USE))),
    "c013": ratio(constant(USE, ("codel_10ms", "codel_20ms")), constant(USE), high=EQUAL[1]),
    "c014": within(static(USE, (*RTTS, LONGEST), FAST), GOOD_USE),
    "c015": every(
        *(less(static(USE, 500, link), static(USE, rtt, link)) for rtt in USUAL for link in FAST)
    ),
    "c017": setting("a judgement of all that follows"),
    "c018": ratio(
        static(USE, 100, FAST, cc="reno"), static(USE, 100, FAST, cc="cubic"), CLOSE, 1.0
    ),
    "c019": both(
        ratio(constant(USE, "codel_1bdp"), constant(USE), *EQUAL),
        ratio(constant(DELAY, "codel_1bdp"), constant(DELAY), *ALIKE),
    ),
    "c020": lambda claim: within(
        low(DELAY, 1500, LOW_RTTS, SLOW, "red"), claim.value_low, claim.value_high
    ),
    # With bulk transfers alone CoDel's median delay is near its target, with bursty ones above.
    "c021": lambda claim: near(
        static("bulk_median_ms", USUAL, FAST), claim.value_high, ALIKE[1], 0.0
    ),
    # On faster links the delay of a burst "is small compared with the target".
    "c022": lambda claim: within(static("bursty_median_ms", USUAL, FAST[0]), low=claim.value_low),
    "c064": steadier(static(DELAY, USUAL, "100/100"), static(DELAY, USUAL, "3/3")),
    "c065": Lacking("utilisation by load, and not over all loads", "metric"),
    "c023": setting("arithmetic: 1500 bytes at 100 Mbit/s"),
    "c024": setting("arithmetic: 1500 bytes at 3 Mbit/s"),
    "c025": ratio(static(DELAY, RTTS, "100/100"), static(DELAY, RTTS, "3/3"), high=MUCH),
    "c026": within(static(USE, USUAL, FAST), GOOD_USE),
    "c027": both(
        ratio(static(DELAY, RTTS, "3/3", "red"), static(DELAY, RTTS, "3/3"), *ALIKE),
        ratio(static(USE, RTTS, "3/3", "red"), static(USE, RTTS, "3/3"), *ALIKE_USE),
    ),
    "c028": every(
        *less(static(USE, RTTS, FASTER, "red"), static(USE, RTTS, FASTER)),
        *less(static(DELAY, RTTS, FASTER, "red"), static(DELAY, RTTS, FASTER)),
    ),
    "c029": ratio(static(USE, RTTS, FASTER, "red"), static(USE, RTTS, FASTER), high=CLOSE),
    "c030": every(
        *less(low(DELAY, 500, LOW_RTTS, SLOW), low(DELAY, 1500, LOW_RTTS, SLOW)),
        *widening(
            low(DELAY, 1500, LOW_RTTS, "1.5/1.5"),
            low(DELAY, 500, LOW_RTTS, "1.5/1.5"),
            low(DELAY, 1500, LOW_RTTS, "0.128/0.128"),
            low(DELAY, 500, LOW_RTTS, "0.128/0.128"),
        ),
    ),
    "c031": within(low(USE, (500, 1500), LOW_RTTS, SLOW), GOOD_USE),
    # The two are one statement: more than 60 % were to be had only with more than 10 % dropped.
    "c032": within(cells("used_dropped_percent", "low_web", SLOW, "codel"), 10),
    "c033": Same("c032"),
    "c052": ratio(
        static(DELAY, RTTS, FAST, ("codel", "red")),
        static(DELAY, RTTS, FAST, "tail_drop"),
        high=FAR,
    ),
    "c053": every(*MORE_USED, *SHARED_MORE_FAIRLY),
    # CoDel nearly uses the link as Tail Drop does, with at most half of its delay.
    "c054": both(
        ratio(static(USE, USUAL, FAST), static(USE, USUAL, FAST, "tail_drop"), CLOSE),
        ratio(static(DELAY, USUAL, FAST), static(DELAY, USUAL, FAST, "tail_drop"), high=FAR),
    ),
    "c055": both(
        ratio(static(USE, 200, FAST), static(USE, 30, FAST), CLOSE, 1 / CLOSE),
        ratio(static(DELAY, 200, FAST), static(DELAY, 30, FAST), *ALIKE),
    ),
    "c056": every(
        *ratio(static(USE, 500, FAST), static(USE, 10, FAST), CLOSE, 1.0),
        *steadier(static(USE, 10, FAST), static(USE, 200, FAST)),
    ),
    "c057": steadier(static(USE, USUAL, FAST), static(USE, 500, FAST)),
    "c058": SHARED_MORE_FAIRLY,
}


# Dynamic Links, Consumer Edge and Manage the Right Queue (Fig. 7, the table).

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
    return lambda claim: near(dynamic(metric), claim.value_high, ALIKE[1], 0.0)


def beside_tail(metric: str, *bounds: float) -> Checks:
    """CoDel's at the edge, of Tail Drop's, is within the bounds."""
    return ratio(edge(metric, EDGE, "codel"), edge(metric, EDGE, TAIL_DROP), *bounds)


RULES |= {
    "c016": every(
        ratio(dynamic(SENT), dynamic(SENT, "tail_drop_830"), 0.9),
        ratio(dynamic("queue_p95_ms"), dynamic("queue_p95_ms", "tail_drop_830"), high=MUCH),
    ),
    "c034": setting("the buffer of one bandwidth-delay product"),
    "c035": lambda claim: longest("tail_drop_830", 1000 * claim.value_high),
    "c036": within(dynamic("full_percent", "tail_drop_830"), MOSTLY),
    "c037": every(
        less(dynamic("queue_mean_ms", "red_830"), dynamic("queue_mean_ms", "tail_drop_830")),
        less(dynamic("after_falls_ms"), dynamic("after_falls_ms", "red_830")),
    ),
    "c038": ratio(dynamic("start_longest_ms"), dynamic("queue_p75_ms"), SPIKE),
    **{f"c0{38 + fall}": within(dynamic(f"fall_{fall}_times"), SPIKE) for fall in (1, 2, 3)},
    "c042": lambda claim: within(dynamic("first_drop_ms"), high=claim.value_high + STEP_MS),
    "c043": lambda claim: ratio(
        dynamic(SENT), dynamic(SENT, "tail_drop_830"), claim.value_low, EQUAL[1]
    ),
    "c044": every(
        ratio(
            dynamic("elsewhere_megabytes"), dynamic("elsewhere_megabytes", "tail_drop_830"), *EQUAL
        ),
        less(dynamic("after_rises_megabytes"), dynamic("after_rises_megabytes", "tail_drop_830")),
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
    "c051": within(dynamic("below_90ms_percent"), 95),
    "c059": apart(
        edge(("queue_dropped_percent", "back_dropped_percent"), EDGE, "codel"),
        edge(("queue_dropped_percent", "back_dropped_percent"), EDGE, TAIL_DROP),
        high=0,
    ),
    "c060": both(
        beside_tail("queue_mean_ms", 0.0, MUCH),
        beside_tail("back_mean_ms", 0.0, MUCH),
        beside_tail(SENT, *ALIKE_USE),
        beside_tail("back_megabytes", *ALIKE_USE),
    ),
    "c061": both(  # `edge_down` is CoDel without traffic in the other direction
        less(
            edge("queue_mean_ms", EDGE, "codel", "edge_down"), edge("queue_mean_ms", EDGE, "codel")
        ),
        less(edge(SENT, EDGE, "codel"), edge(SENT, EDGE, "codel", "edge_down")),
    ),
    "c062": beside_tail(SENT, CLOSE),
    "c063": Lacking("a modem behind the router, whose queue is the full one"),
}
