"""The one exception that `analysis` raises on purpose."""


class DataError(Exception):
    """Data that cannot be used: the message names the file, what is wrong and what to do."""

    @classmethod
    def of(cls, where: object, wrong: str, remedy: str) -> "DataError":
        """`where` is a file or folder; `wrong` and `remedy` are clauses without a full stop."""
        return cls(f"{where}: {wrong}. {remedy}.")
