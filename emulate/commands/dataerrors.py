"""Errors of the analysis as those of a command."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from emulation.errors import EmulationError, MissingTool


@contextmanager
def as_emulation_errors() -> Iterator[None]:
    """Inside, a `DataError` of the analysis becomes an `EmulationError` with its words."""
    from analysis.errors import DataError  # pandas takes a second to import

    try:
        yield
    except DataError as error:
        raise EmulationError(str(error).rstrip(".")) from error


def missing_package(error: ModuleNotFoundError) -> MissingTool:
    """Return the error that names the extra which brings a package; raise `error` for others."""
    from importlib.metadata import requires

    name = (error.name or "").partition(".")[0]
    extra = re.compile(rf"{re.escape(name)}==.*; extra == '(\w+)'", re.IGNORECASE)
    for match in filter(None, map(extra.match, requires("qdisc-lab") or ())):
        todo = f"pip install 'qdisc-lab[{match[1]}]'"
        return MissingTool(f"this takes the package {name}", todo=todo)
    raise error
