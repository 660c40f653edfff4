"""The data file of a run: in flent's form, or a table of rows where that is all it measured.

It also reads files of JSON, gzip and CSV that somebody else may have made: `DamagedData` says what
is wrong with one, and reading takes a bounded amount of memory.
"""

import gzip
import json
import os
import stat
import zlib
from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from qdisclab.emulation.errors import DamagedData

#: In the provenance of a run without data: what it measured, numbers by name.
MEASURES = "measures"

#: How the names of data files end. The second is beside the first where programs printed rows.
FLENT, ROWS = ".flent.gz", ".rows.jsonl.gz"

#: How the name of what flent wrote ends, where it is kept: with all digits and raw values.
RAW = ".raw.flent.gz"

#: What programs of a run printed and left.
OUTPUT = ".output.tar.gz"

#: Of a file that is read whole, unpacked. The largest that ships has 0.8 MB, of 150 s of load; 64
#: MiB are hours. Python takes up to 20 times as much for JSON of nothing but brackets.
MOST_BYTES = 64 << 20

#: Of lists and mappings in each other: a provenance that ships has 7. Python's own bound depends on
#: how deep its caller is.
MOST_DEPTH = 64

_NESTING = frozenset({dict, list})
_AGAIN = "delete the run's two files and run it again"


def beside(record: Path) -> Path:
    """Return the data file of the run with the provenance `record`, which need not be there."""
    flent, rows = (record.with_name(f"{record.stem}{end}") for end in (FLENT, ROWS))
    return rows if rows.exists() and not flent.exists() else flent


def is_reduced(record: Path) -> bool:
    """Return whether only the provenance `record` of a run and its measures are stored.

    `emulate run --reduced` makes such runs: `data_sha256` still says what the data are.
    """
    if beside(record).exists() or not record.is_file():
        return False
    try:
        return MEASURES in read_json(record)
    except DamagedData:  # whoever reads it will say so
        return False


def twins(runs: Iterable[tuple[Hashable, int, Path]]) -> dict[Path, int]:
    """Return which of `runs` gave the result of an earlier seed of their cell, and that seed.

    Each is its cell, its seed and its provenance. Where two seeds have equal counters of all
    queues, nothing that matters was random.
    """
    cells: dict[Hashable, dict[int, Path]] = {}
    for cell, seed, record in runs:
        cells.setdefault(cell, {})[seed] = record
    same: dict[Path, int] = {}
    for records in cells.values():
        first: dict[str, int] = {}
        for seed, record in sorted(records.items()) if len(records) > 1 else ():
            text = counters(read_json(record))
            if text and first.setdefault(text, seed) != seed:
                same[record] = first[text]
    return same


def counters(record: Mapping[str, Any]) -> str:
    """Return the counters of all queues as text; empty where none of them has had a packet."""
    ports = record.get("qdiscs") or {}
    queues = [queue for port in ports.values() for queue in port.get("qdiscs", ())]
    idle = bool(queues) and all(queue.get("packets") == 0 for queue in queues)
    return json.dumps(ports, sort_keys=True) if ports and not idle else ""


def write_rows(rows: Iterable[dict[str, Any]], path: Path) -> None:
    """Write a line of JSON for each row; equal rows give equal bytes."""
    lines = "".join(f"{json.dumps(row)}\n" for row in rows)
    path.write_bytes(gzip.compress(lines.encode(), mtime=0))


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return what `write_rows` has written; `DamagedData` for anything else."""
    rows = [_parsed(path, line) for line in read(path).splitlines()]
    if not all(isinstance(row, dict) for row in rows):
        raise DamagedData("is not a table: a line is not a JSON object", str(path), _AGAIN)
    return rows


def read_json(path: Path, todo: str = _AGAIN) -> dict[str, Any]:
    """Return the JSON object in a file, gzipped or not; `DamagedData` for anything else.

    NaN and infinity, which JSON does not have, are refused.
    """
    content = _parsed(path, read(path, todo=todo), todo)
    if not isinstance(content, dict):
        raise DamagedData("JSON, but not an object", str(path), todo)
    return content


def read(path: Path, most: int = MOST_BYTES, todo: str = _AGAIN) -> bytes:
    """Return the content of a file, unpacked where it is gzipped, of at most `most` bytes.

    Raises `DamagedData` where it cannot be read, is not a regular file, or is larger.
    """
    try:
        with open(path, "rb", opener=regular) as file:
            packed = path.suffix == ".gz" or file.peek(2)[:2] == b"\x1f\x8b"
            content = (gzip.GzipFile(fileobj=file) if packed else file).read(most + 1)
    except FileNotFoundError:
        raise DamagedData("no such file", str(path), todo) from None
    except gzip.BadGzipFile as error:
        raise DamagedData(f"not gzip data: {error}", str(path), todo) from error
    except (EOFError, zlib.error) as error:
        raise DamagedData("truncated or damaged gzip data", str(path), todo) from error
    except OSError as error:
        raise DamagedData(f"cannot be read: {error.strerror}", str(path), todo) from error
    if len(content) > most:
        raise DamagedData(f"is larger than {most >> 20} MiB, unpacked", str(path), todo)
    return content


def regular(name: str, flags: int) -> int:
    """Open a file, as `open` takes it; raise `DamagedData` for a pipe or a device, which might
    never end."""
    file = os.open(name, flags | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise DamagedData("cannot be read: not a regular file", name, "put a file in its place")
    return file


def _parsed(path: Path, text: bytes, todo: str = _AGAIN) -> Any:
    try:
        content = json.loads(text, parse_constant=_no_number)
        if _deeper(content, MOST_DEPTH):
            raise RecursionError
    except RecursionError:
        raise DamagedData("JSON that is nested too deeply", str(path), todo) from None
    except (ValueError, OverflowError) as error:
        raise DamagedData(f"not JSON ({error})", str(path), todo) from error
    return content


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a JSON number")


def _deeper(value: Any, most: int) -> bool:
    """Return whether lists and mappings are nested more than `most` deep."""
    layer = [value] if type(value) in _NESTING else []
    for _ in range(most + 1):
        inside = (value.values() if isinstance(value, dict) else value for value in layer)
        nesting = (values for values in inside if not _NESTING.isdisjoint(map(type, values)))
        layer = [value for values in nesting for value in values if type(value) in _NESTING]
        if not layer:
            return False
    return True
