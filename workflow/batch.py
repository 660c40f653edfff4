"""Do a batch of runs of one cell: what one step of a cluster's job does.

`python -m workflow.batch STAMP RUNS --data results/data --keep results/failed`, with a file RUNS
that asks for them (`emulation.config.request`), does those that are not there or not of today's
kernel, guest and job, and then writes STAMP. A batch that was stopped or failed goes on
where it was when it is started again; one run that fails does not keep the others from being done.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from emulate.commands.run import add_probes
from emulation import kernel
from emulation.config import request
from emulation.errors import EmulationError
from emulation.host import storage
from emulation.kernel import Kernel
from emulation.kinds.probes.probe import Probe
from emulation.machine import rootfs
from emulation.machine.rootfs import RootFs
from emulation.model.run import Run
from emulation.runs.run import execute, paths, today


def is_current(run: Run, built: Kernel, root: RootFs, data: Path) -> bool:
    """Whether `data` has `run`, made by today's kernel, root file system, guest code and job."""
    target, record = paths(run, data)
    try:
        told = json.loads(record.read_text())
    except (OSError, ValueError):
        return False
    return target.is_file() and told.get("identity") == today(run, built, root)


def do(
    runs: tuple[Run, ...],
    built: Kernel,
    root: RootFs,
    data: Path,
    keep: Path,
    probes: tuple[Probe, ...] = (),
) -> list[str]:
    """Do those of `runs` that `data` lacks, or lacks with what `probes` record; what went wrong, an
    entry for each run that failed."""
    failures = []
    for run in runs:
        try:
            again = not is_current(run, built, root, data)
            result = execute(run, built, root, data, keep=keep, again=again, probes=probes)
        except EmulationError as error:
            failures.append(str(error))
            print(f"error: {error}", flush=True)
            continue
        done = result.ending
        took = f"{done.virtual_s:.1f} s in {done.wall_s:.1f} s" if done else "there already"
        print(f"{run.id}: {took}", flush=True)
    return failures


def write(stamp: Path, runs: tuple[Run, ...], data: Path) -> None:
    """Write what the batch has made: the digest of the data by the run's id."""
    made = {run.id: json.loads(paths(run, data)[1].read_text())["data_sha256"] for run in runs}
    stamp.parent.mkdir(parents=True, exist_ok=True)
    partial = stamp.with_name(f".{stamp.name}.{os.getpid()}")
    partial.write_text(json.dumps(made, indent=1, sort_keys=True) + "\n")
    partial.replace(stamp)


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m workflow.batch", description=__doc__)
    parser.add_argument("stamp", type=Path, help="what is written when all runs are there")
    parser.add_argument("runs", type=Path, help="file that asks for them")
    add_probes(parser)
    parser.add_argument("--data", type=Path, required=True, help="root of the runs")
    parser.add_argument("--keep", type=Path, required=True, help="for what a failed guest leaves")
    given = parser.parse_args(arguments)
    try:
        runs = request.runs_of(request.read(given.runs))
        built, root = kernel.build(series=runs[0].kernel), rootfs.build()
        failures = do(
            runs, built, root, given.data, given.keep, tuple(map(Probe.parse, given.probe))
        )
        if not failures:
            write(given.stamp, runs, given.data)
            return 0
    except EmulationError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_status
    except OSError as error:
        told = storage.of(error)
        print(f"error: {told}", file=sys.stderr)
        return told.exit_status
    print(f"{len(failures)} of {len(runs)} runs failed:", *failures, sep="\n", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
