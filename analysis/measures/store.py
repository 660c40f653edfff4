"""What runs measured, kept in the user's cache folder: many figures ask the same runs the same.

A run is known by its provenance, which has the digest of its data, and by its files' sizes and
times; what it measured holds as long as the code that measures does.
"""

import hashlib
import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Final

from analysis.errors import DataError
from analysis.measures.unloaded import unloaded
from analysis.runs.dataset import RunFile
from emulation.cache import cache_dir

PACKAGE: Final = Path(__file__).parents[1]
FOLDER: Final = "measured"
STORES: Final = 4  # of other states of the code that are left, the latest: switching back is quick
WAIT_S: Final = 30.0  # for another process that writes

Values = Mapping[str, float]


@cache
def code() -> str:
    """Digest of the sources that a measurement may depend on."""
    digest = hashlib.sha256()
    for path in sorted([*PACKAGE.rglob("*.py"), *(PACKAGE.parent / "emulation").glob("*.py")]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def key(run: RunFile, how: str) -> str:
    """What the measurements of a run are known by; `how` says how it is measured."""
    digest = hashlib.sha256(how.encode())
    for provenance in (run.provenance, *_unloaded(run)):
        digest.update(provenance.read_bytes())
        for file in sorted(provenance.parent.glob(f"{provenance.stem}.*")):
            about = file.stat()
            digest.update(f"{file.name} {about.st_size} {about.st_mtime_ns}\0".encode())
    return digest.hexdigest()


def _unloaded(run: RunFile) -> list[Path]:
    """The runs without load that the run's numbers are divided by, if any."""
    try:
        return [one.provenance for one in unloaded(run)]
    except DataError:  # which measuring the run will say, too
        return []


def kept(keys: Sequence[str]) -> dict[str, Values]:
    """The measurements that are kept, of those that `keys` are of."""
    try:
        with closing(_open()) as store:
            rows = store.execute("SELECT key, value FROM measured").fetchall()
    except (OSError, sqlite3.Error):  # whatever is wrong with it, runs can be measured again
        return {}
    wanted = set(keys)
    return {one: json.loads(value) for one, value in rows if one in wanted}


def keep(measured: Mapping[str, Values]) -> None:
    """Keep measurements by their keys."""
    if not measured:
        return
    rows = [(one, json.dumps(dict(values))) for one, values in measured.items()]
    try:
        with closing(_open()) as store, store:
            store.executemany("INSERT OR REPLACE INTO measured VALUES (?, ?)", rows)
    except (OSError, sqlite3.Error):  # a full disk, or no folder that can be written
        return


def _open() -> sqlite3.Connection:
    """The store of today's code; all but the latest others are removed as it is made."""
    folder = cache_dir(FOLDER)
    path = folder / f"{code()}.sqlite"
    if not path.exists():
        others = sorted(folder.glob("*.sqlite"), key=lambda other: other.stat().st_mtime)
        for other in others[:-STORES]:
            other.unlink(missing_ok=True)
    store = sqlite3.connect(path, timeout=WAIT_S)
    store.execute("CREATE TABLE IF NOT EXISTS measured (key TEXT PRIMARY KEY, value TEXT)")
    return store
