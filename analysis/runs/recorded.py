"""Tables that probes left beside runs, `seed-001.drops.csv`, as one table of many runs."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import pandas as pd
import pandera.pandas as pa

from qdisclab.analysis.errors import refused
from qdisclab.analysis.runs.dataset import RunFile, index_of
from qdisclab.analysis.runs.published import OTHER_FORM, read_csv

KEY: Final = ("experiment", "era", "link", "qdisc", "cc", "seed")
_COLUMNS: Final = {
    **{name: pa.Column(str) for name in KEY[:-1]},
    "seed": pa.Column(int, pa.Check.ge(0)),
    "length_s": pa.Column(float, pa.Check.gt(0)),
}


def schema(columns: Mapping[str, pa.Column], rows: str) -> pa.DataFrameSchema:
    """Return the schema of a table of many runs; `rows` is the column that tells the rows of a run
    apart."""
    return pa.DataFrameSchema({**_COLUMNS, **columns}, unique=[*KEY, rows], strict=True)


def find(data: Path, study: str, probe: str) -> list[RunFile]:
    """Return the runs of a study below the folder `data` beside which the `probe` left its table;
    of runs that differ in their length alone the longest."""
    longest: dict[tuple[object, ...], RunFile] = {}
    for run in beside(index_of(data, study), probe):
        key = tuple(getattr(run, name) for name in KEY)
        longest[key] = max(longest.get(key, run), run, key=_length_s)
    return list(longest.values())


def _length_s(run: RunFile) -> float:
    return float(run.request["length_s"])


def beside(runs: Iterable[RunFile], probe: str) -> list[RunFile]:
    """Return those of `runs` beside which the `probe` left its table."""
    return [run for run in runs if _table(run, probe).exists()]


def _table(run: RunFile, probe: str) -> Path:
    return run.provenance.with_suffix(f".{probe}.csv")


def read(runs: Iterable[RunFile], probe: str, form: pa.DataFrameSchema) -> pd.DataFrame:
    """Return the tables of `probe` beside `runs` as one of `form`, with what KEY names and the
    length of the load; runs without one are passed over.

    Raises DataError for a table that has another form.
    """
    todo = f"Make it again: emulate run … --probe {probe}"
    wrong = f"not a table of the probe '{probe}' ({{}})"
    tables: dict[Path, pd.DataFrame] = {}
    texts = {name: str for name, column in form.columns.items() if column.dtype.type is str}
    # whole numbers without a point are read as integers
    floats = {name: float for name, of in form.columns.items() if str(of.dtype) == "float64"}
    for run in beside(runs, probe):
        path = _table(run, probe)
        about = {name: getattr(run, name) for name in KEY}
        with refused(path, wrong, todo, *OTHER_FORM):
            table = read_csv(path, dtype=texts).assign(**about, length_s=_length_s(run))
            tables[path] = table[list(form.columns)].astype(floats)
    if not tables:
        return pd.DataFrame(columns=list(form.columns))
    try:
        return form.validate(pd.concat(tables.values(), ignore_index=True))
    except OTHER_FORM:  # one at a time, which takes longer, to name it
        for path, table in tables.items():
            with refused(path, wrong, todo, *OTHER_FORM):
                form.validate(table)
        raise
