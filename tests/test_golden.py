"""Every shipped run keeps its id, its random numbers and, to the byte, what its guest is told."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from emulation.config import all_labels, experiments
from emulation.model import Run
from emulation.provenance import digest
from emulation.verify import shipped

ROOT = Path(__file__).parents[1]
GOLDEN = Path(__file__).parent / "data" / "golden" / "jobs.csv"


def test_ids_random_numbers_and_jobs_of_the_shipped_runs_stay() -> None:
    with GOLDEN.open() as file:
        golden = {row["run"]: (row["job"], row["random"]) for row in csv.DictReader(file)}
    known = all_labels(experiments())
    runs = [one.run(known) for one in shipped(ROOT / "data")]
    assert {run.id for run in runs} == golden.keys()
    assert {run.id: one for run in runs if (one := made(run)) != golden[run.id]} == {}


def made(run: Run) -> tuple[str, str]:
    """The digest of the run's job and the seed of its random numbers."""
    job = json.dumps(run.job(), sort_keys=True).encode()
    return digest(job), f"{run.random:016x}"
