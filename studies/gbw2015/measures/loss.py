"""Losses of a VoIP call, beside those that the paper prints (Tables 2 and 3)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
import pandera.pandas as pa

from qdisclab.analysis.errors import DataError, require_one
from qdisclab.analysis.measures import agreement
from qdisclab.analysis.measures.metrics import CELL
from qdisclab.analysis.measures.voip import run_voip
from qdisclab.analysis.runs.dataset import Dataset
from qdisclab.analysis.runs.published import read_table
from qdisclab.analysis.runs.study import StudyFolder
from qdisclab.analysis.words import intervals

from .voip import cell_voip

LOSSES: Final = pa.DataFrameSchema(
    {
        "table": pa.Column(int),
        "path": pa.Column(str, pa.Check.isin(["wired", "wifi"])),
        "cross_traffic": pa.Column(str, pa.Check.isin(["tcp", "rrul"])),
        "link": pa.Column(str),
        "qdisc": pa.Column(str),
        "loss_percent": pa.Column(float, pa.Check.in_range(0, 100)),
        "reading_error": pa.Column(float, pa.Check.gt(0)),
    },
    unique=["table", "cross_traffic", "link", "qdisc"],
    strict=True,
)
"""One row per printed loss. The paper prints 0 as a dash, and rounds: `reading_error`, in points,
is half of the last digit's unit."""


def cell_losses(data: Dataset, experiments: Mapping[str, str]) -> pd.DataFrame:
    """Return one row per cell and experiment: CELL, beside (the name in `experiments`), n_seeds,
    and mean, std, ci_low and ci_high of the loss in %."""
    per_run = run_voip(data)
    experiment = per_run["run"].map(data.runs.set_index("run")["experiment"])
    parts = []
    for name, label in experiments.items():
        cells = cell_voip(per_run[experiment == label]).assign(beside=name)
        parts.append(cells[cells["metric"] == "voip_loss"])
    columns = [*CELL, "beside", "n_seeds", "mean", "std", "ci_low", "ci_high"]
    return pd.concat(parts, ignore_index=True)[columns]


def require_path(study: StudyFolder, experiments: Mapping[str, str], over: str) -> None:
    """Raise DataError where one of `experiments`, what they are called and their labels, is not
    `over` the wire (`wired`) or `wifi`: printed losses of the one stand beside runs of it alone."""
    for of in experiments.values():
        if about := study.experiments.get(of):
            its = "wired" if getattr(about.points[0].rig, "wifi", None) is None else "wifi"
            if its != over:
                wrong = f"is '{over}', and the runs of {of} are '{its}'"
                raise DataError.of("path", wrong, f"Write path = '{its}', or other experiments")


def read_losses(path: Path, experiments: Mapping[str, str], over: str = "wired") -> pd.DataFrame:
    """Return printed losses of the VoIP tests `over` the wire (Table 2) or `wifi` (Table 3):
    beside, link, qdisc, loss_percent, reading_error.

    Those of `experiments`, what they are called and their labels, from which `beside` follows.
    Raises DataError where the file is not such a table.
    """
    table = read_table(path, LOSSES, "losses")
    require_one("path", over, dict.fromkeys(table["path"]))
    called = {("rrul" if "rrul" in of else "tcp"): name for name, of in experiments.items()}
    chosen = table[(table["path"] == over) & table["cross_traffic"].isin(called)]
    return chosen.assign(beside=chosen["cross_traffic"].map(called))[
        ["beside", "link", "qdisc", "loss_percent", "reading_error"]
    ].reset_index(drop=True)


def compare_loss(cells: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Return one row per printed loss: beside, link, qdisc, published, ours (mean over runs),
    ratio, interval, allowed (points), agrees, n_seeds. It agrees as `metrics.compare` has it; where
    no seed lost a packet, as many may have been lost as would not be seen. `cells` is from
    cell_losses, of one setting, `published` from read_losses."""
    keys = ["beside", "link", "qdisc"]
    ours = cells.astype({"link": str, "qdisc": str}).drop(columns=["era", "cc"])
    table = published.merge(ours, on=keys, how="left", validate="one_to_one")
    table = table.rename(columns={"loss_percent": "published", "mean": "ours"})
    table["n_seeds"] = table["n_seeds"].fillna(0).astype(int)
    reach = agreement.spread(table["std"], table["n_seeds"])
    unseen = agreement.unseen(agreement.PACKET_PERCENT, 1) / table["n_seeds"].clip(lower=1)
    reach = np.where(table["ours"] == 0, np.fmax(reach, unseen), reach)
    table = agreement.judged(table, reach)
    table["ratio"] = table["ratio"].where(table["published"] > 0)
    table["interval"] = intervals(table["ci_low"], table["ci_high"])
    values = ["published", "ours", "ratio", "interval", "allowed", "agrees", "n_seeds"]
    return table[[*keys, *values]]
