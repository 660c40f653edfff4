"""The output of programs in a guest: one archive, rows of JSON, and series of numbers.

A line of standard output that is a JSON object is a row, unless one of its numbers is not finite or
it has the key `program`, which is added to each row. In a row with a `time_s`, in seconds since the
load began, every number is a sample of the series `PROGRAM KEY`.
"""

import gzip
import io
import json
import math
import os
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeGuard

from qdisclab.emulation import datafile
from qdisclab.emulation.captures import flent
from qdisclab.emulation.model.run import Run

FOLDER = "programs"  # in the guest's `out`, with one folder per program
ARCHIVE, ROWS, DATA = "output.tar.gz", "rows.jsonl.gz", "data.flent.gz"
TIME = "time_s"  # the key of a row for its time
LONGEST_LINE = 1 << 20  # bytes; a longer line is not a row


def reduce(run: Run, out: Path) -> None:
    """Make `ARCHIVE`, `ROWS` and `DATA` from the files in `out`; equal output gives equal bytes."""
    folder = out / FOLDER
    printed = list(rows(folder))
    datafile.write_rows(printed, out / ROWS)
    archive(folder, out / ARCHIVE)
    flent.write(content(run, printed), out / DATA)


def rows(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows that programs printed, each with its `program`, sorted by program."""
    for path in files(folder):
        if path.name == "stdout" and path.parent.parent == folder:
            with path.open("rb") as file:
                for line in file:
                    if (row := _row(line)) is not None:
                        yield {"program": path.parent.name, **row}


def files(folder: Path) -> list[Path]:
    """Return the files below `folder`, sorted; `vm.run` has removed links."""
    return sorted(Path(place, name) for place, _, names in os.walk(folder) for name in names)


def _row(line: bytes) -> dict[str, Any] | None:
    if not line.startswith(b"{") or len(line) > LONGEST_LINE:
        return None
    try:
        row = json.loads(line, parse_float=_finite, parse_constant=_finite)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) and "program" not in row else None


def _finite(text: str) -> float:
    """Return the number; raise `ValueError` for NaN and infinity, which JSON does not have."""
    if not math.isfinite(number := float(text)):
        raise ValueError(text)
    return number


def content(run: Run, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the numbers of rows in flent's form, where a sample is the last value of its step."""
    step_s = run.traffic.step.seconds
    count = math.ceil(run.length.seconds / step_s) + 1
    results: dict[str, list[float | None]] = {}
    for row in rows:
        time_s = row.get(TIME)
        if not _number(time_s) or not 0 <= time_s / step_s < count:
            continue
        for key, value in row.items():
            if key != TIME and _number(value):
                series = results.setdefault(f"{row['program']} {key}", [None] * count)
                series[int(time_s / step_s)] = value
    return flent.content(run.traffic.flent_about(run), results or {"rows": [None] * count}, {})


def _number(value: Any) -> TypeGuard[float]:
    """Return whether it is a number that a float can hold: integers of JSON have no limit."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return abs(value) <= sys.float_info.max


def archive(folder: Path, path: Path) -> None:
    """Write the files below `folder` as a tar file without owners, modes and times of the host."""
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for file in files(folder):
            member = tarfile.TarInfo(str(file.relative_to(folder)))
            with file.open("rb") as stream:
                member.size, member.mode = os.fstat(stream.fileno()).st_size, 0o644
                tar.addfile(member, stream)
    path.write_bytes(gzip.compress(whole.getvalue(), mtime=0))
