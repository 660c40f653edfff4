"""Run Snakemake and show how far it is: `python -m workflow.progress local --cores 4 ...`.

The arguments are the name of a profile and Snakemake's. Its output goes to a log; what is shown is
a line of progress with an estimate of the time left, and of a step that fails its name and its own
words. The estimate starts with what `emulate list` knows of the runs and learns from how long the
steps really take.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emulation.errors import INTERRUPTED, EmulationError
from workflow import cluster, stale

if TYPE_CHECKING:
    from emulation.model.run import Run
    from emulation.model.units import Duration
    from workflow.plan import Plan

#: Seconds on one core of a step of each rule; of a run, see `run_seconds`. The kernel and the root
#: file system are in the cache by then.
STEP_S = {
    "kernel": 2.0,
    "rootfs": 2.0,
    "run": 20.0,
    "batch": 200.0,
    "figure": 8.0,
    "measured": 300.0,
    "claims": 10.0,
    "report": 3.0,
}

#: Seconds of a run that do not depend on its length: Python, the boot, flent's pauses.
AROUND_RUN_S = 2.5

#: What the largest step asks for (workflow/rules); it has to fit.
LARGEST_STEP_MB = 1000

#: How many of the files that have changed a dry run names.
MOST_LINES = 12

#: What the summary counts: rule, one of it, several.
PARTS = {
    "run": ("run", "runs"),
    "batch": ("batch of runs", "batches of runs"),
    "figure": ("figure", "figures"),
}

_STATS = re.compile(r"^(\w+) +(\d+)$")
_STARTED = re.compile(r"^ *(?:local)?rule (\w+):$")  # indented in a group of steps
_NAMED = re.compile(r"^ {4,}wildcards: \w+=(\S+)$")
_JOB = re.compile(r"^ {4,}jobid: (\d+)$")
_REASON = re.compile(r"^ {4,}reason: (.*)$")
_FINISHED = re.compile(r"^Finished jobid: (\d+) \(Rule: (\w+)\)$")
_FAILED = re.compile(r"^ *Error in rule (\w+)")
_RULER = "=" * 80


@dataclass
class Work:
    """What there is to do and how much of it is done, read off Snakemake's output line by line."""

    cores: int
    step_s: dict[str, float] = field(default_factory=lambda: dict(STEP_S))
    total: dict[str, int] = field(default_factory=dict)  # steps by rule
    done: dict[str, int] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)  # of jobs that started
    reasons: dict[int, str] = field(default_factory=dict)  # of those jobs
    failures: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)  # what failed steps, or Snakemake, said
    _rule: str = ""
    _name: str = ""
    _quoting: bool = False
    _error: bool = False
    _job: int = -1

    def read(self, line: str) -> str:
        """Take one line; returns the name of the step that it reports as finished, or ''."""
        if self._quoting or line == _RULER:
            self._quote(line)
        elif not self.names and (found := _STATS.match(line)) and found[1] not in ("total", "all"):
            self.total[found[1]] = int(found[2])
        elif found := _FAILED.match(line):
            self._rule, self._name, self._error = found[1], "", True
        elif found := _STARTED.match(line):
            self._rule, self._name, self._error = found[1], "", False
        elif found := _NAMED.match(line):
            self._name = found[1]
            self.names[self._job] = self.title
        elif found := _JOB.match(line):
            self._job = int(found[1])
            self.names.setdefault(self._job, self.title)
            if self._error:
                self.failures.append(self.names[self._job])
        elif found := _REASON.match(line):
            self.reasons[self._job] = found[1]
        elif re.match(r"^\w*(Error|Exception)( in |:)", line) and "CalledProcess" not in line:
            self._error = True
            self.messages.append(line)
        elif found := _FINISHED.match(line):
            self.done[found[2]] = self.done.get(found[2], 0) + 1
            return self.names.get(int(found[1]), found[2]) if found[2] in STEP_S else ""
        return ""

    @property
    def title(self) -> str:
        """The step under way, for people."""
        return f"{self._rule} {self._name}".strip()

    def _quote(self, line: str) -> None:
        if line == _RULER:
            self._quoting = not self._quoting
        else:
            self.messages.append(line)

    def left_s(self, elapsed_s: float) -> float:
        """Seconds left, when the steps done took `elapsed_s`."""
        whole = self._cost(self.total)
        done = self._cost(self.done)
        guess = (whole - done) / self.cores
        if not done or not whole:
            return guess
        measured = (whole - done) * elapsed_s / done
        trust = done / whole  # in what was measured; the first steps say little
        return trust * measured + (1 - trust) * guess

    def _cost(self, steps: dict[str, int]) -> float:
        return sum(count * self.step_s.get(rule, 0.0) for rule, count in steps.items())

    def steps(self) -> int:
        """How many steps there are, without Snakemake's own."""
        return sum(count for rule, count in self.total.items() if rule in STEP_S)

    def summary(self) -> str:
        """`21 runs, 6 figures: about 4 min`; empty where there is nothing to do."""
        parts = [
            f"{count} {words[count > 1]}"
            for rule, words in PARTS.items()
            if (count := self.total.get(rule, 0))
        ]
        if not self.steps():
            return ""
        return f"{', '.join(parts) or 'the page'}: about {clock(self.left_s(0))}"


def runs_to_do(plan: Plan, work: Work) -> list[str]:
    """Of each experiment how many runs are to be done, and how long one core takes for them."""
    all_runs, batches = plan.all_runs(), plan.batches()
    found: dict[str, list[float]] = {}
    for title in dict.fromkeys(work.names.values()):
        rule, _, name = title.partition(" ")
        one = [all_runs[name]] if rule == "run" and name in all_runs else []
        for run in one or (batches.get(name, ()) if rule == "batch" else ()):
            found.setdefault(run.experiment.id, []).append(_seconds(run))
    return [
        f"{name}: {len(costs)} run{'s' if len(costs) > 1 else ''}, {clock(sum(costs))} of one core"
        for name, costs in sorted(found.items())
    ]


def what_changed(work: Work) -> list[str]:
    """Which files make which figures stale, a line per file; off the reasons that Snakemake
    gives."""
    found: dict[str, set[str]] = {}
    for job, reason in work.reasons.items():
        rule, _, name = work.names[job].partition(" ")
        if rule != "figure" or "Missing output files" in reason:
            continue
        for part in reason.split("; "):
            said, _, files = part.partition(": ")
            if said == "Updated input files":
                for file in files.split(", "):
                    found.setdefault(_source(file), set()).add(name)
            elif said.startswith("Set of input files"):
                found.setdefault("what there is of runs and modules", set()).add(name)
    lines = [
        f"{file} changed: {', '.join(sorted(names)[:6])}"
        + (f" and {len(names) - 6} more" if len(names) > 6 else "")
        for file, names in sorted(found.items(), key=lambda one: (-len(one[1]), one[0]))
    ]
    rest = len(lines) - MOST_LINES
    return [*lines[:MOST_LINES], *([f"and {rest} more files"] if rest > 0 else [])]


def _source(file: str) -> str:
    """What people call the source of a figure: a run by its folder, anything else by its path."""
    run = re.match(r"(.*/[^/]+/[^/]+)/[^/]+/[^/]+/[^/]+/seed-\d+\.", file)
    return f"runs in {run[1]}" if run else file


def clock(seconds: float) -> str:
    """`2 h 05 min`, `3 min`, `40 s`."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02d} min" if minutes >= 60 else f"{minutes} min"


def run(command: list[str], work: Work, log: Path, show: Callable[[str], None]) -> int:
    """Run Snakemake's `command`, its output to `log`; its exit status.

    `show` is called with the name of each step that has finished, at first with ''. ^C, or what
    `reproduce-all` makes of other ways to end it, reaches Snakemake too, which ends its steps and
    removes what they left half-made; we wait for that. SIGTERM, which comes to this process alone,
    is passed on: Snakemake finishes the steps at work.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with (
        log.open("w") as file,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        ) as process,
    ):
        interrupts: list[int] = []

        def stop(number: int, _: Any) -> None:
            interrupts.append(number)
            if number == signal.SIGTERM:
                process.terminate()

        before = {one: signal.signal(one, stop) for one in (signal.SIGINT, signal.SIGTERM)}
        try:
            assert process.stdout is not None
            announced = False
            for line in process.stdout:
                file.write(line)
                finished = work.read(line.rstrip("\n"))
                if finished or (not announced and line.startswith("total ")):
                    announced = True
                    with suppress(OSError):  # of a terminal that is closed
                        show(finished)
            status = process.wait()
            return INTERRUPTED if interrupts else status
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)


@contextmanager
def display(work: Work, terminal: bool) -> Iterator[Callable[[str], None]]:
    """What to call with each finished step: a bar on a terminal, otherwise lines."""
    began = time.monotonic()

    def done() -> int:
        return sum(count for rule, count in work.done.items() if rule in STEP_S)

    if not terminal:

        def lines(step: str) -> None:
            if not step:
                print(f"==> {work.summary()}", flush=True)
                return
            left = clock(work.left_s(time.monotonic() - began))
            tail = f", about {left} left" if done() < work.steps() else ""
            print(f"[{done()}/{work.steps()}] {step}{tail}", flush=True)

        yield lines
        return

    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    columns = (
        MofNCompleteColumn(),  # which knows what to show before there is a total
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, transient=True) as bar:
        task = bar.add_task("reading the plan", total=None)

        def draw(step: str) -> None:
            if not step:
                bar.console.print(f"==> {work.summary()}", highlight=False)
            left = clock(work.left_s(time.monotonic() - began))
            bar.update(
                task, completed=done(), total=work.steps(), description=f"about {left} left  {step}"
            )

        yield draw


def plan_of(settings: list[str]) -> Plan:
    """The plan under these `KEY=VALUE` settings."""
    from ruamel.yaml import YAML

    from workflow.plan import make_plan

    yaml = YAML(typ="safe")
    config = yaml.load(Path("workflow/config.yaml"))
    config |= {key: yaml.load(text) for key, text in (one.split("=", 1) for one in settings)}
    return make_plan(config)


def run_seconds(plan: Plan) -> float:
    """Seconds on one core of a run of `plan`, on average."""
    costs = [_seconds(run) for run in plan.all_runs().values()]
    return sum(costs) / len(costs) if costs else STEP_S["run"]


_known_s: dict[tuple[str, tuple[str, ...], Duration], float] = {}


def _seconds(run: Run) -> float:
    """Seconds on one core of a run; the same for all seeds of a point."""
    from emulate.commands.list import wall_seconds

    key = (run.experiment.id, run.point.key, run.length)
    if key not in _known_s:
        _known_s[key] = AROUND_RUN_S + wall_seconds(run.experiment, [run.point], run.length)
    return _known_s[key]


def tell_stale(plan: Plan) -> None:
    """Say which runs are not what would be made today, and what becomes of them."""
    then = (
        "they are made again" if plan.scale is not None
        else "figures show what they measured; --emulate makes new ones"
    )  # fmt: skip
    for line in stale.sentences(stale.causes(plan.records()), plan.runs_root):
        print(f"==> {line}; {then}", flush=True)


def memory_mb() -> int:
    """Megabytes that steps may take together: what this machine, or this container, has left."""
    told = re.search(r"^MemAvailable: +(\d+) kB$", Path("/proc/meminfo").read_text(), re.MULTILINE)
    found = [int(told[1]) * 1024] if told else []
    limit = Path("/sys/fs/cgroup/memory.max")
    if limit.is_file() and (text := limit.read_text().strip()).isdigit():
        found.append(int(text))
    return max(LARGEST_STEP_MB, round(0.9 * min(found, default=0) / 1e6))


def on_slurm(plan: Plan, batch_s: float, jobs: int) -> list[str]:
    """The options of Snakemake that fit the jobs to `plan`, whose batches take `batch_s` each."""
    batches = plan.batches()
    size = cluster.batches_a_job(len(batches), batch_s, jobs)
    name = cluster.prefix(Path())
    return ["--group-components", f"batches={size}", "--slurm-jobname-prefix", name]


def main(arguments: list[str]) -> int:
    """The command line: Snakemake's, behind the name of a profile. Returns its exit status."""
    profile, *arguments = arguments
    slurm = profile == "slurm"
    option = "--jobs" if slurm else "--cores"
    at_once = int(arguments[arguments.index(option) + 1])
    settings = arguments[arguments.index("--config") + 1 :] if "--config" in arguments else []
    work = Work(at_once)
    try:
        plan = plan_of(settings)
        work.step_s["run"] = run_seconds(plan)
        if batches := plan.batches():
            work.step_s["batch"] = work.step_s["run"] * len(plan.all_runs()) / len(batches)
    except EmulationError as error:
        print(f"reproduce-all: error: {error}", file=sys.stderr)
        return error.exit_status
    if slurm:
        arguments = [*on_slurm(plan, work.step_s["batch"], at_once), *arguments]
    else:
        arguments = ["--resources", f"mem_mb={memory_mb()}", *arguments]
    dry = "--dry-run" in arguments
    log = Path("results/logs/snakemake.log")
    command = [sys.executable, "-m", "snakemake", "--profile", f"workflow/profiles/{profile}"]
    if dry:
        status = run([*command, *arguments], work, log, lambda step: None)
        print(work.summary() or "nothing to do" if not status else "\n".join(work.messages))
        for line in [*runs_to_do(plan, work), *what_changed(work)]:
            print(f"    {line}")
        tell_stale(plan)
        return status
    tell_stale(plan)
    with display(work, sys.stdout.isatty()) as show:
        status = run([*command, *arguments], work, log, show)
    if status == INTERRUPTED:  # reproduce-all says it, when all has ended
        return status
    if status:
        for failure in dict.fromkeys(work.failures):
            print(f"reproduce-all: failed: {failure}", file=sys.stderr)
        for line in work.messages:
            print(f"    {line}", file=sys.stderr)
        print(f"reproduce-all: Snakemake's output is in {log}", file=sys.stderr)
    elif not work.steps():
        print("==> nothing to do: every figure is up to date")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
