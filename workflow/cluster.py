"""What a Slurm cluster needs besides Snakemake: no job of an earlier call may still be at work.

Where Snakemake itself was killed, its jobs go on. The next call would do their work again at the
same time, so `python -m workflow.cluster cancel` ends them first. What they had done stays.
"""

import argparse
import hashlib
import shutil
import subprocess
import sys
import time
from pathlib import Path

from qdisclab.emulation.errors import EmulationError, MissingTool
from qdisclab.emulation.host.storage import command

#: Seconds that cancelled jobs may take to end.
PATIENCE_S = 120.0

#: Seconds of work that a job should have: less and the scheduler is kept busy, more and a failed
#: node costs more, and the job waits longer for its turn.
JOB_S = 1800.0


def prefix(folder: Path) -> str:
    """Return what the names of the jobs of the checkout in `folder` begin with."""
    return f"qdisc-lab-{hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:8]}"


def batches_a_job(batches: int, batch_s: float, jobs: int) -> int:
    """Return how many batches of `batch_s` seconds go into a job.

    As many as take `JOB_S`, but not so few jobs that some of the `jobs` at once have no work.
    """
    filling = max(1, round(JOB_S / max(batch_s, 1.0)))
    spread = -(-batches // max(jobs, 1))
    return max(1, min(filling, spread))


def check() -> None:
    """Raise `MissingTool` where this machine cannot submit jobs."""
    if shutil.which("sbatch") is None:
        todo = "call it on a machine that can submit jobs, or without --profile slurm"
        raise MissingTool("there is no sbatch", "this machine", todo)
    _slurm("sinfo", "--noheader")


def living(name: str) -> list[str]:
    """Return the ids of this user's jobs, pending or running, whose names begin so."""
    lines = _slurm("squeue", "--me", "--noheader", "--format=%i %j").splitlines()
    jobs = (line.split(maxsplit=1) for line in lines)
    return [job for job, title in jobs if title.startswith(name)]


def cancel(name: str) -> int:
    """Cancel the jobs whose names begin so, wait until they are gone and return how many."""
    jobs = living(name)
    if not jobs:
        return 0
    _slurm("scancel", *jobs)
    deadline = time.monotonic() + PATIENCE_S
    while living(name):
        if time.monotonic() > deadline:
            what = f"jobs of an earlier call do not end: {', '.join(living(name))}"
            raise EmulationError(what, "squeue --me", "wait until they have, then call it again")
        time.sleep(1)
    return len(jobs)


def ask_squeue_alone() -> None:
    """Let Snakemake's executor ask `squeue` alone about its jobs, as the profile says.

    Where the controller does not answer once, as when it has just started, the executor (2.8.0)
    turns to `sacct`, which a cluster without accounting refuses, for all of its attempts; then it
    forgets its jobs and waits for ever.
    """
    if executor := sys.modules.get("snakemake_executor_plugin_slurm"):
        vars(executor)["is_query_tool_available"] = lambda tool: tool == "squeue"


def _slurm(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        todo = "wait until its controller answers (scontrol ping), then call it again"
        raise MissingTool(f"{command[0]} failed: {lines[-1]}", "Slurm", todo)
    return done.stdout


@command
def main(arguments: list[str] | None = None) -> int:
    """Do the action of the command line; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m workflow.cluster", description=__doc__)
    parser.add_argument("action", choices=("check", "cancel"))
    given = parser.parse_args(arguments)
    check()
    if given.action == "cancel" and (ended := cancel(prefix(Path()))):
        print(f"==> ended {ended} jobs of an earlier call; what they had done stays")
    return 0


if __name__ == "__main__":
    sys.exit(main())
