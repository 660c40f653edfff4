"""Static Link Rates and Dropping the Right Packets of codel2012 (Figs. 5, 6, 8 and 9)."""

from typing import Final

from analysis.claims.check import (
    Condition,
    Lacking,
    Quantity,
    Same,
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
from analysis.claims.verdict import Rule
from analysis.runs.statement import Claim

from .words import (
    ALIKE,
    ALIKE_USE,
    CLOSE,
    DELAY,
    EQUAL,
    FAR,
    FAST,
    GOOD_USE,
    LOW_RTTS,
    MUCH,
    RTTS,
    SHARED,
    SLOW,
    USE,
    low,
    static,
)

FASTER: Final = FAST[1:]  # "10Mbps and above"
LONGEST: Final = 1000  # ms
USUAL: Final = (10, 30, 100, 200)  # all but 500 ms


def constant(metric: str, link: str, qdisc: str) -> Quantity:
    """The metric with other constants of CoDel, over the loads at an RTT of 100 ms."""
    return Quantity(metric, "constants", link, qdisc)


def at_each(rtts: tuple[int, ...], links: tuple[str, ...], *conditions: object) -> Condition:
    """Every one of `conditions`, functions of an RTT and a link, at each of these."""
    found = [one(rtt, link) for one in conditions for rtt in rtts for link in links]  # type: ignore[operator]
    return every(*found)


def shared_more_fairly(rtt: int, link: str) -> Condition:
    """CoDel's drops are shared in better proportion than RED's."""
    return less(static(SHARED, rtt, link, "red"), static(SHARED, rtt, link, "codel"))


def more_used(rtt: int, link: str) -> Condition:
    """CoDel uses the link better than RED does."""
    return less(static(USE, rtt, link, "red"), static(USE, rtt, link, "codel"))


def low_delay(rtt: int, link: str) -> Condition:
    """CoDel and RED have at most half of Tail Drop's delay."""
    tail = static(DELAY, rtt, link, "tail_drop")
    return every(
        *(ratio(static(DELAY, rtt, link, name), tail, high=FAR) for name in ("codel", "red"))
    )


def nearly_tail_drop(rtt: int, link: str) -> Condition:
    """CoDel nearly uses the link as Tail Drop does, with at most half of its delay."""
    codel, tail = (static(USE, rtt, link, name) for name in ("codel", "tail_drop"))
    fast, slow = (static(DELAY, rtt, link, name) for name in ("codel", "tail_drop"))
    return every(ratio(codel, tail, CLOSE), ratio(fast, slow, high=FAR))


def approaches(claim: Claim) -> Condition:
    """With bulk transfers alone CoDel's median delay is near its target."""
    return at_each(
        USUAL,
        FAST,
        lambda rtt, link: near(
            static("bulk_median_ms", rtt, link, "codel"), claim.value_high, ALIKE[1], 0.0
        ),
    )


def above(claim: Claim) -> Condition:
    """With bursty traffic it is above its target."""
    bound = claim.value_low
    return at_each(
        USUAL,
        FAST,
        lambda rtt, link: within(static("bursty_median_ms", rtt, link, "codel"), low=bound),
    )


def excessive(claim: Claim) -> Condition:
    """RED's median delays at low rates lie within the printed bounds."""
    return every(
        *(
            within(low(DELAY, 1500, rtt, link, "red"), claim.value_low, claim.value_high)
            for rtt in LOW_RTTS
            for link in SLOW
        )
    )


RULES: Final[dict[str, Rule]] = {
    "c011": Lacking("an AQM that acts on the length of the queue, beside CoDel"),
    "c012": some(
        *(less(constant(USE, link, "codel_1ms"), constant(USE, link, "codel")) for link in FAST)
    ),
    "c013": every(
        *(
            ratio(constant(USE, link, qdisc), constant(USE, link, "codel"), high=EQUAL[1])
            for link in FAST
            for qdisc in ("codel_10ms", "codel_20ms")
        )
    ),
    "c014": at_each(
        (*RTTS, LONGEST), FAST, lambda rtt, link: within(static(USE, rtt, link, "codel"), GOOD_USE)
    ),
    "c015": every(
        *(
            less(static(USE, 500, link, "codel"), static(USE, rtt, link, "codel"))
            for rtt in USUAL
            for link in FAST
        )
    ),
    "c017": setting("a judgement of all that follows"),
    "c018": every(
        *(
            ratio(
                static(USE, 100, link, "codel", "reno"),
                static(USE, 100, link, "codel", "cubic"),
                CLOSE,
                1.0,
            )
            for link in FAST
        )
    ),
    "c019": every(
        *(
            ratio(constant(metric, link, "codel_1bdp"), constant(metric, link, "codel"), *bounds)
            for link in FAST
            for metric, bounds in ((USE, EQUAL), (DELAY, ALIKE))
        )
    ),
    "c020": excessive,
    "c021": approaches,
    "c022": above,
    "c023": setting("arithmetic: 1500 bytes at 100 Mbit/s"),
    "c024": setting("arithmetic: 1500 bytes at 3 Mbit/s"),
    "c025": every(
        *(
            ratio(
                static(DELAY, rtt, "100/100", "codel"),
                static(DELAY, rtt, "3/3", "codel"),
                high=MUCH,
            )
            for rtt in RTTS
        )
    ),
    "c026": at_each(
        USUAL, FAST, lambda rtt, link: within(static(USE, rtt, link, "codel"), GOOD_USE)
    ),
    "c027": every(
        *(
            ratio(static(metric, rtt, "3/3", "red"), static(metric, rtt, "3/3", "codel"), *bounds)
            for rtt in RTTS
            for metric, bounds in ((DELAY, ALIKE), (USE, ALIKE_USE))
        )
    ),
    "c028": at_each(
        RTTS,
        FASTER,
        more_used,
        lambda rtt, link: less(static(DELAY, rtt, link, "red"), static(DELAY, rtt, link, "codel")),
    ),
    "c029": at_each(
        RTTS,
        FASTER,
        lambda rtt, link: ratio(
            static(USE, rtt, link, "red"), static(USE, rtt, link, "codel"), high=CLOSE
        ),
    ),
    "c030": every(
        *(
            less(low(DELAY, 500, rtt, link), low(DELAY, 1500, rtt, link))
            for rtt in LOW_RTTS
            for link in SLOW
        ),
        *(
            widening(
                low(DELAY, 1500, rtt, "1.5/1.5"),
                low(DELAY, 500, rtt, "1.5/1.5"),
                low(DELAY, 1500, rtt, "0.128/0.128"),
                low(DELAY, 500, rtt, "0.128/0.128"),
            )
            for rtt in LOW_RTTS
        ),
    ),
    "c031": every(
        *(
            within(low(USE, mtu, rtt, link), GOOD_USE)
            for mtu in (500, 1500)
            for rtt in LOW_RTTS
            for link in SLOW
        )
    ),
    # The two are one statement: more than 60 % were to be had only with more than 10 % dropped.
    "c032": every(
        *(within(Quantity("used_dropped_percent", "low_web", link, "codel"), 10) for link in SLOW)
    ),
    "c033": Same("c032"),
    "c052": at_each(RTTS, FAST, low_delay),
    "c053": at_each(RTTS, FAST, more_used, shared_more_fairly),
    "c054": at_each(USUAL, FAST, nearly_tail_drop),
    "c055": every(
        *(
            ratio(static(metric, 200, link, "codel"), static(metric, 30, link, "codel"), *bounds)
            for link in FAST
            for metric, bounds in ((USE, (CLOSE, 1 / CLOSE)), (DELAY, ALIKE))
        )
    ),
    "c056": every(
        *(less(static(USE, 500, link, "codel"), static(USE, 10, link, "codel")) for link in FAST)
    ),
    "c057": at_each(
        USUAL,
        FAST,
        lambda rtt, link: steadier(
            static(USE, rtt, link, "codel"), static(USE, 500, link, "codel")
        ),
    ),
    "c058": at_each(RTTS, FAST, shared_more_fairly),
}
