"""Data files in flent's format, written from captures (flent's `doc/data-format.rst`)."""

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qdisclab.emulation.model.units import Duration

VERSION = 4  # of flent's data format
RELEASE = "2.1.1"  # of flent, which defines the format


@dataclass(frozen=True)
class About:
    """What was run, for a file's metadata."""

    name: str  # of the test; flent can plot the file where it knows a test of this name
    run: str  # id
    length: Duration  # of the load
    step: Duration

    @property
    def steps(self) -> int:
        """Return the number of steps of the load."""
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
    """Return the content of a data file.

    `results` has the series by step, `series` the metadata of each series, `more` further metadata
    of the file; times of steps are rounded to `decimals`.
    """
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
    """Write a data file to `path`; equal content gives equal bytes."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    with path.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(text.encode())
