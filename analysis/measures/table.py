"""What each run measured, as numbers with names: one tidy table of all runs of a study.

How a run becomes numbers its experiment says, `measure:` in the study's file: one of `kinds.KINDS`,
which returns numbers by names that `METRICS` has.
"""

import hashlib
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pandera.pandas as pa

from analysis.errors import DataError
from analysis.measures import drops, startup, store
from analysis.measures.kinds import KINDS, Measure
from analysis.measures.names import METRICS
from analysis.runs import recorded
from analysis.runs.dataset import FEW_RUNS, KERNEL, RunFile, find_runs, read_record
from analysis.runs.flentfile import RERUN
from analysis.runs.study import StudyFolder, of_run
from emulation.datafile import MEASURES
from emulation.host.pool import workers
from emulation.model.run import DEFAULT_ERA
from emulation.study.studies import FILE

#: In place of a metric, of a run that was measured and has none.
NOTHING: Final = ""

#: What probes beside runs give, whatever `measure:` their experiment has.
RECORDED: Final = frozenset((*drops.CLAIMED, *startup.METRICS))

LENGTH: Final = re.compile(r"[0-9.]+(ms|s|min)")

MEASURED: Final = pa.DataFrameSchema(
    {
        "era": pa.Column(str),
        "experiment": pa.Column(str),
        "link": pa.Column(str, pa.Check.str_matches(r"^[0-9.]+/[0-9.]+$")),
        "qdisc": pa.Column(str),
        "cc": pa.Column(str),
        "seed": pa.Column(int, pa.Check.ge(0)),
        "metric": pa.Column(str, pa.Check.isin([NOTHING, *METRICS])),
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
    length than the experiment's, whose folder says so, and of experiments without a `measure` are
    left out, but for what probes recorded beside them. `jobs`
    is the number of processes, by default one per core. Raises DataError for a run that cannot be
    read.
    """
    kinds = {name: one.measure for name, one in study.experiments.items() if one.measure}
    work: list[tuple[str, RunFile]] = []
    for folder in sorted((data / study.name).glob("*/")):
        experiment, *parts = folder.name.split("@")
        if experiment not in kinds or any(map(LENGTH.fullmatch, parts)):
            continue
        if not parts or parts[0].startswith(KERNEL):
            parts.insert(0, DEFAULT_ERA)
        era = "@".join(parts)
        wanted = experiments is None or experiment in experiments
        if wanted and (eras is None or era in eras):
            found = find_runs(data, study.name, folder.name, reduced=True)
            work += [(era, run) for run in found if ccs is None or run.cc in ccs]
    with store.measuring(data, study.name):
        rows = _known_and_new(study, data, kinds, work, jobs)
    table = rows[list(MEASURED.columns)]
    captured = []
    for part in (drops, startup):
        found = [
            run
            for run in recorded.find(data, study.name, part.PROBE)
            if (experiments is None or run.experiment in experiments)
            and (eras is None or run.era in eras)
            and (ccs is None or run.cc in ccs)
        ]
        captured += [part.measured(found)] if found else []
    table = pd.concat([one for one in (table, *captured) if len(one)] or [table])
    types = dict.fromkeys(MEASURED.columns, str) | {"seed": int, "value": float}
    return MEASURED.validate(table.astype(types))


def measure_run(run: RunFile) -> Mapping[str, float]:
    """Numbers of METRICS of one run, measured as its experiment says; none where that names no
    `measure`. Raises DataError for a run that cannot be read."""
    experiment = of_run(run).experiments.get(run.experiment)
    if experiment is None or experiment.measure is None:
        return {}
    return _values(run, experiment.measure)


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


def _named(measure: Measure) -> str:
    return f"{measure.__module__}:{measure.__qualname__}"


def _described(study: StudyFolder) -> str:
    """Digest of what the study's files say of its experiments."""
    digest = hashlib.sha256()
    for path in (study.folder / FILE, study.axes):
        digest.update(path.read_bytes() if path.is_file() else b"")
    return digest.hexdigest()


def _known_and_new(
    study: StudyFolder,
    data: Path,
    kinds: Mapping[str, str],
    work: Sequence[tuple[str, RunFile]],
    jobs: int | None,
) -> pd.DataFrame:
    """The rows of `store.COLUMNS` of all runs of `work`, each with its era: those that are kept,
    and the others measured and kept."""
    described = _described(study)
    how = {
        name: f"{_named(KINDS[kind])} {store.code(kind)} {described}"
        for name, kind in kinds.items()
    }
    keys = store.keys((run, how[run.experiment]) for _, run in work)
    by_key = dict(zip(keys, work, strict=True))
    experiments = sorted({run.experiment for _, run in work})
    kept = {name: store.read(data, study.name, name) for name in experiments}
    known = {key for table in kept.values() for key in table["key"].unique()}
    todo = {key: one for key, one in by_key.items() if key not in known}
    values = _measured([run for _, run in todo.values()], kinds, jobs)
    new = _table(
        _rows(era, run, key, numbers)
        for (key, (era, run)), numbers in zip(todo.items(), values, strict=True)
    )
    found = []
    for name, table in kept.items():
        added = new[new["experiment"] == name]
        if len(added):
            cells = list(store.CELL)
            outdated = table.set_index(cells).index.isin(added.set_index(cells).index)
            table = pd.concat([one for one in (table[~outdated], added) if len(one)])
            store.write(table, data, study.name, name)
        found.append(table[table["key"].isin(by_key)])
    rows = pd.concat([one for one in found if len(one)] or [_table([])])
    places = {key: place for place, key in enumerate(by_key)}
    rows = rows.iloc[rows["key"].map(places).argsort(kind="stable")]
    return rows.reset_index(drop=True)


def _measured(
    runs: Sequence[RunFile], kinds: Mapping[str, str], jobs: int | None
) -> list[Mapping[str, float]]:
    of = [kinds[run.experiment] for run in runs]
    if len(runs) < FEW_RUNS or jobs == 1:
        return list(map(_values, runs, of))
    with workers(jobs) as pool:
        return list(pool.map(_values, runs, of, chunksize=4))


def _values(run: RunFile, kind: str) -> Mapping[str, float]:
    try:
        record = read_record(run)  # which is that of this run
        values = record[MEASURES] if run.is_reduced else KINDS[kind](run)
        numbers = {name: float(value) for name, value in values.items()}
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        wrong = f"cannot be measured as '{kind}' ({type(error).__name__}: {error})"
        raise DataError.of(run.provenance, wrong, RERUN) from error
    unknown = sorted(set(numbers) - set(METRICS))
    if unknown:
        wrong = f"the measure '{kind}' has the unknown metric {', '.join(unknown)}"
        raise DataError.of(run.provenance, wrong, "Add it to METRICS of analysis/measures/names.py")
    return numbers


def _rows(era: str, run: RunFile, key: str, values: Mapping[str, float]) -> list[tuple[Any, ...]]:
    cell = (era, run.experiment, run.link, run.qdisc, run.cc, run.seed)
    known = {name: value for name, value in values.items() if not math.isnan(value)}
    return [(*cell, name, value, key) for name, value in (known or {NOTHING: 0.0}).items()]


def _table(rows: Iterable[list[tuple[Any, ...]]]) -> pd.DataFrame:
    return pd.DataFrame([row for part in rows for row in part], columns=list(store.COLUMNS))
