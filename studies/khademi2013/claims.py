"""What each claim of khademi2013 means as a condition on measured values.

First what the paper's words and names stand for, then its sections.
"""

from itertools import combinations, pairwise, product
from typing import Final

from qdisclab.analysis.claims.check import (
    Condition,
    Every,
    Lacking,
    apart,
    below,
    every,
    less,
    printed_ratio,
    ratio,
    read_back,
    rising,
    setting,
    some,
    tending,
    widening,
    within,
)
from qdisclab.analysis.claims.quantity import Cells, Grid, Quantity, cells, several
from qdisclab.analysis.claims.verdict import Rule
from qdisclab.analysis.runs.statement import Claim

from .measures.ecn import DIGIT, REPETITIONS

RULES: dict[str, Rule] = {}

LINK: Final = "10/10"
TARGETS: Final = (1, 5, 10, 20, 30)  # ms; the paper names these and says "1 to 30"
NEW: Final = ("codel", "pie")
AQMS: Final = (*NEW, "ared")
LOADS: Final = ("flows_4", "flows_16", "flows_64")  # light, moderate, heavy (Sec. 4.1.1)
NUMBERS: Final = ("flows_4", "flows_16", "flows_32", "flows_64")

MEDIAN, P10, P90 = "queuing_median_ms", "queuing_p10_ms", "queuing_p90_ms"
TAIL: Final = "queuing_tail_ms"  # between the two (Sec. 4.1.1)
MOST: Final = "queuing_most_ms"
GOODPUT, TOTAL = "goodput_median_mbit_s", "goodput_mean_mbit_s"
MARKED, DROPPED = "packets_marked", "packets_dropped"

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


def lower_by(a: Cells, b: Cells, points: float = POINTS) -> Rule:
    """The first is lower than the second by the printed percentage, give or take `points`."""
    return lambda claim: ratio(
        a, b, 1 - claim.value_high / 100 - points, 1 - claim.value_low / 100 + points
    )


# Sections 4 and 4.1.1: one flow, and targets at three loads (Figs. 2 to 4).

ONE: Final = ("flows_1",)
LOW: Final = (1, 5, 10)  # "small values of target delay"
USUAL: Final = (5, 10, 20, 30)  # all but the extreme one


def printed(cells: Cells) -> Rule:
    """All between the printed bounds, as payload, give or take 3 %."""
    low, high = EQUAL
    return lambda claim: every(
        *within(cells, PAYLOAD * (claim.value_low * low), PAYLOAD * (claim.value_high * high))
    )


def by_target(metric: str) -> Every:
    """ARED's rises with the target."""
    return every(*(rising(*cell(metric, load, "ared", TARGETS)) for load in LOADS))


RULES |= {
    "k001": lower(MEDIAN, "ared", NEW, LOADS),
    "k002": printed(cell(TOTAL, "flows_1", "codel", TARGETS)),
    "k003": printed(cell(TOTAL, "flows_1", "pie", TARGETS)),
    "k004": printed(cell(TOTAL, "flows_1", "ared", TARGETS)),
    "k005": every(
        *(within(cell(MEDIAN, "flows_1", aqm, t), high=t) for aqm in AQMS for t in USUAL)
    ),
    "k006": every(lower(MOST, "ared", NEW, ONE, TARGETS), lower(TAIL, "ared", NEW, ONE, TARGETS)),
    "k007": less(
        cell(TOTAL, "flows_1", ("pie", "ared"), TARGETS), cell(TOTAL, "flows_1", "codel", TARGETS)
    ),
    "k008": lower(TOTAL, "ared", ("codel",), ONE, LOW, factor=BADLY),
    "k009": rising(*(cell((P10, MEDIAN, P90), load, NEW, TARGETS) for load in LOADS)),
    "k010": lower("queuing_off_target_ms", "ared", NEW, LOADS, TARGETS),
    "k011": every(*map(by_target, (P10, MEDIAN, P90))),
    "k012": ratio(cell(MEDIAN, LOADS[1:], NEW, 5), cell(MEDIAN, LOADS[1:], NEW, 30), low=0.5),
    "k013": lower(TAIL, "ared", NEW, LOADS[2:], TARGETS),
    "k014": ratio(
        cell(TAIL, LOADS, "codel", (1, 10, 20, 30)), cell(TAIL, LOADS, "codel", 5), *ROUGHLY
    ),
    "k015": every(
        *(tending(*cell(TAIL, load, "pie", TARGETS[::-1]), low=TENDS) for load in LOADS[1:])
    ),
    "k016": lower(TAIL, "ared", ("pie",), LOADS[2:], LOW, factor=0.5),
    "k017": every(lower(TAIL, "ared", NEW, LOADS, TARGETS, factor=MUCH), by_target(TAIL)),
    "k018": printed(cell(GOODPUT, "flows_4", "ared", 1)),
    "k019": printed(cell(GOODPUT, "flows_4", "ared", USUAL)),
    "k020": printed(cell(GOODPUT, "flows_4", "pie", TARGETS)),
    "k021": printed(cell(GOODPUT, "flows_4", "codel", TARGETS)),
    "k022": every(
        *(
            ratio(cell(GOODPUT, "flows_16", "ared", t), cell(GOODPUT, "flows_16", aqm, t), *EQUAL)
            for aqm in NEW
            for t in USUAL
        )
    ),
    "k023": printed(cell(GOODPUT, "flows_64", AQMS, TARGETS)),
}


# Sections 4.1.2 and 4.1.3: intervals and base RTTs (Figs. 5 to 8).

CODEL: Final = ("_interval_5ms", "_interval_30ms", "")  # 5, 30 and 100 ms
PIE: Final = ("_tupdate_5ms", "", "_tupdate_100ms")  # 5, 30 and 100 ms
LIGHT: Final = LOADS[0]
SHORT: Final = tuple(f"{load}_rtt_5ms" for load in LOADS)
LONG: Final = tuple(f"{load}_rtt_500ms" for load in LOADS)


def by_rtt(metric: str, aqm: str, load: str) -> Condition:
    """It falls with the base RTT."""
    return rising(*cell(metric, (f"{load}_rtt_500ms", load, f"{load}_rtt_5ms"), aqm))


def equal_goodput(experiments: tuple[str, ...], low: float, high: float) -> Condition:
    """ARED's goodput, of CoDel's and of PIE's."""
    return ratio(cell(GOODPUT, experiments, "ared"), cell(GOODPUT, experiments, NEW), low, high)


def not_rising(load: str, shorter: str, longer: str) -> Condition:
    """PIE's median queuing delay is not less with the shorter interval."""
    return apart(cell(MEDIAN, load, "pie", 5, shorter), cell(MEDIAN, load, "pie", 5, longer), low=0)


def _most_fall(load: str) -> Condition:
    """Of two of the three AQMs median queuing delay and goodput fall with the base RTT."""
    each = [every(by_rtt(MEDIAN, aqm, load), by_rtt(GOODPUT, aqm, load)) for aqm in AQMS]
    return some(*(every(*pair) for pair in combinations(each, 2)))


RULES |= {
    "k024": lower_by(
        cell(MEDIAN, LOADS, "codel", 5, CODEL[:2]), cell(MEDIAN, LOADS, "codel", 5, CODEL[2:])
    ),
    "k025": lower_by(
        cell(GOODPUT, LIGHT, "codel", 5, CODEL[0]), cell(GOODPUT, LIGHT, "codel"), 0.02
    ),
    "k026": every(
        rising(*cell(MEDIAN, LIGHT, "pie", 5, PIE)), rising(*cell(GOODPUT, LIGHT, "pie", 5, PIE))
    ),
    # At light load the delay rises with the interval, at heavy load it does not always.
    "k027": every(
        rising(*cell(MEDIAN, LIGHT, "pie", 5, PIE)),
        some(*(not_rising(LOADS[2], *pair) for pair in pairwise(PIE))),
    ),
    "k028": lower_by(cell(MEDIAN, LIGHT, "pie", 5, PIE[0]), cell(MEDIAN, LIGHT, "pie")),
    "k029": lower_by(cell(GOODPUT, LIGHT, "pie", 5, PIE[0]), cell(GOODPUT, LIGHT, "pie"), 0.02),
    "k030": every(*(_most_fall(load) for load in LOADS)),
    "k031": every(lower(MEDIAN, "ared", NEW, SHORT, factor=MUCH), equal_goodput(SHORT, *EQUAL)),
    "k032": every(
        lower(MEDIAN, "ared", NEW, (*LOADS, *LONG), factor=MUCH),
        equal_goodput((*LOADS, *LONG), LITTLE, 1.1),
    ),
    "k033": every(  # of the long one, beside either of the others
        *(
            less(cell(metric, f"{load}{rtt}", AQMS), cell(metric, f"{load}_rtt_500ms", AQMS))
            for metric in ("sawtooth_kb", "converged_s")
            for load in LOADS
            for rtt in ("_rtt_5ms", "")
        )
    ),
    "k088": ratio(  # "only when congestion level is light"
        cell(GOODPUT, LOADS[1:], "codel", 5, CODEL[:2]),
        cell(GOODPUT, LOADS[1:], "codel"),
        low=EQUAL[0],
    ),
}


# Section 5: downlink and mixed traffic over 802.11g (Figs. 9 and 10).

WIRE: Final = "100/100"  # behind the access point
DOWN: Final = ("wifi_down_4", "wifi_down_16", "wifi_down_64")  # light, moderate, heavy
MIXED: Final = ("wifi_mixed_4", "wifi_mixed_16", "wifi_mixed_64")

RTT: Final = "rtt_median_ms"  # of downloads
UP_RTT: Final = "up_rtt_median_ms"  # of uploads
ACK_WAIT: Final = "ack_wait_median_ms"  # of uploads' acknowledgments at the AQM

WITHOUT_HEADERS: Final = 1448 / 1500  # payload of IP packets, which the paper counts, as above
BASE_MS: Final = 100.0
ABOUT: Final = (0.9, 1.1)  # about a number of the text: "1.15 sec", "18.6 Mbps"
ALMOST_CONSTANT: Final = (0.75, 1.33)  # "stay at an almost constant level"
CONTROLLED_MS: Final = 100.0  # "control latency well": the load at most doubles the base RTT
MOSTLY: Final = 0.5  # what a delay "comes from" is at least half of it
DELAYS_MS: Final = (200.0, 10_000.0)  # "hundreds of milliseconds to multiple seconds"


@several("experiment")
def air(metric: str, experiment: str, aqm: str) -> Quantity:
    """Return the metric of an AQM on the access point; its target is 5 ms."""
    return Quantity(metric, experiment, WIRE, f"{aqm}_5ms")


def about(metric: str, experiment: str, aqm: str, scale: float = 1.0) -> Rule:
    """The printed number, `scale` times it in the metric's unit."""
    low, high = ABOUT
    return lambda claim: within(
        air(metric, experiment, aqm), scale * claim.value * low, scale * claim.value * high
    )


MANY: Final = MIXED[1:]

RULES |= {
    "k034": within(air("up_rtt_p90_ms", MIXED, AQMS), *DELAYS_MS),  # of uploads
    "k035": Lacking("one flow and no delay: testbed/wifi_goodput has 24.8 Mbit/s", "metric"),
    "k036": every(
        *ratio(air(MEDIAN, DOWN[0], "ared"), air(MEDIAN, DOWN[0], NEW), high=MUCH),
        *less(air(GOODPUT, DOWN[0], "ared"), air(GOODPUT, DOWN[0], NEW)),
    ),
    "k037": about(GOODPUT, DOWN[0], "ared", WITHOUT_HEADERS),
    "k038": about(GOODPUT, DOWN[0], "codel", WITHOUT_HEADERS),
    "k039": about(GOODPUT, DOWN[0], "pie", WITHOUT_HEADERS),
    "k040": rising(*air(GOODPUT, DOWN, "ared")),
    "k041": within(air(RTT, DOWN, AQMS), high=BASE_MS + CONTROLLED_MS),
    # Sec. 5, mixed traffic
    "k042": lambda claim: within(air(UP_RTT, MIXED[0], AQMS), claim.value_low, claim.value_high),
    "k043": about(UP_RTT, MIXED[1], "codel", 1000),
    "k044": about(UP_RTT, MIXED[1], "ared", 1000),
    "k045": rising(*(air(UP_RTT, load, ("codel", "ared")) for load in MIXED)),
    "k046": ratio(air(UP_RTT, MANY, "pie"), air(UP_RTT, MIXED[0], "pie"), *ALMOST_CONSTANT),
    # Of an upload's round trip most is the wait of its acknowledgment at the AQM.
    "k047": ratio(
        air(ACK_WAIT, MANY, ("codel", "ared")), air(UP_RTT, MANY, ("codel", "ared")), low=MOSTLY
    ),
    # Whose drops cause it has more of it than a queue that hardly drops.
    "k048": less(cells(UP_RTT, MANY, WIRE, "pfifo_fast"), air(UP_RTT, MANY, ("codel", "ared"))),
    "k049": ratio(air(UP_RTT, MANY, "pie"), air(UP_RTT, MANY, ("codel", "ared")), high=MUCH),
}


# Section 6: CoDel and FQ-CoDel (Figs. 11 and 12).

FQ: Final = "fq_codel"


def pair(metric: str, target: int = 5) -> tuple[Grid, Grid]:
    """FQ-CoDel's and CoDel's at each number of flows."""
    return cell(metric, NUMBERS, FQ, target), cell(metric, NUMBERS, "codel", target)


def increased(claim: Claim, target: int) -> Condition:
    """Somewhere, and nowhere by more than printed."""
    fq, codel = pair(P90, target)
    return every(
        some(*less(codel, fq)), *ratio(fq, codel, high=1 + claim.value_high / 100 + POINTS)
    )


RULES |= {
    "k050": tending(
        *(cell((P10, MEDIAN, P90), where, "codel", (5, 20)) for where in NUMBERS), low=WITH
    ),
    "k051": every(
        *(lower(metric, FQ, ("codel",), NUMBERS, (5, 20), factor=0.9) for metric in (P10, MEDIAN))
    ),
    "k052": lower_by(*pair(P10)),
    "k053": lower_by(*pair(MEDIAN)),
    "k054": lambda claim: increased(claim, 5),
    "k055": lambda claim: increased(claim, 20),
    "k056": every(
        lower(MEDIAN, FQ, ("codel",), NUMBERS, (5, 20)),
        *(part for target in (5, 20) for part in less(*pair(TAIL, target)[::-1])),
    ),
    "k057": every(*less(*pair("flow_median_ms")), *less(*pair("flow_tail_ms")[::-1])),
    "k058": widening(
        cell(MEDIAN, NUMBERS[0], "codel"),
        cell(MEDIAN, NUMBERS[0], FQ),
        cell(MEDIAN, NUMBERS[-1], "codel"),
        cell(MEDIAN, NUMBERS[-1], FQ),
    ),
}


# Sections 7 and 8: ECN (Figs. 13 and 14, Table 5), and what is concluded.

SENDERS: Final = 4
ROWS: Final = (1, 4, 8, 16)  # flows a sender
COLUMNS: Final = ("codel", "pie", "ared")
FIRST: Final = 65  # k065 is the first cell of Table 5, row by row


@several("experiment")
def marked(metric: str, experiment: str, aqm: str) -> Quantity:
    """Return the metric of an AQM that marks."""
    return Quantity(metric, f"{experiment}_ecn", LINK, f"{aqm}_5ms_ecn")


def table_5(row: int, aqm: str) -> Rule:
    """Marks with ECN per drop without it are those of a cell of Table 5."""
    where = f"flows_{SENDERS * row}"
    of = marked(MARKED, where, aqm), cell(DROPPED, where, aqm)
    return lambda claim: printed_ratio(*of, claim.value, DIGIT, repetitions=REPETITIONS)


def _between(aqms: tuple[str, ...], rows: tuple[int, ...]) -> Rule:
    """Within the printed bounds, a twentieth more either way: the table rounds to them."""
    where = tuple(f"flows_{SENDERS * row}" for row in rows)
    of = marked(MARKED, where, aqms), cell(DROPPED, where, aqms)
    return lambda claim: ratio(*of, 0.95 * claim.value_low, 1.05 * claim.value_high)


TABLE_5: Final = {
    f"k{FIRST + index:03d}": table_5(*place) for index, place in enumerate(product(ROWS, COLUMNS))
}

RULES |= {
    "k059": every(
        *less(marked(MEDIAN, LOADS[0], "ared"), marked(MEDIAN, LOADS[0], NEW)),
        widening(
            marked(MEDIAN, LOADS[0], "ared"),
            cell(MEDIAN, LOADS[0], "ared"),
            marked(MEDIAN, LOADS[2], "ared"),
            cell(MEDIAN, LOADS[2], "ared"),
        ),
    ),
    "k060": ratio(marked(MEDIAN, LOADS[2], NEW), cell(MEDIAN, LOADS[2], NEW), low=1 / MUCH),
    "k061": ratio(marked(TAIL, LOADS[2], NEW), cell(TAIL, LOADS[2], NEW), high=MUCH),
    "k062": rising(*marked(GOODPUT, LOADS, "ared")),
    "k063": less(marked(MARKED, LOADS, NEW), marked(MARKED, LOADS, "ared")),
    "k064": ratio(marked(GOODPUT, LOADS[:2], "ared"), cell(GOODPUT, LOADS[:2], "ared"), high=BADLY),
    **TABLE_5,
    "k077": _between(("ared",), ROWS),
    "k078": _between(NEW, ROWS[:3]),
    # Less delay than both in all but those cases; of these, in mixed traffic more than one of them.
    "k079": every(
        lower(MEDIAN, "ared", NEW, LOADS),
        *less(air(RTT, DOWN, "ared"), air(RTT, DOWN, NEW)),
        *(some(*less(air(UP_RTT, load, NEW), air(UP_RTT, load, "ared"))) for load in MIXED),
    ),
    "k080": every(
        lower(MEDIAN, "ared", NEW, LOADS, TARGETS), lower(MEDIAN, "ared", NEW, (*SHORT, *LONG))
    ),
    "k081": read_back("default of PIE's update interval"),
    "k082": read_back("default of PIE's target"),
    "k083": read_back("default of PIE's alpha"),
    "k084": read_back("default of PIE's beta"),
    "k085": setting("default of ARED's interval"),
    "k086": setting("default of ARED's decrease"),
    "k087": setting("contradicted by Sec. 5 of the same report"),
}
