"""The ratio of marks with ECN to drops without, as in khademi2013 (Sec. 7, Table 5)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
import pandera.pandas as pa

from qdisclab.analysis.measures import agreement
from qdisclab.analysis.measures.metrics import means
from qdisclab.analysis.runs.dataset import RunFile
from qdisclab.analysis.runs.published import read_table
from qdisclab.analysis.runs.settings import Setting
from qdisclab.analysis.words import intervals

from ..packets import run_row
from .sensitivity import with_axes

SENDERS: Final = 4
REPETITIONS: Final = 10  # Sec. 3.1.3
DIGIT: Final = 0.0005
"""The reading error of a ratio: half its last digit."""

_CELL: Final = ["era", "cc", "flows_per_sender", "aqm"]

RATIOS: Final = pa.DataFrameSchema(
    {
        "flows_per_sender": pa.Column(int, pa.Check.gt(0)),
        "aqm": pa.Column(str, pa.Check.isin(["codel", "pie", "ared"])),
        "ratio": pa.Column(float, pa.Check.gt(0)),
    },
    unique=["flows_per_sender", "aqm"],
    strict=True,
)
"""One row per printed ratio."""


def read_ratios(path: Path) -> pd.DataFrame:
    """Read Table 5; raise DataError where the file is not such a table."""
    return read_table(path, RATIOS, "ratios")


def marks_by_drops(files: Sequence[RunFile]) -> pd.DataFrame:
    """Return one row per era, cc, flows_per_sender, aqm and seed: marks, drops without ECN, their
    ratio.

    Marks and drops are those of all
    packets that came to the queue while the load ran and afterwards; with ECN, packets that cannot
    be marked and those that the AQM drops all the same are not marks.
    """
    table = with_axes(pd.DataFrame(map(run_row, files)), files)
    table["flows_per_sender"] = table["flows"] // SENDERS
    keys = ["era", "cc", "flows_per_sender", "aqm", "seed"]
    marks = table[table["ecn"]].set_index(keys)["packets_marked"]
    drops = table[~table["ecn"]].set_index(keys)["packets_dropped"]
    both = pd.concat([marks.rename("marks"), drops.rename("drops")], axis=1, join="inner")
    return both.assign(ratio=both["marks"] / both["drops"]).reset_index()


def compare(
    per_seed: pd.DataFrame, published: pd.DataFrame, settings: Sequence[Setting]
) -> pd.DataFrame:
    """Return one row per setting and printed ratio, with our ratio.

    Columns: era, cc, flows_per_sender, aqm, published, ours (mean over seeds), ci_low, ci_high,
    agrees and n_seeds; NaN, and agrees missing, where there is no run.
    """
    cells = means(per_seed, _CELL, ["ratio"]).rename(columns={"mean": "ours"})
    wanted = published.rename(columns={"ratio": "published"})
    wanted = pd.concat([wanted.assign(era=of.era, cc=of.cc) for of in settings])
    table = wanted.merge(cells, on=_CELL, how="left")
    deviations = np.log(per_seed.set_index(_CELL)["ratio"]).groupby(_CELL).std()
    std = deviations.reindex(pd.MultiIndex.from_frame(table[_CELL])).to_numpy()
    ours, printed = (np.log(table[name]) for name in ("ours", "published"))
    reach = agreement.spread(std, table["n_seeds"], repetitions=REPETITIONS)
    error = np.log1p(DIGIT / table["published"])
    table["agrees"] = agreement.agrees(ours, printed, error, reach)
    table["n_seeds"] = table["n_seeds"].fillna(0).astype(int)
    return table[[*_CELL, "published", "ours", "ci_low", "ci_high", "agrees", "n_seeds"]]


def readable(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of `compare` as a notebook shows it."""
    shown = table.assign(interval=intervals(table["ci_low"], table["ci_high"]))
    columns = ["flows_per_sender", "aqm", "published", "ours", "interval", "agrees", "n_seeds"]
    return shown[columns].reset_index(drop=True)
