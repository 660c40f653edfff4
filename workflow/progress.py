"""How far a call of Snakemake is: its logger plugin of the name `progress`.

On a terminal it draws a bar, elsewhere it prints a line per finished step, with an estimate of the
time left; Snakemake's own words go to a log. The estimate starts with what steps usually take and
learns from how long they really take. `workflow.reproduce` registers the plugin, sets
`LogHandler.work` and, when Snakemake has ended, prints what failed.
"""

import time
from contextlib import suppress
from dataclasses import dataclass, field
from logging import LogRecord
from pathlib import Path
from typing import Any, ClassVar

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from qdisclab.analysis.words import duration

#: As Snakemake's option --logger has it.
NAME = "progress"

#: Where Snakemake's own words go, and those of a dry run, as the last work's are still asked for.
LOG = Path("results/logs/snakemake.log")
DRY_LOG = LOG.with_name("dry-run.log")

#: Seconds on one core of a step of each rule; of a run, see `reproduce.run_seconds`. The kernel and
#: the root file system are in the cache by then; where they are not, see `reproduce.KERNEL_S`.
STEP_S = {
    "kernel": 2.0,
    "rootfs": 2.0,
    "run": 20.0,
    "batch": 200.0,
    "figure": 5.0,
    "claims": 11.0,  # and some of each run, see `reproduce.MEASURED_S`
    "report": 3.0,
}

#: What the summary counts: rule, one of it, several.
PARTS = {
    "run": ("run", "runs"),
    "batch": ("batch of runs", "batches of runs"),
    "figure": ("figure", "figures"),
}


@dataclass
class Work:
    """What there is to do and how much of it is done, by the events that Snakemake logs."""

    cores: int
    step_s: dict[str, float] = field(default_factory=lambda: dict(STEP_S))
    total: dict[str, int] = field(default_factory=dict)  # steps by rule
    done: dict[str, int] = field(default_factory=dict)
    steps: dict[int, tuple[str, str]] = field(default_factory=dict)  # rule and name by job
    failures: dict[str, list[str]] = field(default_factory=dict)  # what each wrote when last tried
    errors: list[str] = field(default_factory=list)  # what Snakemake said went wrong

    def read(self, event: LogEvent | None, about: dict[str, Any]) -> str:
        """Count an event and what comes with it; return the title of the step that has finished,
        or ''."""
        match event:
            case LogEvent.RUN_INFO:
                self.total = {rule: n for rule, n in about["stats"].items() if rule in STEP_S}
            case LogEvent.JOB_INFO:
                job = about["jobid"]
                name = next(iter((about["wildcards"] or {}).values()), "")
                self.steps[job] = (about["rule_name"], str(name))
            case LogEvent.JOB_ERROR:
                title = self.title(about["jobid"]) or about["rule_name"]
                self.failures[title] = _lines(about["log"])
            case LogEvent.ERROR:
                self.errors += about["msg"].splitlines()
            case LogEvent.JOB_FINISHED:
                rule, _ = self.steps.get(about["job_id"], ("", ""))
                self.failures.pop(self.title(about["job_id"]), None)  # it was tried again
                if rule in STEP_S:
                    self.done[rule] = self.done.get(rule, 0) + 1
                    return self.title(about["job_id"])
        return ""

    def title(self, job: int) -> str:
        """Return how people call a step: `figure mine/latency`."""
        return " ".join(self.steps.get(job, ())).strip()

    def failed(self, rule: str) -> list[str]:
        """Return the names of the steps by this rule that have failed."""
        start = f"{rule} "
        return [name.removeprefix(start) for name in self.failures if name.startswith(start)]

    @property
    def messages(self) -> list[str]:
        """Return what went wrong, in the words of the steps that failed, or in Snakemake's."""
        return [line for lines in self.failures.values() for line in lines] or self.errors

    @property
    def count(self) -> tuple[int, int]:
        """Return how many steps are done, and how many there are, without Snakemake's own."""
        return sum(self.done.values()), sum(self.total.values())

    def left_s(self, elapsed_s: float) -> float:
        """Return the seconds left, if the steps that are done took `elapsed_s`."""
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

    def summary(self) -> str:
        """Return `21 runs, 6 figures: about 4 min`; nothing where there is nothing to do."""
        parts = [
            f"{count} {words[count > 1]}"
            for rule, words in PARTS.items()
            if (count := self.total.get(rule, 0))
        ]
        if not any(self.total.values()):
            return ""
        return f"{', '.join(parts) or 'the page'}: about {duration(self.left_s(0))}"


def _lines(logs: list[str]) -> list[str]:
    """Return the lines of the logs of a step that failed."""
    lines = []
    for log in logs:
        with suppress(OSError):
            lines += Path(log).read_text(errors="replace").splitlines()
    return lines


class LogHandler(LogHandlerBase):
    """Shows `work`, and keeps Snakemake's own words in LOG."""

    work: ClassVar[Work]  # set before Snakemake starts
    log_mode: ClassVar[str] = "w"  # of this process's first call; what failed in it is kept
    writes_to_stream = True  # in place of what Snakemake prints
    writes_to_file = has_filter = has_formatter = needs_rulegraph = False

    def __post_init__(self) -> None:
        self._began = time.monotonic()
        self._announced = self.common_settings.dryrun  # when all that is said comes at the end
        LOG.parent.mkdir(parents=True, exist_ok=True)
        self._log = (DRY_LOG if self.common_settings.dryrun else LOG).open(self.log_mode)
        LogHandler.log_mode = "a"
        columns = (
            MofNCompleteColumn(),  # which knows what to show before there is a total
            BarColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}"),
        )
        self._bar = Progress(*columns, transient=True, disable=self._announced)
        self._task = self._bar.add_task("reading the plan", total=None)
        if self._bar.console.is_terminal:
            self._bar.start()

    def emit(self, record: LogRecord) -> None:
        """Show one event."""
        event = getattr(record, "event", None)
        finished = self.work.read(event, vars(record))
        self._log.write(f"{self.format(record)}\n")
        with suppress(OSError):  # of a terminal that is closed
            if event == LogEvent.RUN_INFO and not self._announced:
                self._announced = True
                self._print(f"==> {self.work.summary()}")
            if finished and not self.common_settings.dryrun:
                self._show(finished)

    def _show(self, step: str) -> None:
        done, total = self.work.count
        left = f"about {duration(self.work.left_s(time.monotonic() - self._began))} left"
        if self._bar.console.is_terminal:
            text = f"{left}  {step}"
            self._bar.update(self._task, completed=done, total=total, description=text)
        else:
            self._print(f"[{done}/{total}] {step}{f', {left}' if done < total else ''}")

    def _print(self, line: str) -> None:
        self._bar.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def close(self) -> None:
        """Leave the terminal as it was."""
        with suppress(OSError):
            self._bar.stop()
        self._log.close()
        super().close()
