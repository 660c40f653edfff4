"""What can go wrong, with an exit status for each cause.

An error says what is wrong, where, and what to do about it; the command line prints it as one line
without a traceback.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Self

#: Of a study file, that are shown at once.
MOST_PROBLEMS = 100

#: Exit status of a run that the user stopped (128 + SIGINT, as shells report it).
INTERRUPTED = 130

#: Exit status of a command that was terminated (128 + SIGTERM), as `timeout` and CI do it.
TERMINATED = 143


class Terminated(KeyboardInterrupt):
    """SIGTERM: all that cleans up after ^C does so after it, too."""


class EmulationError(Exception):
    """An error that a user can act on.

    `what` is wrong, `where` (a file and line, a run, a step) and what is `todo`; the last two may
    be empty.
    """

    exit_status: ClassVar[int] = 1

    def __init__(self, what: str, where: str = "", todo: str = "") -> None:
        self.what = what
        self.where = where
        self.todo = todo
        super().__init__(what, where, todo)

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        advice = f"; {self.todo}" if self.todo else ""
        return f"{place}{self.what}{advice}"


def printable(text: str) -> str:
    """Return `text` without what moves a terminal's cursor or renames its window."""
    return "".join(c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in text)


@dataclass(frozen=True, order=True)
class Problem:
    """One thing wrong in an experiment file."""

    line: int  # counted from 1
    key: str  # path to the value: `links.10/10.down`; empty for the file as a whole
    what: str  # what is wrong
    todo: str  # what to do about it

    def __str__(self) -> str:
        place = f"{self.key}: " if self.key else ""
        return f"{self.line}: {place}{self.what}; {self.todo}"


class ConfigError(EmulationError):
    """An experiment file or a selection from it that is not valid; `problems` has all of them."""

    exit_status = 2
    problems: tuple[Problem, ...] = ()

    @classmethod
    def of(cls, file: str, problems: Iterable[Problem]) -> Self:
        """Return the error of `file` with the first of its `problems`, by line and each once."""
        chosen = tuple(sorted(set(problems)))[:MOST_PROBLEMS]  # points and experiments share some
        first = chosen[0]
        what = f"{first.key}: {first.what}" if first.key else first.what
        error = cls(what, f"{file}:{first.line}", first.todo)
        error.problems, error.file = chosen, file
        return error

    file: str = ""

    def __str__(self) -> str:
        if not self.problems:
            return super().__str__()
        return "\n".join(f"{self.file}:{problem}" for problem in self.problems)


class KernelLacks(ConfigError):
    """A run whose kernel lacks what it needs."""


class MissingTool(EmulationError):
    """A program or package that the host or the guest needs is not there."""

    exit_status = 3


class KernelBuildError(EmulationError):
    """The kernel could not be fetched, patched, configured or built."""

    exit_status = 4


class GuestFailure(EmulationError):
    """The guest did not boot, its kernel complained, or a step inside it failed."""

    exit_status = 5


class RigMismatch(EmulationError):
    """What was read back from the rig is not what was asked for."""

    exit_status = 6


class TrafficFailure(EmulationError):
    """A traffic tool failed, or a flow moved no data."""

    exit_status = 7


class GuestHung(EmulationError):
    """Wall time passes in the guest and virtual time does not."""

    exit_status = 8


class NotReproduced(EmulationError):
    """A run of equal identity gave other bytes."""

    exit_status = 9


class DamagedData(EmulationError):
    """A data file is not the one that its provenance describes, or not of its form."""

    exit_status = 10


class NotCompatible(EmulationError):
    """A run with another kernel or other tools gave values outside the spread of the data."""

    exit_status = 11


class StorageError(EmulationError):
    """A disk is full, or a folder cannot be written."""

    exit_status = 12


class DamagedCache(EmulationError):
    """A file of the guest or its kernel in the cache has changed since it was made."""

    exit_status = 13


class Interrupted(EmulationError):
    """The user stopped it."""

    exit_status = INTERRUPTED
