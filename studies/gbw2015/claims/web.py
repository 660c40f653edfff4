"""Section 5.3 of gbw2015: fetching web pages beside one TCP flow or RRUL (Fig. 4 and 5)."""

from typing import Final

from analysis.claims.check import Condition, Quantity, every, less, setting, some, within
from analysis.claims.verdict import Rule

from .words import (
    AQM,
    FIFO,
    FQ,
    LINKS,
    LOW,
    MUCH,
    NEW_AQM,
    QDISCS,
    order,
)

FETCH: Final = "fetch_time_normalised"
SPREAD: Final = "fetch_time_sd_s"
#: Experiments: the small page (Google's, Fig. 4) and the large one (Huffington Post's, Fig. 5),
#: beside one TCP flow upstream and beside RRUL.
SMALL_ONE, SMALL_RRUL = "web_small_1up", "web_small_rrul"
LARGE_ONE, LARGE_RRUL = "web_large_1up", "web_large_rrul"
ALL: Final = (SMALL_ONE, SMALL_RRUL, LARGE_ONE, LARGE_RRUL)
NEAR_UNLOADED: Final = 1.5  # times the unloaded fetch time


def axis(experiment: str, link: str) -> Rule:
    """All bars are within the plot."""
    cells = [Quantity(FETCH, experiment, link, qdisc) for qdisc in QDISCS]
    return lambda claim: every(*(within(cell, high=claim.value_high) for cell in cells))


def _aredless(factor: float | None) -> Condition:
    """All but ARED, which is the exception that the paper makes, fetch faster than the FIFO."""
    return order(FETCH, (*NEW_AQM, *FQ), (FIFO,), experiments=ALL, factor=factor)


FASTER: Final = _aredless(None)

#: Fair queueing fetches no slower than any AQM, within 5 %, but where Sec. 5.3.1 says it does.
UNSURPASSED: Final = every(
    *(
        order(FETCH, FQ, AQM, [link], experiments=[experiment], factor=1.05)
        for experiment in ALL
        for link in LINKS
        if (experiment, link) != (LARGE_RRUL, "10/10")
    )
)

RULES: Final[dict[str, Rule]] = {
    "g112": setting("what the site is made of; so is ours"),
    "g113": setting("what the site is made of; so is ours"),
    "g114": setting("what the site is made of; so is ours"),
    "g115": setting("what the site is made of; so is ours"),
    "g116": FASTER,
    "g117": every(
        some(
            *(
                less(
                    Quantity(FETCH, experiment, link, FIFO),
                    Quantity(FETCH, experiment, link, "ared"),
                )
                for experiment in ALL
                for link in LOW
            )
        ),
        some(
            *(
                order(
                    SPREAD,
                    [one for one in QDISCS if one != "ared"],
                    ("ared",),
                    [link],
                    experiments=[experiment],
                )
                for experiment in ALL
                for link in LOW
            )
        ),
    ),
    "g118": order(  # captured at 10/1
        "late_syn_percent",
        [one for one in QDISCS if one != "ared"],
        ("ared",),
        ("10/1",),
        experiments=(SMALL_ONE, SMALL_RRUL),
    ),
    "g119": every(
        *(
            less(Quantity(FETCH, large, link, "ared"), Quantity(FETCH, small, link, "ared"))
            for small, large in ((SMALL_ONE, LARGE_ONE), (SMALL_RRUL, LARGE_RRUL))
            for link in LOW
        )
    ),
    "g120": every(
        *(
            less(Quantity(FETCH, rrul, "10/1", FIFO), Quantity(FETCH, one, "10/1", FIFO))
            for one, rrul in ((SMALL_ONE, SMALL_RRUL), (LARGE_ONE, LARGE_RRUL))
        )
    ),
    "g121": less(  # captured; beside RRUL many of the packets are acknowledgments
        Quantity("departure_interval_ms", SMALL_RRUL, "10/1", FIFO),
        Quantity("departure_interval_ms", SMALL_ONE, "10/1", FIFO),
    ),
    "g122": _aredless(MUCH),
    "g123": every(
        *(
            within(Quantity(FETCH, experiment, link, qdisc), high=NEAR_UNLOADED)
            for experiment in (SMALL_ONE, LARGE_ONE)
            for link in ("100/100", "10/10")
            for qdisc in (*NEW_AQM, *FQ)
        )
    ),
    "g124": order(FETCH, NEW_AQM, FQ, ("10/10",), experiments=(LARGE_RRUL,)),
    "g125": axis(SMALL_ONE, "100/100"),
    "g126": axis(SMALL_ONE, "10/10"),
    "g127": axis(SMALL_ONE, "10/1"),
    "g128": axis(SMALL_RRUL, "100/100"),
    "g129": axis(SMALL_RRUL, "10/10"),
    "g130": axis(SMALL_RRUL, "10/1"),
    "g131": axis(LARGE_ONE, "100/100"),
    "g132": axis(LARGE_ONE, "10/10"),
    "g133": axis(LARGE_ONE, "10/1"),
    "g134": axis(LARGE_RRUL, "100/100"),
    "g135": axis(LARGE_RRUL, "10/10"),
    "g136": axis(LARGE_RRUL, "10/1"),
}
