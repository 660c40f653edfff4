"""What a run between gateways measured: delay, utilisation, drops and how they are shared."""

import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import numpy as np
import pandas as pd

from analysis.errors import DataError
from analysis.measures.fairness import jain
from analysis.measures.registry import Measure, Metric
from analysis.runs.axes import axes, packets
from analysis.runs.dataset import RunFile, read_record, usable
from analysis.runs.flentfile import RERUN, read_series

QUANTILES: Final = {"p25": "p25_ms", "p50": "median_ms", "p75": "p75_ms", "p95": "p95_ms"}
UNSHARED: Final = ("other",)  # acknowledgments and requests are of no source of their own
MOST_MS: Final = 90.0  # Dynamic Links: "less than 90ms 95% of the total simulation time"
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


def read_run(file: RunFile) -> list[dict[str, Any]]:
    """Return what each queue of a run did: its direction, the load, and measurements.

    Delays in ms are those of the packets that were sent while the load lasted; dropped_percent is a
    share of those that arrived. Raises DataError if the provenance lacks an entry.
    """
    record = read_record(file)
    with usable(file):
        load = str(record["load"])
        return [{"load": load, **_queue(name, one)} for name, one in record["queues"].items()]


def drop_shares(sources: Mapping[str, Mapping[str, int]]) -> list[float]:
    """Return the share of its packets that each source lost; equal if drops are in proportion to
    packets.

    A source is a bulk transfer, a flow of constant bit rate, all uploads or all web sessions
    (K. Nichols, V. Jacobson, "Controlling Queue Delay", 2012, Metrics: "per source").
    """
    return [
        one["dropped"] / one["packets"]
        for name, one in sources.items()
        if name not in UNSHARED and one["packets"]
    ]


def _queue(direction: str, told: Mapping[str, Any]) -> dict[str, Any]:
    sent, dropped = int(told["sent"]), int(told["dropped"])
    delay, shares = told["delay_ms"], drop_shares(told["sources"])
    return {
        "direction": direction,
        "sent": sent,
        "dropped": dropped,
        "kilobytes": told["bytes"] / 1000,
        "utilisation_percent": 100 * told["utilisation"],
        "dropped_percent": 100 * dropped / max(1, sent + dropped),
        "jain": jain(shares) if len(shares) > 1 else np.nan,
        **{name: float(delay[key]) for key, name in QUANTILES.items()},
        "longest_ms": float(delay["p100"]),
        "mean_ms": float(told["mean_delay_ms"]),
    }


def steps(file: RunFile, direction: str = "forward") -> pd.DataFrame:
    """Return a row per step of the load: time_s at its end, least_ms, median_ms and longest_ms of
    the delay (NaN where nothing was sent), mbit_s, dropped, and kilobytes sent since the load
    began."""
    series = read_series(file.data)
    try:
        time_s = series["time_s"][1:]
        table = pd.DataFrame(
            {
                "time_s": time_s,
                **{
                    f"{name}_ms": series[f"Queue delay (ms) {name}::{direction}"][1:]
                    for name in ("least", "median", "longest")
                },
                "mbit_s": series[f"Sent (Mbit/s)::{direction}"][1:],
                "dropped": series[f"Dropped (packets)::{direction}"][1:],
            }
        )
    except KeyError as error:
        raise DataError.of(file.data, f"lacks the series {error}", RERUN) from error
    step_s = float(series["time_s"][1] - series["time_s"][0])
    return table.assign(kilobytes=(table["mbit_s"] * step_s * 1e3 / 8).cumsum())


def below_percent(table: pd.DataFrame, most_ms: float) -> float:
    """Return the percentage of the steps in which no packet had waited as long as `most_ms`.

    K. Nichols and V. Jacobson give this of "the total simulation time" (Dynamic Links).
    """
    return 100 * float((table["longest_ms"].fillna(0) < most_ms).mean())


def longest_ms(table: pd.DataFrame, at_s: float, within_s: float = 10.0) -> float:
    """Return the longest delay of the `within_s` after `at_s`."""
    after = table[(table["time_s"] > at_s) & (table["time_s"] <= at_s + within_s)]
    return float(after["longest_ms"].max())


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
    """Return the same of a link whose rate changes, and how the queue took the changes."""
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
        found["full_percent"] = _full_percent(table, at, mbit_s, packets(axes(run)))
    return {name: value for name, value in found.items() if not math.isnan(value)}


def _inside(table: pd.DataFrame, moments: list[float]) -> "pd.Series[bool]":
    """Return whether a step lies within `AFTER_S` after one of `moments`."""
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
    """Return the percentage of the steps in which a packet waited half of what a full buffer takes,
    or more.

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
