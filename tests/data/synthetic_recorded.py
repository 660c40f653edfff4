"""Runs beside which a probe left a table, from one table of several runs."""

import json
from pathlib import Path

import pandas as pd

from analysis.runs import recorded
from analysis.runs.dataset import RunFile, variant_name


def recorded_runs(folder: Path, probe: str, table: pd.DataFrame) -> list[RunFile]:
    """Write the rows of each run as the probe leaves them, and its provenance; those runs."""
    for key, rows in table.groupby(list(recorded.KEY), sort=False):
        experiment, era, link, qdisc, cc, seed = key
        place = folder / "gbw2015" / variant_name(experiment, era) / link.replace("/", "-")
        place = place / qdisc / cc
        place.mkdir(parents=True, exist_ok=True)
        stem = f"seed-{seed:03d}"
        run = f"{place.relative_to(folder)}/{stem}"
        length_s = float(rows["length_s"].iloc[0])
        (place / f"{stem}.json").write_text(json.dumps({"run": run, "length_s": length_s}))
        own = rows.drop(columns=[*recorded.KEY, "length_s"])
        own.to_csv(place / f"{stem}.{probe}.csv", index=False)
    return recorded.find(folder, "gbw2015", probe)
