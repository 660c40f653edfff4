"""A VoIP flow's delay and loss over the runs of a cell (gbw2015, Sec. 5.2)."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.measures.metrics import CELL, Column, cell_metrics
from qdisclab.analysis.measures.voip import INDUCED, LOSS, run_voip
from qdisclab.analysis.runs.axes import axes
from qdisclab.analysis.runs.dataset import RunFile, find_runs, read_runs
from qdisclab.analysis.runs.flentfile import Floats
from qdisclab.analysis.runs.settings import Setting, of_setting
from qdisclab.analysis.words import intervals

COLUMNS: Final[tuple[Column, ...]] = (
    ("delay_ms", "voip_delay", "upload", "ms"),
    ("delay_median_ms", "voip_delay_median", "upload", "ms"),
    ("delay_p99_ms", "voip_delay_p99", "upload", "ms"),
    (LOSS, "voip_loss", "upload", "%"),
)


def cumulative(values: Floats) -> tuple[Floats, Floats]:
    """Return the empirical distribution: values in order, and the share that is at most each of
    them."""
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    return ordered, np.arange(1, ordered.size + 1) / ordered.size


def cell_voip(per_run: pd.DataFrame) -> pd.DataFrame:
    """Return one row per cell and metric; see metrics.cell_metrics. Table 2 has the mean over
    runs."""
    return cell_metrics(per_run, COLUMNS)


def pooled(delays: pd.DataFrame) -> pd.DataFrame:
    """Return one row per cell of its distribution, all samples of all runs as one: CELL, samples,
    and median_ms, p95_ms and p99_ms of the induced one-way delay."""
    grouped = delays.groupby(list(CELL), observed=True, sort=False)[INDUCED]
    table = grouped.agg(samples="size", median_ms="median").reset_index()
    for column, share in (("p95_ms", 0.95), ("p99_ms", 0.99)):
        table[column] = grouped.quantile(share).to_numpy()
    return table


def overview(delays: pd.DataFrame, per_run: pd.DataFrame) -> pd.DataFrame:
    """Return one row per cell for people: quantiles of all samples, and the mean delay and loss
    over runs.

    CELL, n_seeds, samples, median_ms, p95_ms, p99_ms, mean_ms, interval, loss_percent.
    """
    cells = cell_voip(per_run)
    mean = cells[cells["metric"] == "voip_delay"].set_index(list(CELL))
    loss = cells[cells["metric"] == "voip_loss"].set_index(list(CELL))["mean"]
    table = pooled(delays).set_index(list(CELL))
    table.insert(0, "n_seeds", mean["n_seeds"])
    table["mean_ms"] = mean["mean"]
    table["interval"] = pd.Series(intervals(mean["ci_low"], mean["ci_high"]), index=mean.index)
    return table.assign(loss_percent=loss).reset_index()


def other_tool(
    runs: Sequence[RunFile], per_run: pd.DataFrame, experiment: str, setting: Setting
) -> pd.DataFrame:
    """Return the cells of `per_run` beside those of `experiment`, which measures with another tool;
    `per_run` is of `runs`.

    One row per qdisc: median and 99th percentile of the delay in ms and loss in %, means over runs,
    of the one tool and the other. Empty where `experiment` has no run.
    """
    first = runs[0]
    try:
        files = find_runs(
            first.root, first.paper, experiment, eras=setting.era, ccs=setting.cc,
            length=first.length, links=first.link,
        )  # fmt: skip
    except DataError:
        return pd.DataFrame(columns=["qdisc"])
    titles = {"delay_median_ms": "Median (ms)", "delay_p99_ms": "99th p. (ms)", LOSS: "Loss (%)"}
    columns = list(titles)
    ours = of_setting(per_run, setting).groupby("qdisc", observed=True, sort=False)[columns].mean()
    others = run_voip(read_runs(files, kinds=["voip"])).groupby("qdisc", observed=True)[columns]
    names = [_tool(first), _tool(files[0])]
    tools = [ours.rename(columns=titles), others.mean().rename(columns=titles)]
    left, right = (tool.add_prefix(f"{name}: ") for name, tool in zip(names, tools, strict=True))
    return left.join(right).dropna().reset_index()


def _tool(run: RunFile) -> str:
    """Return what a run measures its calls with: as the paper did, unless its axes name another."""
    return axes(run).get("probe", "D-ITG")
