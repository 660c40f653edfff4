"""What each run measured, as numbers with names: one tidy table of all runs of a study.

Its experiment says how a run becomes numbers, by `measure:` in the study's file: a measure that is
registered (`registry`), which returns numbers by names of metrics that are.

To measure thousands of runs takes minutes, so the numbers of each are remembered until one of its
files changes, or one of the runs that they are divided by, the study's experiments or the code that
the measure is made of.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pandera.pandas as pa

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.measures.registry import Measure, measure_of, metrics, registry_of, unloaded
from qdisclab.analysis.runs import recorded
from qdisclab.analysis.runs.dataset import RunFile, index_of, read_record
from qdisclab.analysis.runs.flentfile import RERUN
from qdisclab.analysis.runs.study import StudyFolder, study_at
from qdisclab.analysis.sources import contents, digest as code_digest
from qdisclab.emulation import datafile
from qdisclab.emulation.errors import EmulationError
from qdisclab.emulation.host.cache import digest, remembered_parts, state
from qdisclab.emulation.host.pool import mapped
from qdisclab.emulation.study import code
from qdisclab.emulation.study.schema import unknown
from qdisclab.emulation.study.studies import FILE

FOLDER: Final = "measured"  # of the cache

#: In place of a metric, of a run that was measured and has none.
NOTHING: Final = ""

#: In place of a metric, of a run that came out as an earlier seed of its cell: that seed.
SAME_AS: Final = "same_as"


def _known(names: pd.Series) -> bool:
    registered = metrics()
    return all(name in (NOTHING, SAME_AS) or name in registered for name in names.unique())


_COUNTERS: Final = "counters"  # of what is remembered: a digest of all queues' counters


MEASURED: Final = pa.DataFrameSchema(
    {
        **{name: pa.Column(str) for name in ("era", "experiment", "link", "qdisc", "cc")},
        "link": pa.Column(str, pa.Check.str_matches(r"^([0-9.]+/[0-9.]+|-)$")),
        "seed": pa.Column(int, pa.Check.ge(0)),
        "metric": pa.Column(str, pa.Check(_known)),
        "value": pa.Column(float),
    },
    unique=["era", "experiment", "link", "qdisc", "cc", "seed", "metric"],
    strict=True,
)
"""One row per run and metric, in the metric's unit, or one of NOTHING; and of SAME_AS."""


def measure_study(study: StudyFolder, data: Path, *, jobs: int | None = None) -> pd.DataFrame:
    """Return the table of MEASURED of every run of `study` below `data`.

    An era is as `RunFile` has it, with the kernel where it is not the default. Runs of another
    length than the experiment's, and of experiments without a `measure`, are left out, but for what
    probes recorded beside them. `jobs` is the number of processes, by default one per core. Raise
    DataError for a run that cannot be read.
    """
    measures = {name: measure for name in study.experiments if (measure := measure_of(study, name))}
    runs = index_of(data, study.name)
    work = [run for run in runs if run.experiment in measures and not run.length]
    by_id = {run.run: run for run in work}
    first: dict[tuple[str | int, ...], RunFile] = {}
    for run in work:
        cell = (run.experiment, run.era, run.link, run.qdisc, run.cc)
        if (other := first.setdefault((*cell, run.seed), run)) is not run:
            raise DataError.of(run.provenance, f"has the seed of {other.run}", "Do the run again")

    def numbers_of(ids: list[str]) -> list[Mapping[str, float]]:
        return mapped(_remembered, [by_id[name] for name in ids], jobs)

    states = dict(zip(by_id, _states(study, measures, work), strict=True))
    subject = f"{data.resolve()}\0{study.name}"
    numbers = remembered_parts(FOLDER, subject, states, numbers_of)
    table = _table(measures, work, list(numbers.values()))
    captured = []
    for part in registry_of(study).recorded:
        runs = recorded.find(data, study.name, part.probe)
        captured += [part.of(runs)] if runs else []
    table = pd.concat([rows for rows in (table, *captured) if len(rows)] or [table])
    types = dict.fromkeys(MEASURED.columns, str) | {"seed": int, "value": float}
    return MEASURED.validate(table.astype(types))


def measure_runs(runs: Sequence[RunFile]) -> pd.DataFrame:
    """Return a row per run, whole or as its measures: `era`, `link`, `qdisc`, `cc`, `seed`, and a
    column for each metric that any of them has. Raises DataError for a run that cannot be read."""
    settings = ("era", "link", "qdisc", "cc", "seed")
    rows = [{**{name: getattr(run, name) for name in settings}, **measure_run(run)} for run in runs]
    return pd.DataFrame(rows)


def _states(
    study: StudyFolder, measures: Mapping[str, Measure], runs: Sequence[RunFile]
) -> Iterator[str]:
    """Yield a digest of all that the numbers of each of `runs` depend on."""
    files = [path for path in (study.folder / FILE, study.axes) if path.is_file()]
    about = digest([*contents(files), _COUNTERS])
    code = {
        name: f"{of.of.__module__}:{of.of.__qualname__} {code_digest(of.files(study.folder))}"
        for name, of in measures.items()
    }
    divisors: dict[tuple[str, ...], list[RunFile]] = {}
    for run in runs:
        cell = (run.variant, run.link, run.cc)
        if cell not in divisors:
            divisors[cell] = []
            with suppress(EmulationError):  # which measuring the run says, too
                divisors[cell] = unloaded(run)
        paths = [path for of in (run, *divisors[cell]) for path in of.files]
        yield digest([about, code[run.experiment], *map(state, paths)])


def _remembered(run: RunFile) -> Mapping[str, float]:
    """Return `measure_run`, and a number for the counters of all queues; 0 where none had
    packets."""
    counters = datafile.counters(read_record(run))
    number = int(digest([counters])[:13], 16) if counters else 0
    return {**measure_run(run), _COUNTERS: float(number)}


def measure_run(run: RunFile) -> Mapping[str, float]:
    """Return the numbers of one run by their metrics, measured as its experiment says; none where
    that names no `measure`. Raises DataError for a run that cannot be read."""
    measure = measure_of(study_at(run.paper), run.experiment)
    if measure is None:
        return {}
    try:
        record = read_record(run)  # which is that of this run
        values = record[datafile.MEASURES] if run.is_reduced else measure.of(run)
    except EmulationError:
        raise
    except (Exception, SystemExit) as error:
        if measure.own:
            with code.blamed(study_at(run.paper).folder, f"of {run.run}: ", measure.place):
                raise
        wrong = f"cannot be measured ({type(error).__name__}: {error})"
        raise DataError.of(run.provenance, wrong, RERUN) from error
    wanted = "Return a mapping of metrics to numbers"
    if not isinstance(values, Mapping):
        what = f"returns a {type(values).__name__} of {run.run}"
        raise DataError.of(measure.place, what, wanted)
    numbers = {}
    for name, value in values.items():
        if name not in metrics():
            what, todo = unknown("metric", str(name), metrics())
            todo = f"Add it to METRICS, or {todo}"
            raise DataError.of(measure.place, f"returns the {what}", todo)
        try:
            if math.isinf(number := float(value)):
                raise ValueError(number)
            numbers[name] = number
        except (TypeError, ValueError) as error:
            what = f"returns {value!r} for {name} of {run.run}"
            raise DataError.of(measure.place, what, wanted) from error
    return numbers


def measure_beside(data: Path) -> Callable[[RunFile], Mapping[str, float]]:
    """Return `measure_run`, whose numbers are divided by those of the runs below `data`."""
    return lambda run: measure_run(replace(run, root=data))


def _table(
    measures: Mapping[str, Measure], runs: Sequence[RunFile], numbers: Sequence[Mapping[str, float]]
) -> pd.DataFrame:
    """Return a row per run and metric that it has a number of, or one of NOTHING.

    Raises DataError where a measure of the study has no number of any run.
    """
    rows: list[tuple[Any, ...]] = []
    measured = set()
    first: dict[tuple[Any, ...], int] = {}  # seed with these counters
    for run, values in zip(runs, numbers, strict=True):
        cell = (run.era, run.experiment, run.link, run.qdisc, run.cc, run.seed)
        values = {name: value for name, value in values.items() if not math.isnan(value)}
        counters = values.pop(_COUNTERS)
        measured |= {run.experiment} if values else set()
        seed = first.setdefault((*cell[:-1], counters), run.seed)
        if counters and seed != run.seed:
            rows.append((*cell, SAME_AS, float(seed)))
        rows += [(*cell, name, value) for name, value in (values or {NOTHING: 0.0}).items()]
    for name in sorted({run.experiment for run in runs} - measured):
        if measures[name].own:
            what = f"has no number of any run of '{name}'"
            raise DataError.of(measures[name].place, what, "Return numbers that are not NaN")
    return pd.DataFrame(rows, columns=list(MEASURED.columns))
