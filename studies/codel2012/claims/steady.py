"""Static Link Rates and Dropping the Right Packets of codel2012 (Figs. 5, 6, 8 and 9)."""

from typing import Final

from analysis.claims.check import (
    Lacking,
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
from analysis.claims.quantity import cells
from analysis.claims.verdict import Rule

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
    constant,
    low,
    static,
)

FASTER: Final = FAST[1:]  # "10Mbps and above"
LONGEST: Final = 1000  # ms
USUAL: Final = (10, 30, 100, 200)  # all but 500 ms

#: CoDel uses the link better than RED does.
MORE_USED: Final = less(static(USE, RTTS, FAST, "red"), static(USE, RTTS, FAST, "codel"))
#: CoDel's drops are shared in better proportion than RED's.
SHARED_MORE_FAIRLY: Final = less(
    static(SHARED, RTTS, FAST, "red"), static(SHARED, RTTS, FAST, "codel")
)

RULES: Final[dict[str, Rule]] = {
    "c011": Lacking("an AQM that acts on the length of the queue, beside CoDel"),
    "c012": some(*less(constant(USE, FAST, "codel_1ms"), constant(USE, FAST, "codel"))),
    "c013": ratio(
        constant(USE, FAST, ("codel_10ms", "codel_20ms")),
        constant(USE, FAST, "codel"),
        high=EQUAL[1],
    ),
    "c014": within(static(USE, (*RTTS, LONGEST), FAST, "codel"), GOOD_USE),
    "c015": every(
        *(
            less(static(USE, 500, link, "codel"), static(USE, rtt, link, "codel"))
            for rtt in USUAL
            for link in FAST
        )
    ),
    "c017": setting("a judgement of all that follows"),
    "c018": ratio(
        static(USE, 100, FAST, "codel", "reno"),
        static(USE, 100, FAST, "codel", "cubic"),
        CLOSE,
        1.0,
    ),
    "c019": every(
        *map(
            every,
            ratio(constant(USE, FAST, "codel_1bdp"), constant(USE, FAST, "codel"), *EQUAL),
            ratio(constant(DELAY, FAST, "codel_1bdp"), constant(DELAY, FAST, "codel"), *ALIKE),
        )
    ),
    "c020": lambda claim: within(
        low(DELAY, 1500, LOW_RTTS, SLOW, "red"), claim.value_low, claim.value_high
    ),
    # With bulk transfers alone CoDel's median delay is near its target, with bursty ones above.
    "c021": lambda claim: near(
        static("bulk_median_ms", USUAL, FAST, "codel"), claim.value_high, ALIKE[1], 0.0
    ),
    # On faster links the delay of a burst "is small compared with the target".
    "c022": lambda claim: within(
        static("bursty_median_ms", USUAL, FAST[0], "codel"), low=claim.value_low
    ),
    "c064": steadier(
        static(DELAY, USUAL, "100/100", "codel"), static(DELAY, USUAL, "3/3", "codel")
    ),
    "c065": Lacking("utilisation by load, and not over all loads", "metric"),
    "c023": setting("arithmetic: 1500 bytes at 100 Mbit/s"),
    "c024": setting("arithmetic: 1500 bytes at 3 Mbit/s"),
    "c025": ratio(
        static(DELAY, RTTS, "100/100", "codel"), static(DELAY, RTTS, "3/3", "codel"), high=MUCH
    ),
    "c026": within(static(USE, USUAL, FAST, "codel"), GOOD_USE),
    "c027": every(
        *map(
            every,
            ratio(static(DELAY, RTTS, "3/3", "red"), static(DELAY, RTTS, "3/3", "codel"), *ALIKE),
            ratio(static(USE, RTTS, "3/3", "red"), static(USE, RTTS, "3/3", "codel"), *ALIKE_USE),
        )
    ),
    "c028": every(
        *less(static(USE, RTTS, FASTER, "red"), static(USE, RTTS, FASTER, "codel")),
        *less(static(DELAY, RTTS, FASTER, "red"), static(DELAY, RTTS, FASTER, "codel")),
    ),
    "c029": ratio(static(USE, RTTS, FASTER, "red"), static(USE, RTTS, FASTER, "codel"), high=CLOSE),
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
    "c054": every(
        *map(
            every,
            ratio(static(USE, USUAL, FAST, "codel"), static(USE, USUAL, FAST, "tail_drop"), CLOSE),
            ratio(
                static(DELAY, USUAL, FAST, "codel"),
                static(DELAY, USUAL, FAST, "tail_drop"),
                high=FAR,
            ),
        )
    ),
    "c055": every(
        *map(
            every,
            ratio(
                static(USE, 200, FAST, "codel"), static(USE, 30, FAST, "codel"), CLOSE, 1 / CLOSE
            ),
            ratio(static(DELAY, 200, FAST, "codel"), static(DELAY, 30, FAST, "codel"), *ALIKE),
        )
    ),
    "c056": every(
        *ratio(static(USE, 500, FAST, "codel"), static(USE, 10, FAST, "codel"), CLOSE, 1.0),
        *steadier(static(USE, 10, FAST, "codel"), static(USE, 200, FAST, "codel")),
    ),
    "c057": steadier(static(USE, USUAL, FAST, "codel"), static(USE, 500, FAST, "codel")),
    "c058": SHARED_MORE_FAIRLY,
}
