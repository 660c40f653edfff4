"""Errors of the analysis as those of a command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from emulation.errors import EmulationError


@contextmanager
def as_emulation_errors() -> Iterator[None]:
    """Inside, a `DataError` of the analysis becomes an `EmulationError` with its words."""
    from analysis.errors import DataError  # pandas takes a second to import

    try:
        yield
    except DataError as error:
        raise EmulationError(str(error).rstrip(".")) from error
