"""What the user is told of runs that are done, on the command line and in a notebook."""

from collections.abc import Iterable
from pathlib import Path

from qdisclab.emulation import datafile
from qdisclab.emulation.config import remarks
from qdisclab.emulation.host.terminal import note, warn
from qdisclab.emulation.kernel import Kernel
from qdisclab.emulation.machine.rootfs import RootFs
from qdisclab.emulation.model.run import Run
from qdisclab.emulation.runs.run import Result, paths, today


def of_settings(runs: Iterable[Run]) -> None:
    """Print what settings of `runs` do that they do not seem to."""
    for remark in dict.fromkeys(remark for run in runs for remark in remarks.of_run(run)):
        note(remark)


def of_result(run: Run, result: Result, kernel: Kernel, root: RootFs, again: str) -> None:
    """Print what was noted while `run` was done; of one that was there already, what it would be
    made of today that it was not. `again` is what repeats it."""
    record = datafile.read_json(result.provenance)
    if (ending := result.ending) is not None:
        for text in ending.notes:
            note(f"{run.id}: {text}")
        for text in record.get("warnings", ()):
            warn(f"{run.id}: {text}")
        return
    from qdisclab.emulation.checks.verify import other_identity  # what it takes is seldom needed

    if differences := ", ".join(other_identity(record["identity"], today(run, kernel, root))):
        note(f"{run.id} was made with a different {differences}; {again} repeats it")


def of_seeds(runs: Iterable[Run], data: Path) -> None:
    """Print of which cells seeds in the folder `data` came out the same."""
    records = {paths(run, data)[1]: run for run in runs}
    there = [(run.cell, run.seed, record) for record, run in records.items() if record.exists()]
    for cell in dict.fromkeys(records[record].cell for record in datafile.twins(there)):
        note(
            f"seeds of {cell} gave the same result: nothing in them is random, so they are not "
            "repetitions; write start_jitter into its traffic"
        )
