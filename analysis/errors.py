"""The exception that `analysis` raises, and what it says of others."""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, TypeGuard

import pandas as pd

from qdisclab.emulation.errors import EmulationError
from qdisclab.emulation.study.schema import unknown

#: Options that are one or several, or given by experiment, whatever kind their default is of.
KINDS: Final = {
    "length": ("text", "mapping to texts"),
    "probe": ("text", "list of texts"),
    "qdiscs": ("list of texts", "mapping to lists of texts"),
}


#: What a file or record of another form raises where it is read.
UNUSABLE: Final = (
    ArithmeticError, AttributeError, LookupError, OSError, TypeError, ValueError,
)  # fmt: skip


class DataError(EmulationError):
    """Data that cannot be used: the message names the file, what is wrong and what to do.

    Others of the emulation's errors are raised as they are, `DamagedData` of a file for instance.
    """

    @classmethod
    def of(cls, where: object, wrong: str, remedy: str) -> "DataError":
        """`where` is a file or folder; `wrong` and `remedy` are clauses without a full stop."""
        return cls(f"{wrong}. {remedy}.", str(where))


@contextmanager
def refused(where: object, wrong: str, remedy: str, *kinds: type[Exception]) -> Iterator[None]:
    """Inside, an error of `kinds` becomes DataError; `wrong` has "{0}" for what it says, "{1}" for
    the name of its kind and "{2}" for what is `brief`."""
    try:
        yield
    except kinds as error:
        shown = wrong.format(error, type(error).__name__, brief(error))
        raise DataError.of(where, shown, remedy) from error


class OnlyMeasures(DataError):
    """Runs that are asked for ship as their measures, without their data."""


def require_one(name: str, value: object, of: Iterable[object]) -> None:
    """Raise DataError where the option `name` has a value that is not among `of`."""
    choices = list(of)
    if value not in choices:
        wrong, todo = unknown("value", str(value), map(str, choices))
        raise DataError.of(name, wrong, todo)


def require_several(name: str, values: object, of: Iterable[object]) -> None:
    """Raise DataError where option `name` is not a list, is empty, or has a value not in `of`."""
    choices = list(of)
    if not _is_list(values):
        todo = f"Choose from {', '.join(map(str, choices))}"
        raise DataError.of(name, f"is {values!r}, not a list of values", todo)
    for value in values:
        require_one(name, value, choices)


def require_texts(name: str, values: object) -> None:
    """Raise DataError where the option `name` is not a list of texts, or an empty one."""
    if not (_is_list(values) and all(isinstance(value, str) for value in values)):
        raise DataError.of(
            name, f"is {values!r}, not a list of texts", f'Write e.g. {name} = ["…"]'
        )


def require_kind(name: str, value: object, default: object) -> None:
    """Raise DataError where the option `name` has a value of another kind than its `default`."""
    kinds, given = KINDS.get(name, (kind_of(default),)), kind_of(value)
    # An empty list is one of texts and of numbers, too.
    if not any(given == kind or given in kind.split() or kind in given.split() for kind in kinds):
        wrong = f"is {value!r}, not a {' or '.join(kinds)}"
        raise DataError.of(name, wrong, f"Write e.g. {name} = {_example(default)}")


def kind_of(value: object) -> str:
    """Return what a value of YAML or of a notebook is called: "list of texts"."""
    if isinstance(value, Mapping):
        return " to ".join(["mapping", *_kinds(value.values())])
    if isinstance(value, list | tuple):
        return " of ".join(["list", *_kinds(value)])
    if isinstance(value, bool):
        return "boolean"
    if value is None or isinstance(value, int | float):  # None: a number that is left out
        return "number"
    return "text" if isinstance(value, str) else type(value).__name__


def _kinds(values: Iterable[object]) -> list[str]:
    """Return what the kinds of `values` are called in the plural: one name, or none."""
    singular = {kind_of(value).partition(" ") for value in values}
    kinds = sorted(f"{first}s{space}{rest}" for first, space, rest in singular)
    return [" and ".join(kinds)] if kinds else []


def _example(default: object) -> str:
    """Return `default` as it is written, of several values the first."""
    if isinstance(default, Mapping):
        default = dict(list(default.items())[:1])
    return repr(default[:1] if isinstance(default, list) else default)


def require_positive(name: str, value: object) -> None:
    """Raise DataError where the option `name` is not a number above zero."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise DataError.of(name, f"is {value!r}, not a number above 0", f"Write e.g. {name} = 10")


def _is_list(values: object) -> TypeGuard[Collection[object]]:
    return (
        isinstance(values, Collection) and not isinstance(values, str | Mapping) and len(values) > 0
    )


#: Reason of pandera's -> how we say it, of a column.
_COLUMNS = {
    "COLUMN_NOT_IN_SCHEMA": "has an extra column '{}'",
    "COLUMN_NOT_IN_DATAFRAME": "has no column '{}'",
    "COLUMN_NOT_ORDERED": "has its column '{}' in another place",
}

#: Check of pandera's -> what it asks for, with what it was given; of another our own words tell.
_WANTED = {
    "isin": "one of {allowed_values}",
    "str_matches": "of the form {pattern}",
    "str_length": "{min_value} to {max_value} characters",
    "in_range": "from {min_value} to {max_value}",
    "greater_than": "above {min_value}",
    "greater_than_or_equal_to": "at least {min_value}",
}


def brief(error: Exception) -> str:
    """Return the first line of an error of pandas or pandera, and of which row of a table it is."""
    first: Any = (getattr(error, "schema_errors", None) or (error,))[0]
    text = str(first).partition("\n")[0].partition(" {")[0].rstrip(".:")
    reason = getattr(getattr(first, "reason_code", None), "name", "")
    rows = getattr(getattr(first, "data", None), "index", None)
    cases = getattr(first, "failure_cases", None)
    if reason in _COLUMNS:
        return _COLUMNS[reason].format(cases)
    # Other labels come from a column that the header does not name.
    if not isinstance(rows, pd.RangeIndex) or not isinstance(cases, pd.DataFrame):
        return text
    cases = cases.dropna(subset="index")
    if cases.empty:
        return text
    case = cases.iloc[-1 if reason == "DUPLICATES" else 0]
    value = getattr(case["failure_case"], "item", lambda: case["failure_case"])()
    if reason == "DUPLICATES":
        text = f"{case['column']} {value!r} appears twice"
    elif wanted := _wanted(first.check):
        column = first.schema.name
        text = f"{column} is {value!r}, not {wanted}" if column else wanted
    return f"row {int(case['index']) + 1}: {text}"


def _wanted(check: Any) -> str:
    given = dict(getattr(check, "statistics", None) or {})
    for name, value in given.items():
        given[name] = ", ".join(map(str, value)) if isinstance(value, list | tuple) else value
    text = _WANTED.get(getattr(check, "name", None) or "")
    return text.format(**given) if text else getattr(check, "error", None) or ""
