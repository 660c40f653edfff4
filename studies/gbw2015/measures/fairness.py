"""How fairly flows share a link, over the runs of a cell (gbw2015, Sec. 6.1)."""

from typing import Final, NamedTuple

import pandas as pd

from qdisclab.analysis.measures.fairness import JAIN, TOTAL, flow_column
from qdisclab.analysis.measures.metrics import CELL, Column, cell_metrics
from qdisclab.analysis.words import intervals


class BarMetric(NamedTuple):
    """The metric that is drawn, and the column that distinguishes the bars of a group."""

    metric: str
    by: str
    title: str
    label: str


SHOWN: Final = {
    "jain": BarMetric("jain_index", "link", "Link (Mbit/s)", "Jain's fairness index"),
    "goodput": BarMetric("goodput", "direction", "Round trip", "Mean goodput (Mbit/s)"),
}


def cell_fairness(per_run: pd.DataFrame, rtts_ms: list[float]) -> pd.DataFrame:
    """Return one row per cell and metric over its seeds; the paper's bars are mean and standard
    deviation.

    metric is jain_index, goodput_total or goodput, direction of the latter "10 ms".
    """
    metrics: list[Column] = [
        (JAIN, "jain_index", "upload", ""),
        (TOTAL, "goodput_total", "upload", "Mbit/s"),
        *((flow_column(rtt), "goodput", f"{rtt:g} ms", "Mbit/s") for rtt in rtts_ms),
    ]
    return cell_metrics(per_run, metrics)


def overview(cells: pd.DataFrame) -> pd.DataFrame:
    """Return one row per cell: CELL, n_seeds, jain_index, interval, total goodput and that of each
    flow.

    `cells` is from cell_fairness.
    """
    index = cells[cells["metric"] == "jain_index"].set_index(list(CELL))
    table = index[["n_seeds", "mean"]].rename(columns={"mean": JAIN})
    table["interval"] = intervals(index["ci_low"], index["ci_high"])
    total = cells[cells["metric"] == "goodput_total"].set_index(list(CELL))["mean"]
    table["Total (Mbit/s)"] = total
    flows = cells[cells["metric"] == "goodput"]
    for rtt, rows in flows.groupby("direction", sort=False):
        table[f"{rtt} (Mbit/s)"] = rows.set_index(list(CELL))["mean"]
    return table.reset_index()
