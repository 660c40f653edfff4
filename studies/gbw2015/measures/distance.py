"""How far an emulation is from computers: relative errors of all values that others printed.

The relative error of ours is (ours - theirs) / theirs; its size is told by median and 90th
percentile.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from qdisclab.analysis.measures import fairness, metrics
from qdisclab.analysis.runs import dataset
from qdisclab.analysis.runs.dataset import RunFile
from qdisclab.analysis.runs.published import read_published

from .fairness import cell_fairness

PAIRS: Final = (
    "source", "quantity", "unit", "link", "qdisc", "detail",
    "published", "reading_error", "ours", "ci_low", "ci_high",
)  # fmt: skip
_QUANTITIES: Final = {
    "induced_latency": "induced latency", "goodput": "goodput", "jain_index": "Jain's index"
}  # fmt: skip


def printed_rrul(runs: Sequence[RunFile], folder: Path) -> pd.DataFrame:
    """Return PAIRS of gbw2015's Fig. 2: medians of induced latency and goodput."""
    cells = metrics.cell_metrics(metrics.run_metrics(dataset.read_runs(runs), window="full"))
    return _pairs("Fig. 2", cells, folder / "fig2.csv", "median")


def printed_fairness(runs: Sequence[RunFile], folder: Path) -> pd.DataFrame:
    """Return PAIRS of gbw2015's Fig. 6: means of Jain's index, and of each flow's goodput."""
    read = dataset.read_runs(runs, kinds=["tcp_upload"])
    cells = cell_fairness(fairness.run_fairness(read), fairness.round_trips(read))
    return _pairs("Fig. 6", cells, folder / "fig6.csv", "mean")


def of_first(runs: Sequence[RunFile]) -> list[RunFile]:
    """Of each link the runs of the first of its variants among `runs`: where a preferred era has
    none, those of the next."""
    first: dict[str, str] = {}
    return [run for run in runs if first.setdefault(run.link, run.variant) == run.variant]


PRINTED: Final = {"rrul": printed_rrul, "rtt_fairness": printed_fairness}
"""Experiment -> its runs (of one era and congestion control) and the folder of printed values to
PAIRS."""


def errors(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return PAIRS with their relative `error`; what is 0 there has none, and is left out."""
    there = pairs[(pairs["published"] > 0) & pairs["ours"].notna()]
    return there.assign(error=there["ours"] / there["published"] - 1)


def summary(table: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Summarise `errors` by groups: how many values, their median |error| and its 90th percentile,
    and the median error with its sign, as shares."""
    grouped = table.assign(size=table["error"].abs()).groupby(list(by), sort=False, observed=True)
    return grouped.agg(
        values=("size", "size"),
        median=("size", "median"),
        p90=("size", lambda sizes: float(np.percentile(sizes, 90))),
        median_signed=("error", "median"),
    ).reset_index()


def _pairs(source: str, cells: pd.DataFrame, path: Path, marker: metrics.Marker) -> pd.DataFrame:
    plain = cells.drop(columns=["era", "cc"])
    compared = metrics.compare(plain, read_published(path), marker=marker)
    compared = compared.dropna(subset=["published"])
    quantity, detail = compared["metric"].map(_QUANTITIES), compared["direction"]
    return compared.assign(source=source, quantity=quantity, detail=detail)[list(PAIRS)]
