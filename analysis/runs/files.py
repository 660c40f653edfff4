"""Files that somebody else may have made, read within bounds (`emulation.datafile`); each function
raises DataError for one that cannot be."""

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import pandas as pd

from analysis.errors import DataError
from emulation import datafile
from emulation.errors import DamagedData

MOST_CSV: Final = 8 << 20
"""Bytes of a table; the largest that ships has 11 kB."""
LONGEST_LINE: Final = 1 << 16
"""Bytes of a line of a table: pandas takes a thousand times as much for a column."""


def read_json(path: Path, **todo: str) -> dict[str, Any]:
    """The JSON object in a file, gzipped where its name ends so."""
    with told():
        return datafile.read_json(path, **todo)


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a run whose data are a table, `.rows.jsonl.gz`."""
    with told():
        return datafile.read_rows(path)


def read_csv(path: Path, **options: Any) -> pd.DataFrame:
    """As that of pandas, which also raises ValueError for what it cannot read."""
    with told():
        content = datafile.read(path, MOST_CSV, "restore it where it comes with the repository")
    if max(map(len, content.splitlines()), default=0) > LONGEST_LINE:
        wrong = f"a line is longer than {LONGEST_LINE >> 10} KiB"
        raise DataError.of(path, wrong, "Is it a table")
    try:
        table: pd.DataFrame = pd.read_csv(BytesIO(content), **options)
    except (IndexError, OverflowError, TypeError) as error:  # of pandas, over odd headers
        raise ValueError(str(error)) from error
    return table


@contextmanager
def told() -> Iterator[None]:
    """Inside, DamagedData becomes DataError."""
    try:
        yield
    except DamagedData as error:
        raise DataError.of(error.where, error.what, error.todo.capitalize()) from error
