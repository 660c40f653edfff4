"""Section 5.3 of gbw2015: fetching web pages beside one TCP flow or RRUL (Fig. 4 and 5)."""

import itertools
from typing import Final

from qdisclab.analysis.claims.check import Condition, every, less, setting, some, widening, within
from qdisclab.analysis.claims.quantity import cells
from qdisclab.analysis.claims.verdict import Rule

from .words import AQM, BUT_ARED, FIFO, FQ, LINKS, LOW, MUCH, NEW_AQM, QDISCS, bounded, order

FETCH, SPREAD = "fetch_time_normalised", "fetch_time_sd_s"
#: Experiments: the small page (Google's, Fig. 4) and the large one (Huffington Post's, Fig. 5),
#: beside one TCP flow upstream and beside RRUL.
SMALL_ONE, SMALL_RRUL = "web_small_1up", "web_small_rrul"
LARGE_ONE, LARGE_RRUL = "web_large_1up", "web_large_rrul"
ALL: Final = (SMALL_ONE, SMALL_RRUL, LARGE_ONE, LARGE_RRUL)
NEAR_UNLOADED: Final = 1.5  # times the unloaded fetch time


def _aredless(factor: float | None) -> Condition:
    """All but ARED, which is the exception that the paper makes, fetch faster than the FIFO."""
    return order(FETCH, (*NEW_AQM, *FQ), (FIFO,), experiments=ALL, factor=factor)


FASTER: Final = _aredless(None)

#: With the new AQMs pages come sooner than with the FIFO; ARED is the exception that is made.
IMPROVED: Final = order(FETCH, NEW_AQM, (FIFO,), experiments=ALL)

#: Fair queueing fetches no slower than any AQM, within 5 %, but where Sec. 5.3.1 says it does.
UNSURPASSED: Final = every(
    *(
        order(FETCH, FQ, AQM, (link,), experiments=(experiment,), factor=1.05)
        for experiment in ALL
        for link in LINKS
        if (experiment, link) != (LARGE_RRUL, "10/10")
    )
)

RULES: Final[dict[str, Rule]] = {
    **{
        f"g{number}": setting("what the site is made of; ours is made of the same")
        for number in range(112, 116)
    },
    "g116": FASTER,
    "g117": every(
        some(*less(cells(FETCH, ALL, LOW, FIFO), cells(FETCH, ALL, LOW, "ared"))),
        some(
            *(
                less(cells(SPREAD, name, link, BUT_ARED), cells(SPREAD, name, link, "ared"))
                for name in ALL
                for link in LOW
            )
        ),
    ),
    "g118": order(  # captured at 10/1
        "late_syn_percent", BUT_ARED, ("ared",), ("10/1",), experiments=(SMALL_ONE, SMALL_RRUL)
    ),
    "g119": every(
        *less(cells(FETCH, LARGE_ONE, LOW, "ared"), cells(FETCH, SMALL_ONE, LOW, "ared")),
        *less(cells(FETCH, LARGE_RRUL, LOW, "ared"), cells(FETCH, SMALL_RRUL, LOW, "ared")),
    ),
    "g120": every(
        less(cells(FETCH, SMALL_RRUL, "10/1", FIFO), cells(FETCH, SMALL_ONE, "10/1", FIFO)),
        less(cells(FETCH, LARGE_RRUL, "10/1", FIFO), cells(FETCH, LARGE_ONE, "10/1", FIFO)),
    ),
    "g121": less(  # captured; beside RRUL many of the packets are acknowledgments
        cells("departure_interval_ms", SMALL_RRUL, "10/1", FIFO),
        cells("departure_interval_ms", SMALL_ONE, "10/1", FIFO),
    ),
    "g222": less(  # captured
        cells("late_syn_percent", SMALL_RRUL, "10/1", FIFO),
        cells("late_syn_percent", SMALL_ONE, "10/1", FIFO),
    ),
    "g223": widening(  # at 10/1 fetches take longest
        cells(FETCH, (SMALL_ONE, LARGE_ONE), "10/10", NEW_AQM),
        cells(FETCH, (SMALL_ONE, LARGE_ONE), "10/10", "fq_codel"),
        cells(FETCH, (SMALL_ONE, LARGE_ONE), "10/1", NEW_AQM),
        cells(FETCH, (SMALL_ONE, LARGE_ONE), "10/1", "fq_codel"),
    ),
    "g122": _aredless(MUCH),
    "g123": within(
        cells(FETCH, (SMALL_ONE, LARGE_ONE), ("100/100", "10/10"), (*NEW_AQM, *FQ)),
        high=NEAR_UNLOADED,
    ),
    "g124": order(FETCH, NEW_AQM, FQ, ("10/10",), experiments=(LARGE_RRUL,)),
    **{
        f"g{number}": bounded(cells(FETCH, experiment, link, QDISCS), from_zero=True)
        for number, (experiment, link) in enumerate(itertools.product(ALL, LINKS), start=125)
    },
}
