"""What runs measured: one Parquet table per study and experiment, in the user's cache.

To read and measure thousands of runs takes minutes, and nearly all of them are as they were. A row
is one number of one run, with a key: a digest of the run's files, of those of the runs that its
numbers are divided by, of what the study says of its experiments, and of the code that its kind of
measure is made of. So a change of a measure makes those rows anew that depend on it, and no others.
Without a cache folder that can be written all is measured anew.
"""

import fcntl
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Final

import pandas as pd
import pyarrow as pa

from analysis.errors import DataError
from analysis.measures.registry import Measure
from analysis.measures.unloaded import unloaded
from analysis.runs.dataset import RunFile
from analysis.runs.study import StudyFolder
from analysis.sources import closure
from emulation.host.cache import cache_dir

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = "measured"
CELL: Final = ("era", "experiment", "link", "qdisc", "cc", "seed")
COLUMNS: Final = (*CELL, "metric", "value", "key")

Values = Mapping[str, float]


def code(study: StudyFolder, measure: Measure) -> str:
    """Return a digest of the sources that numbers of `measure` may depend on."""
    files = measure.files(study.folder)
    return _digest(tuple((path, path.stat().st_mtime_ns) for path in files))


@cache
def _digest(start: tuple[tuple[Path, int], ...]) -> str:
    digest = hashlib.sha256()
    for path in closure([path for path, _ in start], root=ROOT):
        name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.name
        digest.update(f"{name}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def keys(runs: Iterable[tuple[RunFile, str]]) -> Iterator[str]:
    """What the numbers of each run of a study are known by, which has with it how it is
    measured."""
    unloaded_of: dict[tuple[str, ...], list[Path]] = {}
    for run, how in runs:
        cell = (run.variant, run.link, run.cc)
        if cell not in unloaded_of:
            unloaded_of[cell] = _unloaded(run)
        yield _key((run.provenance, *unloaded_of[cell]), how)


def _key(provenances: Iterable[Path], how: str) -> str:
    digest = hashlib.sha256(how.encode())
    for provenance in provenances:
        digest.update(provenance.read_bytes())
        for file in sorted(provenance.parent.glob(f"{provenance.stem}.*")):
            about = file.stat()
            digest.update(f"{file.name} {about.st_size} {about.st_mtime_ns}\0".encode())
    return digest.hexdigest()[:32]


def _unloaded(run: RunFile) -> list[Path]:
    """The runs without load that the run's numbers are divided by, if any."""
    try:
        return [one.provenance for one in unloaded(run)]
    except DataError:  # which measuring the run will say, too
        return []


@contextmanager
def measuring(data: Path, study: str) -> Iterator[None]:
    """Alone with the tables of a study: figures that are drawn at the same time ask for the same
    runs, and who comes second reads what the first has measured."""
    with ExitStack() as held:
        with suppress(OSError):  # as in `write`
            place = path(data, study, "").with_name("lock")
            place.parent.mkdir(parents=True, exist_ok=True)
            fcntl.flock(held.enter_context(place.open("w")), fcntl.LOCK_EX)
        yield


def path(data: Path, study: str, experiment: str) -> Path:
    """Where the table of an experiment of the runs below `data` is."""
    place = hashlib.sha256(os.fsencode(data.resolve())).hexdigest()[:8]
    return cache_dir(FOLDER) / place / study / f"{experiment}.parquet"


def read(data: Path, study: str, experiment: str) -> pd.DataFrame:
    """The table of an experiment, of COLUMNS; without rows where there is none."""
    try:
        return pd.read_parquet(path(data, study, experiment), columns=list(COLUMNS))
    except (OSError, ValueError, pa.ArrowException):  # whatever is wrong, runs are measured again
        return pd.DataFrame(columns=list(COLUMNS))


def write(table: pd.DataFrame, data: Path, study: str, experiment: str) -> None:
    """Keep the table of an experiment, in one step."""
    try:
        target = path(data, study, experiment)
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f".{target.name}.{os.getpid()}")
        table.to_parquet(partial, index=False)
        partial.replace(target)
    except OSError:  # a full disk, or no folder that can be written
        return
