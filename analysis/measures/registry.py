"""Every measure and every metric by its name: those of this package, and those of a study.

A module adds them by defining any of these, and is registered by being there:

    METRICS   = {"first_answer_ms": Metric("time until the first answer", "ms")}
    MEASURES  = {"answers": Measure(measure)}   # `measure: answers` of an experiment
    RECORDED  = Recorded("drops", of)           # numbers of tables that a probe left beside runs

A study has such modules in its own folder: `measures.py`, or all of `measures/`.
"""

import importlib
import inspect
import pkgutil
import re
import sys
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from types import ModuleType
from typing import Final, TypeVar

import pandas as pd

from qdisclab.analysis import measures as package
from qdisclab.analysis.errors import DataError
from qdisclab.analysis.runs.dataset import RunFile, find_runs
from qdisclab.analysis.runs.study import StudyFolder, study_at
from qdisclab.analysis.sources import own_code
from qdisclab.emulation.model.run import Experiment, Point
from qdisclab.emulation.study import code, studies
from qdisclab.emulation.study.schema import unknown
from qdisclab.emulation.study.source import ParsedFile

#: What a study's measures are called; a folder of that name has several modules.
MODULE: Final = "measures"

#: What is at the bottleneck of a run without load.
UNLOADED_QDISC: Final = "pfifo_fast"


@dataclass(frozen=True)
class Metric:
    """Something that a run has one number of."""

    title: str
    unit: str
    step: float = 0.0  # the least difference that it can tell, in its unit; 0: any
    factor: bool = False  # a ratio by itself, whose error is that of a factor


@dataclass(frozen=True)
class Measure:
    """How a run becomes numbers: `of` returns them by names of metrics, and raises DataError for a
    run that cannot be used."""

    of: Callable[[RunFile], Mapping[str, float]]
    traffic: str = ""  # the kind of traffic that it is made for; empty: any
    test: str = ".*"  # the form of the names of the tests that it is made for
    unloaded: bool = False  # whether numbers are divided by those of a run without load
    probe: str = ""  # the kind of probe that its runs must have recorded

    @property
    def own(self) -> bool:
        """Whether a study brings it."""
        return self.of.__module__.startswith(code.PREFIX)

    @property
    def place(self) -> str:
        """File and line of the function."""
        function = inspect.unwrap(self.of)
        file = getattr(sys.modules.get(self.of.__module__), "__file__", "")
        line = getattr(getattr(function, "__code__", None), "co_firstlineno", 1)
        return f"{file}:{line}"

    def files(self, folder: Path) -> list[Path]:
        """Return the files of the module that brings it, or of all measures of the study in
        `folder` that does."""
        if self.own:
            return own_code(folder, MODULE)
        return [Path(str(sys.modules[self.of.__module__].__file__)).resolve()]

    def fits(self, point: Point) -> bool:
        """Return whether runs of `point` can be measured so."""
        kind = traffic_of(point)
        return self.traffic in ("", kind) and bool(re.fullmatch(self.test, point.traffic.test))


@dataclass(frozen=True)
class Recorded:
    """How the tables that a probe left beside runs become numbers: `of` returns one row per run and
    metric, with `recorded.KEY`, `metric` and `value`, and raises DataError."""

    probe: str
    of: Callable[[Iterable[RunFile]], pd.DataFrame]
    metrics: frozenset[str]  # that it gives


@dataclass(frozen=True)
class MeasureRegistry:
    """What there is to measure, by its names."""

    metrics: Mapping[str, Metric]
    measures: Mapping[str, Measure]
    recorded: Sequence[Recorded]


def traffic_of(point: Point) -> str:
    """Return the kind of traffic as a study's file has it: `flent`."""
    return type(point.traffic).__name__.lower()


@cache
def shared() -> MeasureRegistry:
    """Return what the modules of this package register."""
    names = [of.name for of in pkgutil.iter_modules(package.__path__) if of.name[0] != "_"]
    return _registry(tuple(importlib.import_module(f"{package.__name__}.{name}") for name in names))


def registry_of(study: StudyFolder) -> MeasureRegistry:
    """Return what is shared and what the modules of `study` register.

    Raises DataError, with file and line, where such a module fails or registers something else.
    """
    own = code.modules(study.folder, MODULE)
    return _registry(tuple(own), study.name) if own else shared()


def measure_of(study: StudyFolder, experiment: str) -> Measure | None:
    """Return how runs of an experiment are measured; None where it names no measure.

    Raises DataError, with the line of the study's file, for a measure that nothing registers.
    """
    about = study.experiments.get(experiment)
    if about is None or about.measure is None:
        return None
    measures = registry_of(study).measures
    if about.measure not in measures:
        raise DataError(next(faults(study)))
    return measures[about.measure]


def unloaded(run: RunFile) -> list[RunFile]:
    """Return the runs without load that the numbers of `run` are divided by: those of the
    experiment that its own names, of its era, link and congestion control; none where it names
    none. Raises DataError where they are missing."""
    experiment = study_at(run.paper).experiments.get(run.experiment)
    if experiment is None or experiment.unloaded is None:
        return []
    return find_runs(
        run.root,
        run.paper,
        experiment.unloaded,
        eras=run.era,
        links=run.link,
        ccs=run.cc,
        qdiscs=UNLOADED_QDISC,
        length=run.length,
    )


def faults(study: StudyFolder) -> Iterator[str]:
    """Yield what is wrong with the measures that experiments of a study name, a line each: none of
    that name, one that does not fit their traffic, or that lacks a run without load."""
    measures, file = registry_of(study).measures, study.folder / studies.FILE
    for experiment in study.about.experiments:
        name = experiment.measure
        measure = measures.get(name or "")
        if name and measure is None:
            key, (what, todo) = "measure", unknown("measure", name, measures)
        elif measure and (unfit := _unfit(experiment, measure)):
            fits = [other for other, fitting in measures.items() if not _unfit(experiment, fitting)]
            key, what = "measure", f"'{name}' makes no numbers of {unfit}"
            todo = f"valid: {', '.join(sorted(fits)) or 'none'}"
        elif bool(measure and measure.unloaded) != (experiment.unloaded is not None):
            dividing = ", ".join(other for other, fitting in measures.items() if fitting.unloaded)
            key, what = "unloaded", f"is for measures that divide by runs without load: {dividing}"
            todo = "name the experiment without load there, and only there"
        else:
            continue
        place = ("experiments", experiment.name, key)
        line = ParsedFile.of(file).line(place)
        yield f"{file}:{line}: {'.'.join(place)}: {what}; {todo}"


def _unfit(experiment: Experiment, measure: Measure) -> str:
    """Return the runs of an experiment that `measure` makes no numbers of; empty for none."""
    if measure.probe and measure.probe not in {probe.kind for probe in experiment.probes}:
        return f"runs without 'probes: [{measure.probe}]'"
    for point in experiment.points:
        if not measure.fits(point):
            return f"{traffic_of(point)}, test {point.traffic.test}"
    return ""


class Metrics(ChainMap[str, Metric]):
    """Metrics by name. A name may end with what of a run it is about, in brackets:
    `dropped_percent[CS0 ECT(0)]`."""

    def __contains__(self, name: object) -> bool:
        plain, bracket, about = str(name).partition("[")
        return super().__contains__(plain) and bool(bracket) == about.endswith("]")

    def __missing__(self, name: str) -> Metric:
        if "[" not in name or name not in self:
            raise KeyError(name)
        plain, _, about = name.partition("[")
        return replace(self[plain], title=f"{self[plain].title}, {about[:-1]}")


def metrics() -> Mapping[str, Metric]:
    """Return the shared metrics by name, and those of the studies whose registry was asked for."""
    return Metrics(shared().metrics, *_own_metrics.values())  # type: ignore[arg-type]


Kind = TypeVar("Kind")

_own_metrics: dict[str, Mapping[str, Metric]] = {}  # by the name of the study


@lru_cache(maxsize=64)
def _registry(modules: tuple[ModuleType, ...], study: str = "") -> MeasureRegistry:
    """Return what `modules` register; those of a study beside what is shared."""
    base = shared() if study else MeasureRegistry({}, {}, ())
    brought: dict[str, Metric] = {}
    measures = dict(base.measures)
    recorded = list(base.recorded)
    taken = dict.fromkeys((*base.metrics, *base.measures), package.__name__)
    for other in _own_metrics.keys() - {study}:
        taken |= dict.fromkeys(_own_metrics[other], f"the study '{other}'")
    for module in modules:
        brought |= _registered(module, "METRICS", Metric, taken)
        measures |= _registered(module, "MEASURES", Measure, taken)
        if isinstance(tables := getattr(module, "RECORDED", None), Recorded):
            recorded.append(tables)
    if study:
        _own_metrics[study] = brought
    return MeasureRegistry({**base.metrics, **brought}, measures, recorded)


def _registered(
    module: ModuleType, name: str, kind: type[Kind], taken: dict[str, str]
) -> Mapping[str, Kind]:
    """Return the mapping `name` of `module`; `taken` says who has registered what so far."""
    file = str(module.__file__)
    mapping = getattr(module, name, {})
    todo = f"Write {name} = {{'name': {kind.__name__}(…)}}"
    if not isinstance(mapping, Mapping):
        raise DataError.of(file, f"{name} is a {type(mapping).__name__}, not a mapping", todo)
    for key, value in mapping.items():
        if not isinstance(key, str) or not isinstance(value, kind):
            what = f"{name}[{key!r}] is a {type(value).__name__}, not a {kind.__name__}"
            raise DataError.of(file, what, todo)
        if key in taken:
            what = f"{name} has '{key}', which {taken[key]} registers already"
            raise DataError.of(file, what, "Give it another name, or use that one")
        taken[key] = file
    return mapping
