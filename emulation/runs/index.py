"""The index of a folder of runs: what each provenance says its run is.

To read thousands of provenances takes a second, so what they say is kept in the user's cache until
one of them, or the study's file, changes.
"""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from qdisclab.emulation import datafile, errors
from qdisclab.emulation.host.cache import digest, remembered, state
from qdisclab.emulation.model.run import Experiment, Run, era_name, length_name, variant_name
from qdisclab.emulation.model.units import Duration
from qdisclab.emulation.study import studies

FOLDER = "index"  # of the cache

#: Folders of data that are no study's: what several runs share.
GUESTS, KERNEL_LOGS = "guests", "kernel-logs"

#: Nanoseconds after which a folder that changes again has another time.
SETTLED = 10**9


@dataclass(frozen=True, order=True)
class RunFile:
    """A run of a folder of data: what its provenance says it is, and where its files are."""

    paper: str
    experiment: str  # or the label of some of its points: "rrul", "flows_4"
    era: str  # with the kernel where it is not the default: "2014", "modern@linux-7.3"
    link: str  # download/upload in Mbit/s, "10/1"
    qdisc: str
    cc: str  # TCP congestion control
    seed: int
    data: Path
    provenance: Path
    run: str  # its id, for people
    length: str = ""  # of the load, "20s"; empty: the experiment's own
    is_reduced: bool = False  # whether there are only its provenance and its measures
    request: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    root: Path = field(default=Path(), compare=False)  # the folder of the runs to compare it with

    @property
    def cell(self) -> tuple[str, ...]:
        """Return what it has in common with runs that differ in their seed alone."""
        return (
            self.paper, self.experiment, self.era, self.link, self.qdisc, self.cc, self.length
        )  # fmt: skip

    @property
    def variant(self) -> str:
        """Return what pages call runs of its experiment, era, kernel and length: `rrul@2014`."""
        era, kernel = str(self.request["era"]), self.request["kernel"]
        return variant_name(self.experiment, era, kernel, self.length)

    @property
    def files(self) -> list[Path]:
        """Return all that is stored of it."""
        return sorted(self.provenance.parent.glob(f"{self.provenance.stem}.*"))


@dataclass(frozen=True)
class Index:
    """The runs of a study in a folder of data, in the order of their paths."""

    runs: tuple[RunFile, ...]
    damaged: tuple[tuple[Path, str], ...] = ()  # files that are no provenance, and why
    state: str = ""  # which changes with any of them

    @cached_property
    def cells(self) -> Mapping[tuple[str, ...], list[RunFile]]:
        """Return the runs of each cell."""
        cells: dict[tuple[str, ...], list[RunFile]] = {}
        for run in self.runs:
            cells.setdefault(run.cell, []).append(run)
        return cells

    @cached_property
    def by_id(self) -> Mapping[str, RunFile]:
        """Return each run by its id."""
        return {run.run: run for run in self.runs}


#: Of this process, by folder: the times of its folders, and its index.
_indexes: dict[Path, tuple[dict[str, int], Index]] = {}


def index(root: Path, study: str) -> Index:
    """Return the index of the runs of `study` below the folder `root`."""
    if (folder := root / study) in _indexes:
        times, runs = _indexes[folder]
        if times == {place: _changed(place) for place in times}:
            return runs
    began = time.time_ns()
    times, jsons, listed = _look(folder)
    about = studies.known().get(study)
    texts = [*listed, state(Path(__file__)), str(about)]
    texts += [state(about / studies.FILE)] if about and (about / studies.FILE).is_file() else []
    now = digest(texts)
    subject = str(folder.absolute())
    rows, damaged = remembered(FOLDER, subject, now, partial(_read, root, study, jsons))
    files = tuple(_run_file(root, row) for row in rows)
    runs = Index(files, tuple((root / place, why) for place, why in damaged), now)
    if began - max(times.values(), default=began) > SETTLED:
        _indexes[folder] = times, runs
    return runs


def indexes(root: Path) -> Iterator[Index]:
    """Yield the index of each study that has runs below the folder `root`, by name."""
    for folder in sorted(root.iterdir()) if root.is_dir() else ():
        if folder.is_dir() and folder.name not in (GUESTS, KERNEL_LOGS):
            yield index(root, folder.name)


def run_file(root: Path, provenance: Path) -> RunFile:
    """Return the run below `root` with that provenance; raise `DamagedData` where it is none."""
    record = datafile.read_json(provenance)
    return _run_file(root, _row(root, provenance, record, _Study(str(record.get("paper")))))


def _changed(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns  # noqa: PTH116 (thousands of folders)
    except OSError:
        return 0


def _look(folder: Path) -> tuple[dict[str, int], list[Path], list[str]]:
    """Return the times of all folders below `folder`, the files that may be provenances, and what
    there is, with sizes and times of those."""
    times, jsons, listed = {}, [], []
    for place, folders, names in os.walk(folder):
        times[place] = _changed(place)
        folders.sort()
        names.sort()
        listed += [os.path.relpath(place, folder), *names]
        paths = [Path(place, name) for name in names if name.endswith(".json") and name[0] != "."]
        with suppress(OSError):  # removed meanwhile
            listed += map(state, paths)
        jsons += paths
    return times, sorted(jsons), listed


class _Study:
    """What a study says of its experiments today; nothing where it cannot be read."""

    def __init__(self, name: str) -> None:
        self.name = name

    @cached_property
    def experiments(self) -> dict[str, Experiment]:
        """Return its experiments, by id and by label."""
        from qdisclab.emulation.config.catalogue import (  # a kept index needs neither
            all_labels,
            load,
        )

        folder = studies.known().get(self.name)
        try:
            return all_labels(load(folder).experiments) if folder else {}
        except errors.ConfigError:
            return {}

    def run(self, record: Mapping[str, Any]) -> Run | None:
        """Return the run of a provenance; None where there is no such run any more."""
        from qdisclab.emulation.config.request import run_of

        try:
            return run_of(record, self.experiments)
        except errors.ConfigError:
            return None

    def other_length(self, label: str, length: Duration) -> str:
        """Return the name of a length that no point with that label has of itself."""
        of = self.experiments.get(f"{self.name}/{label}")
        own = {point.traffic.length for point in of.points if point.label == label} if of else set()
        return length_name(length) if own and length not in own else ""


def _read(root: Path, study: str, jsons: list[Path]) -> tuple[list[Any], list[tuple[str, str]]]:
    """Return the rows of the provenances, and the files that are none with the reason."""
    rows, damaged, about = [], [], _Study(study)
    for path in jsons:
        try:
            rows.append(_row(root, path, datafile.read_json(path), about))
        except errors.DamagedData as error:
            damaged.append((str(path.relative_to(root)), error.what))
    return rows, damaged


#: Entries that each provenance has, and those that some lack, with what they are then.
_ENTRIES = ("run", "paper", "experiment", "link", "qdisc", "cc", "seed", "era", "length_s")
_TEXTS = frozenset({*_ENTRIES, "label", "length", "kernel"} - {"seed", "length_s"})
_DEFAULTS: dict[str, Any] = {"axes": {}, "settings": {}, "outside_sweep": []}


def _row(root: Path, path: Path, record: dict[str, Any], about: _Study) -> dict[str, Any]:
    """Return what is kept of a provenance; raise `DamagedData` where it is none."""
    from qdisclab.emulation.config.request import kernel_of

    try:
        request = {name: record[name] for name in _ENTRIES}
        request |= {name: record.get(name, default) for name, default in _DEFAULTS.items()}
        request["kernel"] = kernel_of(record)
        label = record.get("label") or record["experiment"]
        if "label" not in record and request["settings"] and (run := about.run(record)):
            label = run.point.label
        length = Duration(round(float(record["length_s"]) * 10**9))
        named = Path(f"{record['run']}.json")
        int(record["seed"])
        for name, value in {**request, "label": label, "length": record.get("length", "")}.items():
            if name in _TEXTS and not isinstance(value, str):
                raise TypeError(f"{name} is not text")
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        what = f"is not the provenance of a run ({type(error).__name__}: {error})"
        raise errors.DamagedData(what, str(path), "do the run again") from error
    if path.relative_to(root) != named:
        what = f"describes the run {record['run']!r}"
        raise errors.DamagedData(what, str(path), f"move it to its place, {named}")
    data = datafile.beside(path)
    return {
        "request": request,
        "label": label,
        "length": record["length"] if "length" in record else about.other_length(label, length),
        "data": data.name,
        "reduced": datafile.MEASURES in record and not data.exists(),
    }


def _run_file(root: Path, row: Mapping[str, Any]) -> RunFile:
    request = row["request"]
    provenance = root / f"{request['run']}.json"
    same = {name: request[name] for name in ("paper", "link", "qdisc", "cc", "seed", "run")}
    return RunFile(
        **same,
        experiment=row["label"],
        era=era_name(request["era"], request["kernel"]),
        data=provenance.with_name(row["data"]),
        provenance=provenance,
        length=row["length"],
        is_reduced=row["reduced"],
        request=request,
        root=root,
    )
