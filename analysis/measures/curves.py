"""Flent's series of some runs, in few enough steps for a page to draw them."""

from typing import Final

import pandas as pd

from qdisclab.analysis.runs.dataset import Dataset
from qdisclab.analysis.runs.flentfile import TCP_KINDS

MOST_CURVES: Final = 60  # of more cells nobody tells apart which is which
STEPS: Final = (100, 3000)  # at most: of a curve that a page draws, and of all curves together


def first_runs(data: Dataset) -> pd.DataFrame | None:
    """Return flent's series of the run with the least seed of each cell: what tells cells apart,
    time_s, and the means in equal steps of round trips, of a call's delays, of the times of pages,
    and of the sum of all flows in a direction.

    None where there are no series, or more than MOST_CURVES cells.
    """
    cell = ["experiment", "link", "qdisc", "era", "cc"]
    first = data.runs.sort_values("seed", kind="stable").drop_duplicates(cell)
    if data.samples.empty or len(first) > MOST_CURVES:
        return None
    samples = data.samples[data.samples["run"].isin(first["run"])]
    steps = min(STEPS[0], STEPS[1] // len(first))
    step_s = max(0.2, float(f"{samples['time_s'].max() / steps:.1g}"))
    keys, curves = ["run", "time_s"], {}
    for column in ("rtt_ms", "delay_ms", "page_ms"):
        curves[column] = samples.groupby(keys, observed=True)[column].mean()
    for way, kind in zip(("download", "upload"), TCP_KINDS, strict=True):
        flows = samples[samples["kind"] == kind].groupby(keys, observed=True)
        curves[f"goodput_{way}_mbit_s"] = flows["goodput_mbit_s"].sum(min_count=1)
    table = pd.DataFrame(curves).reset_index()
    table["time_s"] = table["time_s"] // step_s * step_s
    table = table.groupby(keys, observed=True).mean().reset_index()
    about = first[["run", *(name for name in cell if first[name].nunique() > 1)]]
    return about.merge(table, on="run").drop(columns="run").dropna(axis="columns", how="all")
