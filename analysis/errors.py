"""The one exception that `analysis` raises on purpose, and what it says of others."""


class DataError(Exception):
    """Data that cannot be used: the message names the file, what is wrong and what to do."""

    @classmethod
    def of(cls, where: object, wrong: str, remedy: str) -> "DataError":
        """`where` is a file or folder; `wrong` and `remedy` are clauses without a full stop."""
        return cls(f"{where}: {wrong}. {remedy}.")


class OnlyMeasures(DataError):
    """Runs that are asked for ship as their measures, without their data."""


def brief(error: Exception) -> str:
    """What an error of pandas or pandera says first, in a line."""
    several = getattr(error, "schema_errors", None)
    return str(several[0] if several else error).partition("\n")[0].rstrip(".:")
