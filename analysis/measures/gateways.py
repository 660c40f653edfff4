"""What a run between gateways measured: delay, utilisation, drops and how they are shared."""

import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import pandas as pd

from analysis.errors import DataError
from analysis.measures.dynamic import MOST_MS, below_percent, first_drop_ms, longest_ms, steps
from analysis.measures.queues import read_run
from analysis.measures.registry import Measure, Metric
from analysis.runs.axes import axes, packets
from analysis.runs.dataset import RunFile, read_record

FRAME_BITS: Final = 8 * 1514
AFTER_S: Final = 10.0  # after a change of the rate
USED_PERCENT: Final = 60.0  # Static Link Rates: "over 60% utilization"

NAMES: Final = {
    "median_ms": "queue_median_ms",
    "p75_ms": "queue_p75_ms",
    "p95_ms": "queue_p95_ms",
    "longest_ms": "queue_longest_ms",
    "mean_ms": "queue_mean_ms",
    "utilisation_percent": "utilisation_percent",
    "dropped_percent": "queue_dropped_percent",
    "jain": "drop_share_jain",
}
BACK: Final = {"mean_ms": "back_mean_ms", "dropped_percent": "back_dropped_percent"}


METRICS: Final = {
    "queue_median_ms": Metric("median packet delay", "ms"),
    "queue_p75_ms": Metric("75th percentile of the packet delay", "ms"),
    "queue_p95_ms": Metric("95th percentile of the packet delay", "ms"),
    "queue_longest_ms": Metric("longest packet delay", "ms"),
    "queue_mean_ms": Metric("mean packet delay", "ms"),
    "bulk_median_ms": Metric("median packet delay, bulk transfers alone", "ms"),
    "bursty_median_ms": Metric("median packet delay, with bursty traffic", "ms"),
    "utilisation_percent": Metric("utilisation", "%"),
    "queue_dropped_percent": Metric("packets dropped by the queue", "%"),
    "used_dropped_percent": Metric("packets dropped where more than 60 % are used", "%"),
    "queue_megabytes": Metric("sent by the queue", "MB"),
    "drop_share_jain": Metric("Jain's index of drop shares", ""),
    "back_mean_ms": Metric("mean packet delay, other direction", "ms"),
    "back_dropped_percent": Metric("packets dropped by the queue, other direction", "%"),
    "back_megabytes": Metric("sent by the queue, other direction", "MB"),
    "below_90ms_percent": Metric("time with no delay of 90 ms or more", "%"),
    "full_percent": Metric("time with the buffer at least half full", "%"),
    "start_longest_ms": Metric("longest delay of the first 10 s", "ms"),
    "fall_1_times": Metric(
        "longest delay after the rate's first fall, by that before", "", factor=True
    ),
    "fall_2_times": Metric(
        "longest delay after the rate's second fall, by that before", "", factor=True
    ),
    "fall_3_times": Metric(
        "longest delay after the rate's third fall, by that before", "", factor=True
    ),
    "after_falls_ms": Metric("mean delay of the 10 s after the rate's falls", "ms"),
    "first_drop_ms": Metric("until the first drop after a fall of the rate", "ms"),
    "after_rises_megabytes": Metric("sent in the 10 s after the rate's rises", "MB"),
    "elsewhere_megabytes": Metric("sent at other times", "MB"),
}


def measure(run: RunFile) -> Mapping[str, float]:
    """Numbers of the queue forward and, where it was followed, of the one back; raises DataError.

    What a run has none of is left out: Jain's index where nothing was dropped.
    """
    rows = {row["direction"]: row for row in read_run(run)}
    forward = rows["forward"]
    found = {ours: float(forward[name]) for name, ours in NAMES.items()}
    found["queue_megabytes"] = forward["kilobytes"] / 1000
    bursty = any(word in forward["load"] for word in ("web", "cbr"))
    found["bursty_median_ms" if bursty else "bulk_median_ms"] = found["queue_median_ms"]
    if found["utilisation_percent"] > USED_PERCENT:
        found["used_dropped_percent"] = found["queue_dropped_percent"]
    if "reverse" in rows:
        found |= {ours: float(rows["reverse"][name]) for name, ours in BACK.items()}
        found["back_megabytes"] = rows["reverse"]["kilobytes"] / 1000
    return {name: value for name, value in found.items() if not math.isnan(value)}


def measure_dynamic(run: RunFile) -> Mapping[str, float]:
    """The same of a link whose rate changes, and how the queue took the changes."""
    told = read_record(run)
    forward = [one for one in told["changes"] if one["port"].startswith("left ")]
    at = [0.0, *(float(one["at_s"]) for one in forward)]
    link = float(run.link.partition("/")[2])
    mbit_s = [link, *(one["rate_bit_s"] / 1e6 for one in forward)]
    falls = [at[n] for n in range(1, len(at)) if mbit_s[n] < mbit_s[n - 1]]
    rises = [at[n] for n in range(1, len(at)) if mbit_s[n] > mbit_s[n - 1]]
    table = steps(run)
    found = dict(measure(run))
    found["below_90ms_percent"] = below_percent(table, MOST_MS)
    found["start_longest_ms"] = longest_ms(table, 0.0)
    for number, fall in enumerate(falls, start=1):
        before = longest_ms(table, fall - AFTER_S)
        found[f"fall_{number}_times"] = longest_ms(table, fall) / before
    drops = [first_drop_ms(table, fall) for fall in falls]
    found["first_drop_ms"] = sum(drops) / len(drops)
    found["after_falls_ms"] = _mean_within(table, falls, "median_ms")
    found |= _megabytes(table, rises)
    with suppress(DataError):  # of a qdisc that has no limit
        found["full_percent"] = _full_percent(table, at, mbit_s, packets(axes(run.run)))
    return {name: value for name, value in found.items() if not math.isnan(value)}


def _inside(table: pd.DataFrame, moments: list[float]) -> "pd.Series[bool]":
    """Whether a step lies within `AFTER_S` after one of `moments`."""
    inside = pd.Series(data=False, index=table.index)
    for at in moments:
        inside |= (table["time_s"] > at) & (table["time_s"] <= at + AFTER_S)
    return inside


def _mean_within(table: pd.DataFrame, moments: list[float], name: str) -> float:
    return float(table.loc[_inside(table, moments), name].mean())


def _megabytes(table: pd.DataFrame, rises: list[float]) -> dict[str, float]:
    sent = table["kilobytes"].diff().fillna(table["kilobytes"].iloc[0]) / 1000
    after = _inside(table, rises)
    return {
        "after_rises_megabytes": float(sent[after].sum()),
        "elsewhere_megabytes": float(sent[~after].sum()),
    }


def _full_percent(table: pd.DataFrame, at: list[float], mbit_s: list[float], buffer: int) -> float:
    """Percent of the steps in which a packet waited half of what a full buffer takes, or more.

    Without the `AFTER_S` after each change, at whose begin the buffer has another delay.
    """
    place = pd.cut(table["time_s"], [*at, float("inf")], labels=False)
    full_ms: Any = place.map(dict(enumerate(buffer * FRAME_BITS / (1e3 * rate) for rate in mbit_s)))
    settled = ~_inside(table, at)
    return 100 * float((table["longest_ms"] >= 0.5 * full_ms)[settled].mean())


MEASURES: Final = {
    "queues": Measure(measure, traffic="mix"),
    "dynamic": Measure(measure_dynamic, traffic="mix"),
}
