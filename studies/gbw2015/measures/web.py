"""Fetch times of pages over the runs of a cell (gbw2015, Sec. 5.3)."""

from typing import Final

import pandas as pd

from qdisclab.analysis.measures.metrics import CELL, Column, cell_metrics
from qdisclab.analysis.measures.web import FETCH, NORMALISED
from qdisclab.analysis.words import intervals

COLUMNS: Final[tuple[Column, ...]] = (
    (FETCH, "fetch", "round_trip", "s"),
    (NORMALISED, "fetch_normalised", "round_trip", ""),
)


def cell_fetch(per_run: pd.DataFrame) -> pd.DataFrame:
    """Return one row per cell and metric: mean and standard deviation over runs of the runs'
    averages, as the paper's bars (Sec. 5.3.1), and an interval; see metrics.cell_metrics."""
    return cell_metrics(per_run, COLUMNS)


def overview(per_run: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    """Return one row per cell for people; `per_run` is from web.normalised, `cells` from
    cell_fetch.

    CELL, n_seeds, normalised (mean over runs), interval, std, fetch_s, pages, pages_failed.
    """
    by_metric = {
        name: rows.set_index(list(CELL)) for name, rows in cells.groupby("metric", sort=False)
    }
    bars = by_metric["fetch_normalised"]
    table = bars[["n_seeds", "mean"]].rename(columns={"mean": "normalised"})
    table["interval"] = intervals(bars["ci_low"], bars["ci_high"])
    table["std"] = bars["std"]
    table["fetch_s"] = by_metric["fetch"]["mean"]
    counted = per_run.groupby(list(CELL), observed=True)[["pages", "pages_failed"]].sum()
    return table.join(counted).reset_index()
