"""What is asked or said in the threads whose section of study.yaml has rules, as bounds of ours."""

from typing import Final

from qdisclab.analysis.claims.check import ratio, within
from qdisclab.analysis.claims.quantity import Cells, cells
from qdisclab.analysis.claims.verdict import Rule


def goodput(experiment: str, cc: str | tuple[str, ...] = "cubic") -> Cells:
    """Return that of the download."""
    return cells("link_down_mbit_s", experiment, "-", "-", cc)


def waits(experiment: str) -> Cells:
    """Return what pings beside the download have at most."""
    return cells("link_rtt_p99_ms", experiment, "-", "-", "cubic")


CONTROLS: Final = ("cubic", "bbr")

RULES: Final[dict[str, Rule]] = {
    "q001": ratio(
        goodput("jitter_overtakes", CONTROLS), goodput("jitter_none", CONTROLS), high=0.8
    ),
    "q002": ratio(goodput("jitter_in_order", CONTROLS), goodput("jitter_none", CONTROLS), low=0.9),
    "q003": within(goodput("limit_1000", "-"), 7, 8.2),
    "q004": within(goodput("limit_2000", "-"), 10.7, 12.2),
    "q005": within(waits("beneath_nothing"), high=150),
    "q006": within(waits("beneath_netem"), 5000),
    "q007": within(goodput("queue_first"), 76.9),
    "q008": ratio(goodput("queue_first"), goodput("delay_first"), 0.8, 1.25),
    "q009": ratio(goodput("bucket_5kB"), goodput("bucket_1ms"), 0.6, 0.75),
}
