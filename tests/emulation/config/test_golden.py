"""Every shipped run keeps its id, its random numbers and, to the byte, what its guest is told.

`python -m tests.emulation.config.test_golden` adds runs that the list lacks, and changes no line.
"""

import csv
import json

from qdisclab.emulation.checks.verify import shipped
from qdisclab.emulation.config.catalogue import all_labels, experiments
from qdisclab.emulation.config.job import job_of
from qdisclab.emulation.machine.provenance import digest
from qdisclab.emulation.model.run import Run
from tests import ROOT

GOLDEN = ROOT / "tests" / "data" / "golden" / "jobs.csv"


def golden() -> dict[str, tuple[str, str]]:
    """Of each run that was shipped, what `made` was then."""
    with GOLDEN.open() as file:
        return {row["run"]: (row["job"], row["random"]) for row in csv.DictReader(file)}


def runs() -> list[Run]:
    """The runs that ship, as today's studies have them."""
    known = all_labels(experiments())
    return [shipped_run.run(known) for shipped_run in shipped(ROOT / "data")]


def test_ids_random_numbers_and_jobs_of_the_shipped_runs_stay() -> None:
    then, now = golden(), {run.id: made(run) for run in runs()}
    assert now.keys() == then.keys()
    assert {run: found for run, found in now.items() if found != then[run]} == {}


def made(run: Run) -> tuple[str, str]:
    """The digest of the run's job and the seed of its random numbers."""
    job = json.dumps(job_of(run), sort_keys=True).encode()
    return digest(job), f"{run.random:016x}"


if __name__ == "__main__":
    listed = golden()
    listed |= {run.id: made(run) for run in runs() if run.id not in listed}
    runs_in_order = sorted(listed, key=lambda run: run.split("/"))
    lines = (",".join((run, *listed[run])) for run in runs_in_order)
    GOLDEN.write_text("\n".join(["run,job,random", *lines]) + "\n")
