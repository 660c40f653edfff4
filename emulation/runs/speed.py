"""How long runs take on this machine, by those that it has done.

A run takes as long as the remembered runs of its experiment and link took on average for a virtual
second. Where there are none, those of its experiment say it, then all runs, then another machine.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

from emulation.host import facts
from emulation.host.cache import cache_dir
from emulation.model.run import Experiment, Point
from emulation.model.units import Duration

#: Virtual seconds of a guest before and after its load: flent's pauses, setting up and ending.
AROUND_LOAD_S = 20.0

#: Seconds of one core for a virtual second, on average of all runs that ship, on another machine.
PRIOR = 0.035

#: Number of runs that are remembered.
REMEMBERED = 1000


@dataclass(frozen=True)
class Measured:
    """One finished run."""

    experiment: str  # id
    link: str
    virtual_s: float
    wall_s: float


@dataclass(frozen=True)
class Speeds:
    """Seconds of wall time for a virtual second: by experiment and link, by experiment, overall."""

    by: dict[tuple[str, ...], float]

    def wall_s(self, experiment: str, link: str, virtual_s: float) -> float:
        """Return how long one core takes for a run of `virtual_s`."""
        names = ((experiment, link), (experiment,), ())
        return virtual_s * next((self.by[name] for name in names if name in self.by), PRIOR)


def remember(measured: Measured) -> None:
    """Add a run to this machine's memory, if it can be written."""
    with suppress(OSError):
        path = _path()
        with path.open("a") as file:
            file.write(json.dumps(asdict(measured), sort_keys=True) + "\n")
        lines = path.read_text().splitlines(keepends=True)
        if len(lines) > 2 * REMEMBERED:
            partial = path.with_name(f".{path.name}.{os.getpid()}")
            partial.write_text("".join(lines[-REMEMBERED:]))
            partial.replace(path)


def memory() -> list[Measured]:
    """Return the remembered runs, the latest last."""
    try:
        lines = _path().read_text().splitlines()[-REMEMBERED:]
    except OSError:
        return []
    runs = []
    for line in lines:
        with suppress(ValueError, TypeError):  # half a line, or one of an earlier format
            runs.append(Measured(**json.loads(line)))
    return runs


def speeds(runs: Iterable[Measured]) -> Speeds:
    """Return the means over `runs`."""
    sums: dict[tuple[str, ...], tuple[float, float]] = {}
    for run in runs:
        for name in ((run.experiment, run.link), (run.experiment,), ()):
            wall_s, virtual_s = sums.get(name, (0.0, 0.0))
            sums[name] = (wall_s + run.wall_s, virtual_s + run.virtual_s)
    return Speeds({name: wall_s / virtual_s for name, (wall_s, virtual_s) in sums.items()})


def wall_seconds(
    experiment: Experiment, points: Iterable[Point], length: Duration | None = None
) -> float:
    """Return how long one core takes for one repetition of `points`, in seconds.

    `length` is that of the load, if it is not the traffic's own.
    """
    path = _path()
    remembered = _speeds(path, path.stat().st_mtime_ns if path.exists() else 0)
    return sum(
        remembered.wall_s(
            f"{experiment.paper}/{point.label}",
            point.link.name,
            (length or point.traffic.length).seconds + AROUND_LOAD_S,
        )
        for point in points
    )


@lru_cache(maxsize=1)
def _speeds(path: Path, changed: int) -> Speeds:
    return speeds(memory())


def _path() -> Path:
    """Return the memory's path, one per CPU model: several machines may share a home folder."""
    name = hashlib.sha256(facts.cpu_model().encode()).hexdigest()[:8]
    return cache_dir("speed") / f"{name}.jsonl"
