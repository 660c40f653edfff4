"""The data file of a run: in flent's form, or a table of rows where that is all it measured."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

#: How the names of data files end. The second is beside the first where programs printed rows.
FLENT, ROWS = ".flent.gz", ".rows.jsonl.gz"


def beside(record: Path) -> Path:
    """The data file of the run with the provenance `record`, which need not be there."""
    flent, rows = (record.with_name(f"{record.stem}{end}") for end in (FLENT, ROWS))
    return rows if rows.exists() and not flent.exists() else flent


def write_rows(rows: Iterable[dict[str, Any]], path: Path) -> None:
    """A line of JSON for each row; equal rows give equal bytes."""
    lines = "".join(f"{json.dumps(row)}\n" for row in rows)
    path.write_bytes(gzip.compress(lines.encode(), mtime=0))


def read_rows(path: Path) -> list[dict[str, Any]]:
    """What `write_rows` has written; `OSError` or `ValueError` for anything else."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
