"""How latency rises as load starts (gbw2015, Sec. 6.2, Fig. 7), and the values that it prints."""

from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
import pandera.pandas as pa
import scipy

from qdisclab.analysis.errors import require_positive
from qdisclab.analysis.measures import agreement
from qdisclab.analysis.measures.metrics import CELL, RUN, in_window, means
from qdisclab.analysis.runs.dataset import Dataset
from qdisclab.analysis.runs.published import PUBLISHED, read_table

PROBE: Final = "ping_icmp"

CURVES: Final = pa.DataFrameSchema(
    {
        **{of: PUBLISHED.columns[of] for of in ("figure", "link", "qdisc", "reading_error")},
        "at": pa.Column(str, pa.Check.isin(["peak", "time"])),
        "time_s": pa.Column(float, pa.Check.ge(0)),
        "value": pa.Column(float, pa.Check.gt(0)),
        "unit": pa.Column(str, pa.Check.isin(["ms"])),
    },
    unique=["figure", "qdisc", "at", "time_s"],
    strict=True,
)
"""One row per value read off a line over time, at its peak or at a time of the test."""


def read_curves(path: Path, figure: str) -> pd.DataFrame:
    """Return the table of CURVES of one figure ("7a"); without rows where the file has none of it.

    Raises DataError when the file is missing or does not fit the schema.
    """
    table = read_table(path, CURVES, "values of a curve")
    return table[table["figure"] == figure].reset_index(drop=True)


def latency_over_time(samples: pd.DataFrame, *, until_s: float = 25) -> pd.DataFrame:
    """Return the point-wise mean over runs: CELL, time_s, rtt_ms, n_seeds, std_ms, ci_low_ms,
    ci_high_ms.

    Latency is the probe's whole round trip, base path included, and load starts after flent's
    DELAY (Sec. 6.2.1). Needs samples on
    flent's grid, where the steps of all runs coincide. Intervals are Student's t a point, NaN
    where one run has a value.
    """
    require_positive("until_s", until_s)
    chosen = samples[(samples["kind"] == PROBE) & (samples["time_s"] <= until_s)]
    # several probes of one kind (UDP) count as one value per run
    per_run = chosen.groupby([*RUN, "time_s"], observed=True)["rtt_ms"].mean().reset_index()
    grouped = per_run.groupby([*CELL, "time_s"], observed=True)["rtt_ms"]
    table = grouped.agg(rtt_ms="mean", n_seeds="count", std_ms="std", sem="sem").reset_index()
    freedom = (table["n_seeds"] - 1).where(table["n_seeds"] > 1)
    half = scipy.stats.t.ppf(0.975, freedom) * table.pop("sem")
    return table.assign(ci_low_ms=table["rtt_ms"] - half, ci_high_ms=table["rtt_ms"] + half)


def compare_curves(curves: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Return one row per value of `published` (read_curves), in its order: ours beside it.

    `curves` is from latency_over_time, of one era and congestion control: ours is its highest point
    for a peak, otherwise its value at the step nearest to the printed time. figure, link, qdisc,
    at, time_s, published, reading_error, ours, ratio, allowed, agrees (as in `metrics.compare`) and
    n_seeds. NaN where there is no run.
    """
    rows = []
    for value in published.rename(columns={"value": "published"}).to_dict("records"):
        same = (curves["link"] == value["link"]) & (curves["qdisc"] == value["qdisc"])
        line = curves[same]
        peak = value["at"] == "peak"
        away = -line["rtt_ms"] if peak else (line["time_s"] - value["time_s"]).abs()
        point = line.loc[away.idxmin()].to_dict() if len(line) else {}
        ours, std, seeds = (point.get(name, np.nan) for name in ("rtt_ms", "std_ms", "n_seeds"))
        rows.append({**value, "ours": ours, "std": std, "n_seeds": seeds})
    columns = [*published.columns.drop("value"), "published", "ours", "std", "n_seeds"]
    table = pd.DataFrame(rows, columns=columns)
    table["n_seeds"] = table["n_seeds"].fillna(0).astype(int)
    table = agreement.judged(table, agreement.spread(table["std"], table["n_seeds"]))
    values = ["published", "reading_error", "ours", "ratio", "allowed", "agrees", "n_seeds"]
    return table[["figure", "link", "qdisc", "at", "time_s", *values]]


def transient_metrics(data: Dataset, *, until_s: float, tail_s: float = 5) -> pd.DataFrame:
    """Return one row per cell of how latency rises as load starts, for the table beside the figure.

    CELL, n_seeds; peak_ms and peak_after_s (highest point of the point-wise mean, and how long
    after the load's start); mean_ms with ci_low_ms and ci_high_ms (mean over the loaded
    part until `until_s`); tail_ms (mean over its last `tail_s` seconds). All are round trips with
    the base path included. Of the paper's figure only a spike of about 250 ms of PIE at 10 Mbit/s
    is given in numbers (Sec. 6.2.1).
    """
    samples, _, runs = data
    curve = latency_over_time(samples, until_s=until_s)
    loaded = in_window(samples, runs, "loaded")
    loaded = loaded[(loaded["kind"] == PROBE) & (loaded["time_s"] <= until_s)]
    per_run = loaded.groupby(list(RUN), observed=True)["rtt_ms"].mean().reset_index()
    delay_s = float(runs["delay_s"].iloc[0])
    points = curve[curve["time_s"] >= delay_s]
    cells = points.groupby(list(CELL), observed=True, sort=False)
    peaks = points.loc[cells["rtt_ms"].idxmax(), [*CELL, "rtt_ms", "time_s"]]
    peaks = peaks.rename(columns={"rtt_ms": "peak_ms", "time_s": "peak_after_s"})
    peaks["peak_after_s"] -= delay_s
    late = points[points["time_s"] > until_s - tail_s].groupby(list(CELL), observed=True)["rtt_ms"]
    tail = late.agg(lambda values: values.mean()).rename("tail_ms")
    names = {"mean": "mean_ms", "ci_low": "ci_low_ms", "ci_high": "ci_high_ms"}
    spread = means(per_run, CELL, ["rtt_ms"]).rename(columns=names)
    table = peaks.merge(spread, on=list(CELL)).join(tail, on=list(CELL))
    columns = ["n_seeds", "peak_ms", "peak_after_s", *names.values(), "tail_ms"]
    return table[[*CELL, *columns]]
