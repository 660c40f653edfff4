"""How much results depend on how exact a testbed's path is: runs over paths of several kinds.

A path is either one whose delay varies, by the `noise` of its rig in packet times of the
bottleneck, or one with another layer in place of noise, which its era names: a clock at whose ticks
packets leave, or a card (docs/eras.md). Runs of an experiment without `noise` and of an era without
such a layer have the era's own path.
"""

import re
from collections.abc import Sequence
from typing import Final

import pandas as pd

from qdisclab.analysis.measures.metrics import COLUMNS, means
from qdisclab.analysis.measures.table import measure_runs
from qdisclab.analysis.runs.axes import axes
from qdisclab.analysis.runs.dataset import RunFile

QUANTITIES: Final = {column: metric for column, metric, *_ in COLUMNS}
"""A metric of what is measured -> the metric of published values that it belongs to."""

CLOCK: Final = re.compile(r"[+]ticks_(\d+)([mu]s)")


def factor(path: str) -> float | None:
    """Return by how many packet times the delay of `path` varies; None where it has another
    layer."""
    kind, _, value = path.partition(" ")
    return float(value) if kind == "noise" else None


def path_of(run: RunFile) -> str:
    """Return the path of a run: `noise 0.3`, `clock 4 ms`, `card`, or its era, `2014c`."""
    if clock := CLOCK.search(run.era):
        return f"clock {clock[1]} {clock[2].replace('u', 'µ')}"
    if "+card_" in run.era:
        return "card"
    noise = axes(run).get("noise")
    return run.era if noise is None else f"noise {float(noise):g}"


def by_path(runs: Sequence[RunFile], published: pd.DataFrame) -> pd.DataFrame:
    """Return one row per path, qdisc and quantity: n_seeds, mean, ci_low, ci_high (Student's t),
    least and most of the seeds, and published, NaN where nothing is printed.

    Runs may have their measures in place of their data. `published` is from
    runs.published.read_published: a printed goodput of either direction stands for both, one of the
    upload for that alone. Raises DataError for a run that cannot be read.
    """
    measured = measure_runs(runs).assign(path=[path_of(run) for run in runs])
    table = means(measured, ["path", "qdisc"], list(QUANTITIES), more=["min", "max"])
    table = table.rename(columns={"min": "least", "max": "most"})
    table["published"] = [
        _printed(published[published["qdisc"] == qdisc], quantity)
        for qdisc, quantity in zip(table["qdisc"], table["quantity"], strict=True)
    ]
    columns = ["path", "qdisc", "quantity", "n_seeds", "mean", "ci_low", "ci_high"]
    return table[[*columns, "least", "most", "published"]]


def _printed(values: pd.DataFrame, quantity: str) -> float:
    """Return the printed value of a quantity, NaN for none; `values` are of one qdisc."""
    way = quantity.split("_")[1]  # of goodputs: download or upload
    chosen = values[values["metric"] == QUANTITIES[quantity]]
    chosen = chosen[chosen["direction"].isin(["round_trip", "one", way])]
    return float(chosen["value"].iloc[0]) if len(chosen) else float("nan")
