"""What each run measured, as numbers with names: one tidy table of all runs of a study.

How a run becomes numbers its experiment says, `measure:` in the study's file: a measure that is
registered (`registry`), which returns numbers by names of metrics that are.
"""

import hashlib
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pandera.pandas as pa

from analysis.errors import DataError, as_data_error
from analysis.measures import store
from analysis.measures.registry import Measure, measure_of, metrics, registry_of
from analysis.runs import recorded
from analysis.runs.dataset import FEW_RUNS, RunFile, index_of, read_record
from analysis.runs.flentfile import RERUN
from analysis.runs.study import StudyFolder, of_run, study_at
from emulation import datafile
from emulation.host.pool import workers
from emulation.study import code
from emulation.study.schema import unknown
from emulation.study.studies import FILE

#: In place of a metric, of a run that was measured and has none.
NOTHING: Final = ""


MEASURED: Final = pa.DataFrameSchema(
    {
        "era": pa.Column(str),
        "experiment": pa.Column(str),
        "link": pa.Column(str, pa.Check.str_matches(r"^[0-9.]+/[0-9.]+$")),
        "qdisc": pa.Column(str),
        "cc": pa.Column(str),
        "seed": pa.Column(int, pa.Check.ge(0)),
        "metric": pa.Column(str, pa.Check(lambda names: names.isin([NOTHING, *metrics()]))),
        "value": pa.Column(float),
    },
    unique=["era", "experiment", "link", "qdisc", "cc", "seed", "metric"],
    strict=True,
)
"""One row per run and metric, in the metric's unit, or one of NOTHING."""


def measure_study(
    study: StudyFolder,
    data: Path,
    *,
    experiments: Collection[str] | None = None,
    eras: Collection[str] | None = None,
    ccs: Collection[str] | None = None,
    jobs: int | None = None,
) -> pd.DataFrame:
    """Table of MEASURED of every run of `study` below `data`, or of some `experiments`, `eras` and
    `ccs` only.

    An era is as `RunFile` has it, with the kernel where it is not the default. Runs of another
    length than the experiment's, and of experiments without a `measure`, are left out, but for what
    probes recorded beside them. `jobs`
    is the number of processes, by default one per core. Raises DataError for a run that cannot be
    read.
    """
    measures = {name: measure for name in study.experiments if (measure := measure_of(study, name))}

    def wanted(run: RunFile) -> bool:
        chosen = ((run.experiment, experiments), (run.era, eras), (run.cc, ccs))
        return all(values is None or value in values for value, values in chosen)

    work = [
        run
        for run in index_of(data, study.name)
        if run.experiment in measures and not run.length and wanted(run)
    ]
    with store.measuring(data, study.name):
        rows = _known_and_new(study, data, measures, work, jobs)
    table = rows[list(MEASURED.columns)]
    captured = []
    for part in registry_of(study).recorded:
        found = list(filter(wanted, recorded.find(data, study.name, part.probe)))
        captured += [part.of(found)] if found else []
    table = pd.concat([one for one in (table, *captured) if len(one)] or [table])
    types = dict.fromkeys(MEASURED.columns, str) | {"seed": int, "value": float}
    return MEASURED.validate(table.astype(types))


def measure_run(run: RunFile) -> Mapping[str, float]:
    """Numbers of one run by their metrics, measured as its experiment says; none where that names
    no `measure`. Raises DataError for a run that cannot be read."""
    measure = measure_of(of_run(run), run.experiment)
    return {} if measure is None else _values(run, measure)


def measure_runs(runs: Sequence[RunFile]) -> pd.DataFrame:
    """A row per run, whole or as its measures: `era`, `link`, `qdisc`, `cc`, `seed`, and a column
    for each metric that any of them has. Raises DataError for a run that cannot be read."""
    settings = ("era", "link", "qdisc", "cc", "seed")
    return pd.DataFrame(
        [{**{name: getattr(run, name) for name in settings}, **measure_run(run)} for run in runs]
    )


def contexts(table: pd.DataFrame) -> Sequence[tuple[str, str]]:
    """The eras and congestion controls that `table` has anything of."""
    pairs = table[["era", "cc"]].drop_duplicates()
    return sorted((str(era), str(cc)) for era, cc in pairs.itertuples(index=False))


def _described(study: StudyFolder) -> str:
    """Digest of what the study's files say of its experiments."""
    digest = hashlib.sha256()
    for path in (study.folder / FILE, study.axes):
        digest.update(path.read_bytes() if path.is_file() else b"")
    return digest.hexdigest()


def _known_and_new(
    study: StudyFolder,
    data: Path,
    measures: Mapping[str, Measure],
    work: Sequence[RunFile],
    jobs: int | None,
) -> pd.DataFrame:
    """The rows of `store.COLUMNS` of all runs of `work`, those that are kept,
    and the others measured and kept."""
    described = _described(study)
    how = {
        name: f"{measure.of.__module__}:{measure.of.__qualname__} {store.code(study, measure)} "
        + described
        for name, measure in measures.items()
    }
    keys = store.keys((run, how[run.experiment]) for run in work)
    by_key = dict(zip(keys, work, strict=True))
    experiments = sorted({run.experiment for run in work})
    kept = {name: store.read(data, study.name, name) for name in experiments}
    known = {key for table in kept.values() for key in table["key"].unique()}
    todo = {key: run for key, run in by_key.items() if key not in known}
    values = _measured(list(todo.values()), measures, jobs)
    new = _table(
        _rows(run, key, numbers) for (key, run), numbers in zip(todo.items(), values, strict=True)
    )
    found = []
    for name, table in kept.items():
        added = new[new["experiment"] == name]
        if len(added):
            cells = list(store.CELL)
            outdated = table.set_index(cells).index.isin(added.set_index(cells).index)
            table = pd.concat([one for one in (table[~outdated], added) if len(one)])
            store.write(table, data, study.name, name)
        table = table[table["key"].isin(by_key)]
        if measures[name].own and (table["metric"] == NOTHING).all():
            what = f"has no number of any run of '{name}'"
            raise DataError.of(measures[name].place, what, "Return numbers that are not NaN")
        found.append(table)
    rows = pd.concat([one for one in found if len(one)] or [_table([])])
    places = {key: place for place, key in enumerate(by_key)}
    rows = rows.iloc[rows["key"].map(places).argsort(kind="stable")]
    return rows.reset_index(drop=True)


def _measured(
    runs: Sequence[RunFile], measures: Mapping[str, Measure], jobs: int | None
) -> list[Mapping[str, float]]:
    if len(runs) < FEW_RUNS or jobs == 1:
        return [_values(run, measures[run.experiment]) for run in runs]
    with workers(jobs) as pool:
        return list(pool.map(_values_by_name, runs, chunksize=4))


def _values_by_name(run: RunFile) -> Mapping[str, float]:
    """As `_values`, in a process that has not loaded the run's study yet."""
    measure = _measure(run.paper, run.experiment)
    assert measure is not None
    return _values(run, measure)


@cache
def _measure(study: str, experiment: str) -> Measure | None:
    return measure_of(study_at(study), experiment)


def _values(run: RunFile, measure: Measure) -> Mapping[str, float]:
    try:
        record = read_record(run)  # which is that of this run
        values = record[datafile.MEASURES] if run.is_reduced else measure.of(run)
    except DataError:
        raise
    except Exception as error:
        if measure.own:
            with as_data_error(), code.blamed(of_run(run).folder, f"of {run.run}: ", measure.place):
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
            raise DataError.of(
                measure.place, f"returns the {what}", f"Add it to METRICS, or {todo}"
            )
        try:
            numbers[name] = float(value)
        except (TypeError, ValueError) as error:
            what = f"returns {value!r} for {name} of {run.run}"
            raise DataError.of(measure.place, what, wanted) from error
    return numbers


def _rows(run: RunFile, key: str, values: Mapping[str, float]) -> list[tuple[Any, ...]]:
    cell = (run.era, run.experiment, run.link, run.qdisc, run.cc, run.seed)
    known = {name: value for name, value in values.items() if not math.isnan(value)}
    return [(*cell, name, value, key) for name, value in (known or {NOTHING: 0.0}).items()]


def _table(rows: Iterable[list[tuple[Any, ...]]]) -> pd.DataFrame:
    return pd.DataFrame([row for part in rows for row in part], columns=list(store.COLUMNS))
