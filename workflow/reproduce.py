"""Run Snakemake and show how far it is: `python -m workflow local --cores 4 ...`.

The arguments are the name of a profile and Snakemake's. `workflow.progress` shows how far it is;
this module chooses what the profile cannot know, and says at the end what failed, or for a dry run
what would be done.
"""

from __future__ import annotations

import json
import re
import signal
import sys
from collections.abc import Callable
from contextlib import nullcontext, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snakemake_interface_logger_plugins.registry import LoggerPluginRegistry

from qdisclab.analysis.words import duration
from qdisclab.emulation import kernel
from qdisclab.emulation.checks import stale
from qdisclab.emulation.errors import INTERRUPTED, ConfigError, EmulationError, printable
from qdisclab.emulation.runs.speed import wall_seconds
from workflow import cluster, crate, progress, steps
from workflow.progress import LogHandler, Work

if TYPE_CHECKING:
    from qdisclab.emulation.model.run import Run
    from workflow.plan import Plan

#: Seconds that a fork takes beside its run, which is predicted whole (1.35 s for one of 1.17).
AROUND_RUN_S = 0.2

#: Seconds of one core in which a run is read and measured.
MEASURED_S = 0.025

#: Seconds of one core that a kernel takes which the cache lacks.
KERNEL_S = 480.0

#: Snakemake chooses jobs again this long after each choice, and then again: by default a second, so
#: that after a few dozen steps it chose without a break. A machine's cores are limit enough.
SELDOM = "1000000/1h"

#: What the largest step asks for (workflow/rules); it has to fit.
LARGEST_STEP_MB = 1000

#: How many figures it names at once.
MOST_NAMED = 4


def runs_to_do(plan: Plan, work: Work) -> list[str]:
    """Return how many runs of each experiment are to be done, and how long one core takes."""
    runs = {"run": plan.steps, "batch": plan.batches()}
    seconds: dict[str, list[float]] = {}
    for rule, name in dict.fromkeys(work.steps.values()):
        for run in runs.get(rule, {}).get(name, ()):
            seconds.setdefault(run.experiment.id, []).append(_seconds(run))
    return [
        f"{name}: {len(costs)} run{'s' if len(costs) > 1 else ''}, {duration(sum(costs))} of one "
        "core"
        for name, costs in sorted(seconds.items())
    ]


def plan_of(settings: list[str]) -> Plan:
    """Return the plan under these `KEY=VALUE` settings."""
    import yaml

    from workflow.plan import make_plan

    config = yaml.safe_load(Path("workflow/config.yaml").read_text())
    pairs = (setting.split("=", 1) for setting in settings)
    config |= {key: yaml.safe_load(text) for key, text in pairs}
    return make_plan(config)


def run_seconds(plan: Plan) -> float:
    """Return the seconds that one core takes for a run of `plan`, on average."""
    costs = [_seconds(run) for runs in plan.steps.values() for run in runs]
    return sum(costs) / len(costs) if costs else progress.STEP_S["run"]


def _seconds(run: Run) -> float:
    """Return the seconds that one core takes for a run."""
    return AROUND_RUN_S + wall_seconds(run.experiment, [run.point], run.length)


def print_stale(plan: Plan) -> None:
    """Print which runs are not what would be made today, and what becomes of them."""
    outcome = (
        "they are made again" if plan.scale is not None
        else "figures show what they measured; --emulate makes new ones"
    )  # fmt: skip
    try:
        for line in stale.sentences(stale.causes(plan.records()), plan.runs_root):
            print(f"==> {line}; {outcome}", flush=True)
    except EmulationError as error:
        print(f"==> cannot tell which runs are stale: {error}", flush=True)


def print_left_out(plan: Plan) -> None:
    """Print which figures, and which qdiscs of others, are not shown for want of runs."""
    if left_out := plan.left_out:
        names = ", ".join(left_out[:MOST_NAMED]) + ", …" * (len(left_out) > MOST_NAMED)
        of = "such runs" if plan.scale is None else f"runs at the scale '{plan.scale.name}'"
        print(f"==> left out, as there are no {of}: {names} ({len(left_out)})", flush=True)
    for name, figure in plan.figures.items():
        if qdiscs := plan.not_shown(figure):
            print(f"==> {name} does not show {', '.join(qdiscs)}: there is no run", flush=True)


def show_figures(plan: Plan, failed: list[str]) -> None:
    """Write the page of the figures that have been drawn, with the runs that `failed`; the last
    step of the graph does that where it is reached."""
    from qdisclab.analysis.site import report

    with suppress(EmulationError, OSError):
        report.grow(plan.pages, failed)


def memory_mb() -> int:
    """Return the megabytes that steps may take together: what this machine, or this container, has
    left."""
    line = re.search(r"^MemAvailable: +(\d+) kB$", Path("/proc/meminfo").read_text(), re.MULTILINE)
    limits = [int(line[1]) * 1024] if line else []
    limit = Path("/sys/fs/cgroup/memory.max")
    if limit.is_file() and (text := limit.read_text().strip()).isdigit():
        limits.append(int(text))
    return max(LARGEST_STEP_MB, round(0.9 * min(limits, default=0) / 1e6))


def on_slurm(plan: Plan, batch_s: float, jobs: int) -> list[str]:
    """Return the options of Snakemake that fit the jobs to `plan`, whose batches take `batch_s`.

    A batch of which a run is gone is no longer done: Snakemake itself looks at its mark alone.
    """
    batches = plan.batches()
    for batch, runs in batches.items():
        if not all((plan.runs_root / f"{run.id}.json").is_file() for run in runs):
            (plan.results / "batches" / batch).unlink(missing_ok=True)
    size = cluster.batches_a_job(len(batches), batch_s, jobs)
    name = cluster.prefix(Path())
    return ["--group-components", f"batches={size}", "--slurm-jobname-prefix", name]


def snakemake(arguments: list[str], work: Work) -> int:
    """Run Snakemake in this process, with its steps counted by `work`; return its exit status.

    ^C, or what `reproduce-all` makes of other ways to end it, reaches its steps too; Snakemake
    waits for them and remembers which are half-done. SIGTERM, which comes to this process alone,
    lets it finish the steps at work.
    """
    from snakemake.cli import main as call  # type: ignore[import-untyped]

    interrupted = []

    def interrupt(number: int, frame: Any) -> None:
        interrupted.append(number)
        signal.default_int_handler(number, frame)

    LogHandler.work = work
    LoggerPluginRegistry().register_plugin(f"snakemake_logger_plugin_{progress.NAME}", progress)
    before = signal.signal(signal.SIGINT, interrupt)
    try:
        call([*arguments, "--logger", progress.NAME])
    except SystemExit as ended:
        return INTERRUPTED if interrupted else int(ended.code or 0)
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        signal.signal(signal.SIGINT, before)
    return 0


def failed_runs(plan: Plan, work: Work) -> list[str]:
    """Return the ids of the runs that failed, alone or in a batch."""
    batches, failed = plan.batches(), work.failed("batch")
    ids = (run.id for name in failed for run in batches[name])
    missing = [name for name in ids if not (plan.runs_root / f"{name}.json").is_file()]
    return [*work.failed("run"), *missing]


def draw_without(
    failed: list[str], settings: list[str], work: Work, call: Callable[[Work], int]
) -> int:
    """Draw figures by `call`, under `settings`, without the runs that `failed`; add what fails to
    `work`, and return the exit status."""
    try:
        plan_of(settings)
    except ConfigError:  # nothing remains to draw
        return 0
    which = ", ".join(failed[:MOST_NAMED]) + ", …" * (len(failed) > MOST_NAMED)
    print(f"==> drawing without what failed: {which} ({len(failed)})", flush=True)
    rest = Work(work.cores, work.step_s)
    status = call(rest)
    work.failures = {**rest.failures, **work.failures}
    return status


def main(arguments: list[str], call: Callable[[list[str], Work], int] = snakemake) -> int:
    """Do what the command line asks for, a profile and Snakemake's arguments; return the exit
    status."""
    began = datetime.now(UTC)
    profile, *arguments = arguments
    slurm = profile == "slurm"
    option = "--jobs" if slurm else "--cores"
    at_once = int(arguments[arguments.index(option) + 1])
    settings = arguments[arguments.index("--config") + 1 :] if "--config" in arguments else []
    if "--dry-run" in arguments and settings and not slurm:
        arguments, settings = [*arguments, "thin=True"], [*settings, "thin=True"]
    work = Work(at_once)
    try:
        plan = plan_of(settings)
        work.step_s["run"] = run_seconds(plan)
        work.step_s["claims"] += MEASURED_S * (len(plan.all_runs()) or len(plan.records()))
        if batches := plan.batches():
            work.step_s["batch"] = work.step_s["run"] * len(plan.all_runs()) / len(batches)
        if kernel.find() is None:
            work.step_s["kernel"] = KERNEL_S
    except EmulationError as error:
        print(f"reproduce-all: error: {printable(str(error))}", file=sys.stderr)
        return error.exit_status
    if slurm:
        arguments = [*on_slurm(plan, work.step_s["batch"], at_once), *arguments]
    else:
        seldom = ["--max-jobs-per-timespan", SELDOM]
        arguments = [*seldom, "--resources", f"mem_mb={memory_mb()}", *arguments]
    arguments = ["--profile", f"workflow/profiles/{profile}", *arguments]
    if "--dry-run" in arguments:
        status = call(arguments, work)
        if "run" in work.total:
            names = {name for rule, name in work.steps.values() if rule == "run"}
            work.total["run"] = sum(len(plan.steps[name]) for name in names)
        print(work.summary() or "nothing to do" if not status else "\n".join(work.messages))
        for line in runs_to_do(plan, work):
            print(f"    {line}")
        print_left_out(plan)
        print_stale(plan)
        return status
    print_left_out(plan)
    if kernel.find() is not None:  # otherwise nothing can be told
        print_stale(plan)
    with nullcontext() if slurm else steps.serving():
        status = last = call(arguments, work)
        failed = failed_runs(plan, work) if status != INTERRUPTED else []
        if failed:
            without = f"without={json.dumps(failed)}"
            some = [*arguments, *([] if settings else ["--config"]), without]
            last = draw_without(failed, [*settings, without], work, partial(call, some))
            status = last or status
    if status == INTERRUPTED:  # reproduce-all says it, when all has ended
        return status
    if status:
        if last:
            show_figures(plan, failed)
        for failure in work.failures:
            print(f"reproduce-all: failed: {failure}", file=sys.stderr)
        for line in work.messages:
            print(f"    {line}", file=sys.stderr)
        print(f"reproduce-all: Snakemake's output is in {progress.LOG}", file=sys.stderr)
        if (page := plan.pages / "index.html").is_file():
            print(f"==> what could be drawn: {page}", flush=True)
    elif not any(work.total.values()):
        print("==> nothing to do: every figure is up to date")
    else:
        crate.write(plan, began)
    return status
