"""Files in flent's format, of what captures show (flent's `doc/data-format.rst`)."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from emulation.units import Duration

VERSION = 4  # of flent's data format
RELEASE = "2.1.1"  # of flent, whose form this is
DECIMALS = 3

Series = list[float | None]  # by step; None where there is nothing


@dataclass(frozen=True)
class About:
    """What was done, as a file's metadata have it."""

    name: str  # of the test: a name of flent's, where it has one, lets it plot the file
    run: str  # id
    length: Duration  # of the load
    step: Duration

    @property
    def steps(self) -> int:
        """How many steps the load has."""
        return -(-self.length.nanoseconds // self.step.nanoseconds)


def content(
    about: About,
    results: dict[str, Any],
    parameters: dict[str, Any],
    *,
    raw_values: dict[str, Any] | None = None,
    series: dict[str, dict[str, Any]] | None = None,
    decimals: int = 6,
    **more: Any,
) -> dict[str, Any]:
    """What a file holds: `results` is series by step, `series` what else is told of each, `more`
    goes into the metadata; times of steps are rounded to `decimals`."""
    count = len(next(iter(results.values())))
    return {
        "version": VERSION,
        "x_values": [round(about.step.seconds * number, decimals) for number in range(count)],
        "results": results,
        "raw_values": raw_values or {},
        "metadata": {
            "NAME": about.name,
            "TITLE": about.run,
            "DATA_FILENAME": f"{about.run.replace('/', '_')}.flent.gz",
            "FLENT_VERSION": RELEASE,
            "LENGTH": about.length.seconds,
            "TOTAL_LENGTH": about.length.seconds,
            "STEP_SIZE": about.step.seconds,
            "TEST_PARAMETERS": parameters,
            "SERIES_META": series or {},
            **more,
        },
    }


def write(content: dict[str, Any], path: Path) -> None:
    """Write a file to `path`; equal content gives equal bytes."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    with path.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(text.encode())


def rounded(values: Iterable[float]) -> Series:
    """`values` to `DECIMALS`, with None for NaN."""
    return [None if math.isnan(value) else round(float(value), DECIMALS) for value in values]
