"""The one exception that `analysis` raises on purpose, and what it says of others."""

from collections.abc import Iterable
from typing import Any

import pandas as pd

from emulation.study.schema import unknown


class DataError(Exception):
    """Data that cannot be used: the message names the file, what is wrong and what to do."""

    @classmethod
    def of(cls, where: object, wrong: str, remedy: str) -> "DataError":
        """`where` is a file or folder; `wrong` and `remedy` are clauses without a full stop."""
        return cls(f"{where}: {wrong}. {remedy}.")


class OnlyMeasures(DataError):
    """Runs that are asked for ship as their measures, without their data."""


def require_one(name: str, value: object, of: Iterable[str]) -> None:
    """Raise DataError where the option `name` has a value that is none of those that there are."""
    choices = list(of)
    if value not in choices:
        wrong, todo = unknown("value", str(value), choices)
        raise DataError.of(name, wrong, todo)


def brief(error: Exception) -> str:
    """What an error of pandas or pandera says first, in a line, and of which row of a table."""
    first: Any = (getattr(error, "schema_errors", None) or (error,))[0]
    said = str(first).partition("\n")[0].partition(" {")[0].rstrip(".:")
    rows = getattr(getattr(first, "data", None), "index", None)
    cases = getattr(first, "failure_cases", None)
    # Other labels come from a column that the header does not name.
    if not isinstance(rows, pd.RangeIndex) or not isinstance(cases, pd.DataFrame):
        return said
    cases = cases.dropna(subset="index")
    if cases.empty:
        return said
    case = cases.iloc[0]
    wanted, column = getattr(first.check, "error", None), first.schema.name
    if wanted:
        said = f"{column} is {case['failure_case']!r}, not {wanted}" if column else wanted
    return f"row {int(case['index']) + 1}: {said}"
