"""Runs beside which a probe left a table, from one table of several runs."""

from pathlib import Path

import pandas as pd

from qdisclab.analysis.runs import recorded
from qdisclab.analysis.runs.dataset import RunFile
from tests.data import provenances


def recorded_runs(folder: Path, probe: str, table: pd.DataFrame) -> list[RunFile]:
    """Write the rows of each run as the probe leaves them, and its provenance; those runs."""
    for key, rows in table.groupby(list(recorded.KEY), sort=False):
        experiment, era, link, qdisc, cc, seed = key
        length_s = float(rows["length_s"].iloc[0])
        run = provenances.made_up(
            folder, "gbw2015", experiment, era, link, qdisc, cc, seed, length_s
        )
        own = rows.drop(columns=[*recorded.KEY, "length_s"])
        own.to_csv(run.provenance.with_suffix(f".{probe}.csv"), index=False)
    return recorded.find(folder, "gbw2015", probe)
