"""A VoIP flow's delay and loss, as in Sec. 5.2 of

T. Høiland-Jørgensen, P. Hurtig, A. Brunstrom, "The Good, the Bad and the WiFi: Modern
AQMs in a residential setting", Computer Networks 89 (2015), doi:10.1016/j.comnet.2015.07.014.
"""

from collections.abc import Sequence
from typing import Final, Literal, get_args

import numpy as np
import pandas as pd

from analysis.errors import DataError, require_one
from analysis.measures.metrics import CELL, RUN, Column, cell_metrics
from analysis.measures.registry import Measure, Metric
from analysis.measures.rrul import goodputs
from analysis.runs.axes import axes
from analysis.runs.dataset import Dataset, RunFile, find_runs, read_runs
from analysis.runs.flentfile import TCP_KINDS, Floats
from analysis.runs.settings import Setting, of_setting
from analysis.words import intervals

Delay = Literal["minus_base", "span"]

INDUCED: Final = "induced_delay_ms"
LOSS: Final = "loss_percent"
COLUMNS: Final[tuple[Column, ...]] = (
    ("delay_ms", "voip_delay", "upload", "ms"),
    ("delay_median_ms", "voip_delay_median", "upload", "ms"),
    ("delay_p99_ms", "voip_delay_p99", "upload", "ms"),
    (LOSS, "voip_loss", "upload", "%"),
)
METRICS: Final = {
    "voip_delay_ms": Metric("mean induced one-way delay", "ms"),
    "voip_delay_median_ms": Metric("median induced one-way delay", "ms"),
    "voip_delay_p99_ms": Metric("99th percentile of the induced one-way delay", "ms"),
    "voip_loss_percent": Metric("VoIP loss", "%"),
}


def induced_delays(data: Dataset, *, delay: Delay = "minus_base") -> pd.DataFrame:
    """The VoIP flow's samples, each with induced_delay_ms (Sec. 5.2.1).

    All samples of the test count, those of the seconds without load at both ends, too, as in
    flent's `cdf_combine` of 2014 (docs/metrics.md). A sample is the mean one-way delay of the
    packets of 200 ms (Sec. 5.2.1). `minus_base` takes half the base path's round trip off, which is
    exact where all nodes share a clock; `span` the run's smallest sample, as flent's combined plots
    do (flent, `combiners.py`). With `minus_base` the time that the packet itself takes on the
    bottleneck counts: 1.1 ms at 1 Mbit/s.
    """
    require_one("delay", delay, get_args(Delay))
    samples, _, runs = data
    chosen = samples[samples["kind"] == "voip"]
    if delay == "span":
        floor = chosen.groupby("run", observed=True)["delay_ms"].transform("min")
    else:
        base = runs.set_index("run")["base_rtt_ms"] / 2
        floor = chosen["run"].astype(str).map(base.rename(str)).astype(float)
    return chosen.assign(**{INDUCED: chosen["delay_ms"] - floor})


def cumulative(values: Floats) -> tuple[Floats, Floats]:
    """The empirical distribution: values in order, and the share that is at most each of them."""
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    return ordered, np.arange(1, ordered.size + 1) / ordered.size


def run_voip(data: Dataset, *, delay: Delay = "minus_base") -> pd.DataFrame:
    """One row per run: RUN, then mean, median and 99th percentile of the induced one-way delay in
    ms, and loss_percent: packets that did not arrive, of those sent (Table 2)."""
    grouped = induced_delays(data, delay=delay).groupby("run", observed=True)[INDUCED]
    table = data.runs[list(RUN)].copy()
    for column, values in (
        ("delay_ms", grouped.mean()),
        ("delay_median_ms", grouped.median()),
        ("delay_p99_ms", grouped.quantile(0.99)),
    ):
        table[column] = table["run"].map(values).astype(float)
    lost, packets = (data.runs[name].astype(float) for name in ("voip_lost", "voip_packets"))
    return table.assign(**{LOSS: 100 * lost / packets})


def cell_voip(per_run: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """One row per cell and metric; see metrics.cell_metrics. Table 2 has the mean over runs."""
    return cell_metrics(per_run, COLUMNS, level)


def pooled(delays: pd.DataFrame) -> pd.DataFrame:
    """One row per cell of its distribution, all samples of all runs as one: CELL, samples, and
    median_ms, p95_ms and p99_ms of the induced one-way delay."""
    grouped = delays.groupby(list(CELL), observed=True, sort=False)[INDUCED]
    table = grouped.agg(samples="size", median_ms="median").reset_index()
    for column, share in (("p95_ms", 0.95), ("p99_ms", 0.99)):
        table[column] = grouped.quantile(share).to_numpy()
    return table


def overview(delays: pd.DataFrame, per_run: pd.DataFrame) -> pd.DataFrame:
    """One row per cell for people: quantiles of all samples, and the mean delay and loss over runs.

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
    """The cells of `per_run` beside those of `experiment`, which measures with another tool;
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
    left, right = (one.add_prefix(f"{name}: ") for name, one in zip(names, tools, strict=True))
    return left.join(right).dropna().reset_index()


def _tool(run: RunFile) -> str:
    """What a run measures its calls with: as the paper did, unless its axes name another."""
    return axes(run).get("probe", "D-ITG")


def measure(run: RunFile) -> dict[str, float]:
    """One-way delay, loss and the goodput of the flows beside; raises DataError where it cannot."""
    data = read_runs([run], kinds=(*TCP_KINDS, "voip"), jobs=1)
    row = run_voip(data).iloc[0]
    return {
        "voip_delay_ms": float(row["delay_ms"]),
        "voip_delay_median_ms": float(row["delay_median_ms"]),
        "voip_delay_p99_ms": float(row["delay_p99_ms"]),
        "voip_loss_percent": float(row[LOSS]),
        **goodputs(data),
    }


MEASURES: Final = {"voip": Measure(measure, traffic="flent", test="voip.*")}
