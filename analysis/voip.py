"""A VoIP flow's delay and loss, as gbw2015 measures them (Sec. 5.2, Fig. 3, Table 2).

gbw2015 is T. Høiland-Jørgensen, P. Hurtig, A. Brunstrom, "The Good, the Bad and the WiFi: Modern
AQMs in a residential setting", Computer Networks 89 (2015), doi:10.1016/j.comnet.2015.07.014.
"""

from typing import Final, Literal

import numpy as np
import pandas as pd

from analysis.dataset import Dataset
from analysis.flentfile import Floats
from analysis.metrics import CELL, RUN, Metric, cell_metrics, in_window

Delay = Literal["minus_base", "span"]

INDUCED: Final = "induced_delay_ms"
LOSS: Final = "loss_percent"
METRICS: Final[tuple[Metric, ...]] = (
    ("delay_ms", "voip_delay", "upload", "ms"),
    ("delay_median_ms", "voip_delay_median", "upload", "ms"),
    ("delay_p99_ms", "voip_delay_p99", "upload", "ms"),
    (LOSS, "voip_loss", "upload", "%"),
)
FACTOR, POINTS = 1.5, 0.2
"""Within which a loss agrees with a printed one: the ratio, or the difference in points."""


def induced_delays(data: Dataset, *, delay: Delay = "minus_base") -> pd.DataFrame:
    """The VoIP flow's samples under load, each with induced_delay_ms (gbw2015, Fig. 3).

    A sample is the mean one-way delay of the packets of 200 ms (Sec. 5.2.1). `minus_base` takes
    half the base path's round trip off, which is exact where all nodes share a clock; `span` the
    run's smallest sample, as flent's combined plots do (flent, `combiners.py`). With `minus_base`
    the time that the packet itself takes on the bottleneck counts: 1.1 ms at 1 Mbit/s.
    """
    samples, _, runs = data
    chosen = in_window(samples, runs, "loaded")
    chosen = chosen[chosen["kind"] == "voip"]
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
    """One row a run: RUN, then mean, median and 99th percentile of the induced one-way delay in ms,
    and loss_percent: packets that did not arrive, of those sent under load (Table 2)."""
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
    """One row a cell and metric; see metrics.cell_metrics. Table 2 has the mean over runs."""
    return cell_metrics(per_run, METRICS, level)


def pooled(delays: pd.DataFrame) -> pd.DataFrame:
    """One row a cell of what Fig. 3 plots, all samples of all runs as one: CELL, samples, and
    median_ms, p95_ms and p99_ms of the induced one-way delay."""
    grouped = delays.groupby(list(CELL), observed=True, sort=False)[INDUCED]
    table = grouped.agg(samples="size", median_ms="median").reset_index()
    for column, share in (("p95_ms", 0.95), ("p99_ms", 0.99)):
        table[column] = grouped.quantile(share).to_numpy()
    return table


def loss_agrees(ours: float, published: float) -> bool:
    """Whether a loss in % agrees with a printed one: none with none, else by FACTOR or POINTS."""
    if published == 0:
        return ours == 0
    return abs(ours - published) <= POINTS or 1 / FACTOR <= ours / published <= FACTOR


def compare_loss(cells: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """One row a cell of a printed table of losses: link, qdisc, published, ours (mean over runs),
    ci_low, ci_high, agrees, n_seeds. `cells` is from cell_voip, of one setting; `published` has
    link, qdisc and loss_percent."""
    losses = cells[cells["metric"] == "voip_loss"][
        ["link", "qdisc", "mean", "ci_low", "ci_high", "n_seeds"]
    ]
    table = published[["link", "qdisc", "loss_percent"]].merge(
        losses, on=["link", "qdisc"], how="left", validate="one_to_one"
    )
    table = table.rename(columns={"loss_percent": "published", "mean": "ours"})
    table["n_seeds"] = table["n_seeds"].fillna(0).astype(int)
    pairs = zip(table["ours"], table["published"], strict=True)
    agrees = pd.Series([loss_agrees(*pair) for pair in pairs], index=table.index, dtype="boolean")
    return table.assign(agrees=agrees.mask(table["ours"].isna()))
