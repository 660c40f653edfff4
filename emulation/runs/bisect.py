"""Which commit of a kernel changed what runs measure: `git bisect run`, a kernel and runs a step.

The user's tree is not touched: the search has a worktree in the cache, at the same place each time,
so that the objects of one commit are there for the next.
"""

import hashlib
import json
import math
import operator
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Self

from qdisclab.emulation import errors
from qdisclab.emulation.host import storage
from qdisclab.emulation.host.cache import cache_dir, lock
from qdisclab.emulation.kernel import builder, tree

#: What a step of `git bisect run` ends with, to go on.
GOOD, BAD, SKIP = 0, 1, 125

#: The record of the search, a line of JSON per tested commit, and its page.
LOG, PAGE = "bisect.jsonl", "bisect.md"

_OPERATORS = {
    "<=": operator.le, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
    "<": operator.lt, ">": operator.gt,
}  # fmt: skip


@dataclass(frozen=True)
class Condition:
    """A condition that holds once the commit looked for is in: a measured number, and a bound."""

    name: str
    sign: str
    bound: float

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the condition of a text such as `induced_latency_ms > 60`."""
        match = re.fullmatch(r"\s*(\w+)\s*([<>]=?|[=!]=)\s*(-?[\d.]+(?:e-?\d+)?)\s*", text)
        with suppress(ValueError):  # of digits that are no number: 1.2.3
            if match and math.isfinite(bound := float(match[3])):
                return cls(match[1], match[2], bound)
        what, todo = (
            "does not compare a number with a bound",
            "write e.g. 'induced_latency_ms > 60'",
        )
        raise errors.ConfigError(what, f"--where '{text}'", todo)

    def value(self, numbers: list[Mapping[str, float]]) -> float:
        """Return the mean over runs of what the condition asks about, which each of them has."""
        names = sorted(set.intersection(*map(_names, numbers)))
        if self.name not in names:
            what = f"the runs do not measure '{self.name}'"
            todo = f"choose from {', '.join(names) or 'no other'}"
            raise errors.ConfigError(what, "--where", todo)
        return fmean(of_run[self.name] for of_run in numbers)

    def holds(self, value: float) -> bool:
        """Return whether a value is that of a bad commit."""
        return bool(_OPERATORS[self.sign](value, self.bound))


def _names(of_run: Mapping[str, float]) -> set[str]:
    return {name for name, value in of_run.items() if not math.isnan(value)}


@dataclass(frozen=True)
class Step:
    """A tested commit. It has no value where it could not be tested; `why` says the reason."""

    commit: str
    subject: str
    kernel: str
    value: float | None
    verdict: str  # good, bad or skipped
    why: str


#: Does the runs with a kernel, and returns what each measured.
Measured = Callable[[builder.Kernel], list[Mapping[str, float]]]


def test(place: Path, condition: Condition, measured: Measured, log: Path) -> Step:
    """Test the commit that is checked out at `place`; append it to the `log`.

    One that does not build, whose guest fails, or of which a run does not have the number, is
    skipped. Raises other errors.
    """
    commit, _, subject = tree.git(place, "log", "-1", "--format=%h %s").strip().partition(" ")
    kernel, value, why = "", None, ""
    try:
        built = tree.build(place)
        kernel = built.digest
        numbers = measured(built)
    except (errors.KernelBuildError, errors.GuestFailure, errors.GuestHung) as error:
        why = str(error)
    else:
        try:
            value = condition.value(numbers)
        except errors.ConfigError as error:
            why = str(error)
    verdict = "skipped" if value is None else "bad" if condition.holds(value) else "good"
    step = Step(commit, subject, kernel, value, verdict, why)
    with log.open("a") as file:
        file.write(json.dumps(asdict(step)) + "\n")
    return step


def search(
    source: Path, good: str, bad: str, command: list[str], check: Callable[[Path], Step]
) -> str:
    """Return git's report of the first bad commit between two of the tree `source`.

    It names several where commits between them were skipped. `check` tests what is checked out, and
    `command` does so for git. Raises `ConfigError` where an end is not good or bad, as it is said
    to be.
    """
    refs = {"bad": bad, "good": good}
    ends = commits(source, good, bad)
    with worktree(source, ends["bad"]) as place:
        for name, commit in ends.items():
            tree.git(place, "checkout", "--quiet", "--detach", commit)
            step = check(place)
            if step.verdict != name:
                what = step.why or f"is {step.verdict}: {step.value:g}"
                todo = "choose two commits that differ"
                raise errors.ConfigError(what, f"--{name} {refs[name]}", todo)
        tree.git(place, "bisect", "start", *ends.values())
        words = ["git", "bisect", "run", *command]
        result = subprocess.run(words, cwd=place, stdout=subprocess.PIPE, text=True)
        _, one_of, listed = result.stdout.partition("The first bad commit could be any of:")
        if one_of:
            names = re.findall(r"^[0-9a-f]{40}$", listed, re.MULTILINE)
            return "\n".join(["one of these, as some could not be tested:", *names])
        if "is the first bad commit" not in result.stdout:
            last = "; ".join(result.stdout.strip().splitlines()[-3:])
            raise errors.EmulationError(last or "it failed", "git bisect run")
        form = "--format=%H%n%n    %s%n%n%an, %ad"
        return tree.git(place, "show", "--no-patch", form, "refs/bisect/bad")


def commits(source: Path, good: str, bad: str) -> dict[str, str]:
    """Return the commits `bad` and `good` of the user's tree; in a worktree, HEAD is another.

    Raises `ConfigError` for a folder without git, for what is no commit, and where `good` has all
    that `bad` has.
    """
    if not (source / ".git").exists():
        raise errors.ConfigError("is not a git checkout", f"--tree {source}", "name one of Linux")
    ends = {}
    for name, ref in (("bad", bad), ("good", good)):
        words = ("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")
        try:
            ends[name] = tree.git(source, *words).strip()
        except errors.KernelBuildError:
            raise errors.ConfigError("is not a commit", f"--{name} {ref}", "see: git log") from None
    if not tree.git(source, "rev-list", "--max-count=1", ends["bad"], f"^{ends['good']}"):
        what, todo = f"is not later than --good {good}", "name the commit without the change --good"
        raise errors.ConfigError(what, f"--bad {bad}", todo)
    return ends


@contextmanager
def worktree(source: Path, commit: str) -> Iterator[Path]:
    """Give a worktree of `source` with a commit; its place is the same each time.

    Raises `ConfigError` where another search has it.
    """
    key = hashlib.sha256(str(source.resolve()).encode()).hexdigest()[:16]
    place = cache_dir("kernel") / "trees" / f"bisect-{key}"
    place.parent.mkdir(exist_ok=True)

    def refuse() -> None:
        raise errors.ConfigError("is being searched", f"--tree {source}", "wait for its end")

    with lock(place.parent, refuse, name=f"{place.name}.lock"):
        try:
            _remove(source, place)
            add = ("worktree", "add", "--quiet", "--force", "--force", "--detach")
            tree.git(source, *add, str(place), commit)
            yield place
        finally:
            _remove(source, place)


def _remove(source: Path, place: Path) -> None:
    """Remove the worktree. `--force` twice, as one whose making was interrupted is locked."""
    words = ["git", "-C", str(source), "worktree", "remove", "--force", "--force", str(place)]
    subprocess.run(words, capture_output=True)  # fails where there is none, or of another clone
    storage.remove(place)
    tree.git(source, "worktree", "prune")


def page(log: Path, first: str, about: dict[str, Any]) -> str:
    """Return the record of a search in Markdown."""
    steps = [Step(**json.loads(line)) for line in log.read_text().splitlines()]
    lines = ["# Bisect", "", *(f"- {name}: `{value}`" for name, value in about.items()), ""]
    lines += ["| commit | subject | kernel | value | verdict |", "| --- | --- | --- | --- | --- |"]
    for step in steps:
        value = "" if step.value is None else f"{step.value:.6g}"
        verdict = f"{step.verdict}: {step.why}" if step.why else step.verdict
        cells = (step.commit, step.subject, step.kernel, value, verdict)
        lines.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
    return "\n".join([*lines, "", "The first bad commit:", "", first.strip(), ""])
