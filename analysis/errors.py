"""The one exception that `analysis` raises on purpose, and what it says of others."""

from collections.abc import Iterable

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
    """What an error of pandas or pandera says first, in a line."""
    several = getattr(error, "schema_errors", None)
    return str(several[0] if several else error).partition("\n")[0].rstrip(".:")
