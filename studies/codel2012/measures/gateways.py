"""What a run between gateways measured: delay, utilisation, drops and how they are shared.

The probes `queues` and `steps` of the study (its folder kinds) leave the tables that are read here.
"""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import numpy as np
import pandas as pd

from qdisclab.analysis.errors import UNUSABLE, DataError, refused
from qdisclab.analysis.measures.fairness import jain
from qdisclab.analysis.measures.registry import Measure, Metric
from qdisclab.analysis.runs.axes import axes, packets
from qdisclab.analysis.runs.dataset import RunFile, read_record
from qdisclab.analysis.runs.flentfile import RERUN
from qdisclab.analysis.runs.published import read_csv
from qdisclab.emulation.captures.samples import read_series
from qdisclab.emulation.datafile import ROWS, read_rows

DELAYS: Final = ("p25_ms", "p50_ms", "p75_ms", "p95_ms", "p100_ms", "mean_ms")
CALLED: Final = {"p50_ms": "median_ms", "p100_ms": "longest_ms"}
ALL: Final = "all"  # the row of all sources together
MOST_MS: Final = 90.0  # Dynamic Links: "less than 90ms 95% of the total simulation time"
FRAME_BITS: Final = 8 * 1514
AFTER_S: Final = 10.0  # after a change of the rate
USED_PERCENT: Final = 60.0  # Static Link Rates: "over 60% utilization"

_QUEUED: Final = ("median_ms", "p75_ms", "p95_ms", "longest_ms", "mean_ms", "dropped_percent")
NAMES: Final = {name: f"queue_{name}" for name in _QUEUED} | {
    "utilisation_percent": "utilisation_percent", "jain": "drop_share_jain"
}  # fmt: skip
BACK: Final = {"mean_ms": "back_mean_ms", "dropped_percent": "back_dropped_percent"}


METRICS: Final = {
    "queue_median_ms": Metric("median packet delay", "ms"),
    "queue_p75_ms": Metric("75th percentile of the packet delay", "ms"),
    "queue_p95_ms": Metric("95th percentile of the packet delay", "ms"),
    "queue_longest_ms": Metric("longest packet delay", "ms"),
    "queue_mean_ms": Metric("mean packet delay", "ms"),
    "bulk_median_ms": Metric("median packet delay, bulk transfers alone", "ms"),
    "bursty_median_ms": Metric("median packet delay, with bursty traffic", "ms"),
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
    **{
        f"fall_{number}_times": Metric(
            f"longest delay after the rate's {name} fall, divided by that before", "", factor=True
        )
        for number, name in enumerate(("first", "second", "third"), start=1)
    },
    "after_falls_ms": Metric("mean delay of the 10 s after the rate's falls", "ms"),
    "first_drop_ms": Metric("until the first drop after a fall of the rate", "ms"),
    "after_rises_megabytes": Metric("sent in the 10 s after the rate's rises", "MB"),
    "elsewhere_megabytes": Metric("sent at other times", "MB"),
}


def read_run(file: RunFile) -> list[dict[str, Any]]:
    """Return what each queue of a run did: its direction, the load, and measurements.

    Delays in ms are those of the packets that were sent while the load lasted; dropped_percent is a
    share of those that arrived. Raises DataError where the table of the queues cannot be used.
    """
    path = file.provenance.with_suffix(".queues.csv")
    with refused(path, "not a table of queues ({!r})", RERUN, *UNUSABLE):
        table = read_csv(path)
        return [
            {"load": str(load), "direction": str(direction), **_queue(rows.set_index("source"))}
            for (load, direction), rows in table.groupby(["load", "direction"], sort=False)
        ]


def drop_shares(sources: pd.DataFrame) -> list[float]:
    """Return the share of its packets that each source lost; equal if drops are in proportion to
    packets.

    A source is a bulk transfer, a flow of constant bit rate, all uploads or all web sessions
    (K. Nichols, V. Jacobson, "Controlling Queue Delay", 2012, Metrics: "per source").
    """
    # acknowledgments and requests are of no source of their own
    shared = sources.drop(index=[ALL, "other"], errors="ignore")
    packets = shared["sent"] + shared["dropped"]
    return list((shared["dropped"] / packets)[packets > 0])


def _queue(sources: pd.DataFrame) -> dict[str, Any]:
    whole: Any = sources.loc[ALL]
    shares = drop_shares(sources)
    sent, dropped = int(whole["sent"]), int(whole["dropped"])
    return {
        "sent": sent,
        "dropped": dropped,
        "kilobytes": int(whole["bytes"]) / 1000,
        "utilisation_percent": 100 * float(whole["utilisation"]),
        "dropped_percent": 100 * dropped / max(1, sent + dropped),
        "jain": jain(shares) if len(shares) > 1 else np.nan,
        **{CALLED.get(name, name): float(whole[name]) for name in DELAYS},
    }


def steps(file: RunFile) -> pd.DataFrame:
    """Return a row per step of the load: time_s at its end, least_ms, median_ms and longest_ms of
    the delay (NaN where nothing was sent), mbit_s, dropped, and kilobytes sent since the load
    began."""
    path = file.provenance.with_suffix(".steps.parquet")
    with refused(path, "not a table of steps ({!r})", RERUN, *UNUSABLE):
        table = read_series(path)
        step_s = float(read_record(file)["length_s"]) / len(table)
        names = ("least", "median", "longest")
        delays_us = {name: table[f"{name}_us"].astype("Float64") for name in names}
        return pd.DataFrame(
            {
                "time_s": step_s * np.arange(1, len(table) + 1),
                **{
                    f"{name}_ms": us.to_numpy(float, na_value=np.nan) / 1e3
                    for name, us in delays_us.items()
                },
                "mbit_s": table["bytes"] * 8e-6 / step_s,
                "dropped": table["dropped"],
                "kilobytes": (table["bytes"] / 1e3).cumsum(),
            }
        )


def changes(file: RunFile) -> list[tuple[float, float]]:
    """Return second and Mbit/s of each rate of the link forward, the first of them at 0."""
    rows = read_rows(file.provenance.with_suffix(ROWS))
    changed = [row for row in rows if row["program"] == "link_left" and "rate_mbit_s" in row]
    first = float(file.link.partition("/")[2])
    return [(0.0, first), *((float(row["time_s"]), float(row["rate_mbit_s"])) for row in changed)]


def below_percent(table: pd.DataFrame) -> float:
    """Return the percentage of the steps in which no packet had waited as long as MOST_MS."""
    return 100 * float((table["longest_ms"].fillna(0) < MOST_MS).mean())


def longest_ms(table: pd.DataFrame, at_s: float) -> float:
    """Return the longest delay of the AFTER_S after `at_s`."""
    return float(table.loc[_inside(table, [at_s]), "longest_ms"].max())


def first_drop_ms(table: pd.DataFrame, at_s: float) -> float:
    """Return the time from `at_s` to the end of the first step in which a packet was dropped; NaN
    for none."""
    dropping = table[(table["time_s"] > at_s + 1e-9) & (table["dropped"] > 0)]
    return 1000 * float(dropping["time_s"].iloc[0] - at_s) if len(dropping) else float("nan")


def measure(run: RunFile) -> Mapping[str, float]:
    """Return numbers of the queue forward and, where it was followed, of the one back; raises
    DataError.

    What a run has none of is left out: Jain's index where nothing was dropped.
    """
    rows = {row["direction"]: row for row in read_run(run)}
    forward = rows["forward"]
    numbers = {ours: float(forward[name]) for name, ours in NAMES.items()}
    numbers["queue_megabytes"] = forward["kilobytes"] / 1000
    bursty = any(word in forward["load"] for word in ("web", "cbr"))
    numbers["bursty_median_ms" if bursty else "bulk_median_ms"] = numbers["queue_median_ms"]
    if numbers["utilisation_percent"] > USED_PERCENT:
        numbers["used_dropped_percent"] = numbers["queue_dropped_percent"]
    if "reverse" in rows:
        numbers |= {ours: float(rows["reverse"][name]) for name, ours in BACK.items()}
        numbers["back_megabytes"] = rows["reverse"]["kilobytes"] / 1000
    return {name: value for name, value in numbers.items() if not math.isnan(value)}


def measure_dynamic(run: RunFile) -> Mapping[str, float]:
    """Return the same of a link whose rate changes, and how the queue took the changes."""
    at, mbit_s = zip(*changes(run), strict=True)
    falls = [at[n] for n in range(1, len(at)) if mbit_s[n] < mbit_s[n - 1]]
    rises = [at[n] for n in range(1, len(at)) if mbit_s[n] > mbit_s[n - 1]]
    table = steps(run)
    numbers = dict(measure(run))
    numbers["below_90ms_percent"] = below_percent(table)
    numbers["start_longest_ms"] = longest_ms(table, 0.0)
    for number, fall in enumerate(falls, start=1):
        before = longest_ms(table, fall - AFTER_S)
        numbers[f"fall_{number}_times"] = longest_ms(table, fall) / before
    drops = [first_drop_ms(table, fall) for fall in falls]
    numbers["first_drop_ms"] = sum(drops) / len(drops)
    numbers["after_falls_ms"] = float(table.loc[_inside(table, falls), "median_ms"].mean())
    sent = table["kilobytes"].diff().fillna(table["kilobytes"].iloc[0]) / 1000
    after = _inside(table, rises)
    numbers["after_rises_megabytes"] = float(sent[after].sum())
    numbers["elsewhere_megabytes"] = float(sent[~after].sum())
    with suppress(DataError):  # of a qdisc that has no limit
        numbers["full_percent"] = _full_percent(table, at, mbit_s, packets(axes(run)))
    return {name: value for name, value in numbers.items() if not math.isnan(value)}


def _inside(table: pd.DataFrame, moments: Sequence[float]) -> "pd.Series[bool]":
    """Return whether a step lies within `AFTER_S` after one of `moments`."""
    inside = pd.Series(data=False, index=table.index)
    for at in moments:
        inside |= (table["time_s"] > at) & (table["time_s"] <= at + AFTER_S)
    return inside


def _full_percent(
    table: pd.DataFrame, at: Sequence[float], mbit_s: Sequence[float], buffer: int
) -> float:
    """Return the percentage of the steps in which a packet waited half of what a full buffer takes,
    or more.

    Without the `AFTER_S` after each change, at whose begin the buffer has another delay.
    """
    place = pd.cut(table["time_s"], [*at, float("inf")], labels=False)
    full_ms: Any = place.map(dict(enumerate(buffer * FRAME_BITS / (1e3 * rate) for rate in mbit_s)))
    settled = ~_inside(table, at)
    return 100 * float((table["longest_ms"] >= 0.5 * full_ms)[settled].mean())


MEASURES: Final = {
    "queues": Measure(measure, traffic="programs"),
    "dynamic": Measure(measure_dynamic, traffic="programs"),
}
