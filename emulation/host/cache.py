"""The user's cache folder: kernels, root file systems, measured speeds."""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any


def cache_dir(kind: str) -> Path:
    """Return the folder `kind` below `$XDG_CACHE_HOME/qdisc-lab`, made if it does not exist.

    If the home folder cannot be written, it is a folder of the user below the temporary folder.
    """
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    for root in (Path(base), Path(tempfile.gettempdir()) / f"cache-{os.getuid()}"):
        path = root / "qdisc-lab" / kind
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(path, os.W_OK):
            return path
    raise PermissionError(f"no cache folder can be written: set XDG_CACHE_HOME (tried {base})")


def kept(kind: str, name: str, of: str, make: Callable[[], Any]) -> Any:
    """Return what `make` returns, kept as JSON in the folder `kind` until `of` is another.

    Where no folder can be written it is made each time.
    """
    with suppress(OSError, ValueError, LookupError, TypeError):  # none yet, or damaged
        told = json.loads((cache_dir(kind) / f"{name}.json").read_text(encoding="utf-8"))
        if told["of"] == of:
            return told["value"]
    value = make()
    keep(kind, name, of, value)
    return value


def keep(kind: str, name: str, of: str, value: Any) -> None:
    """Keep `value` for `kept`."""
    with suppress(OSError):  # a full disk, or no folder that can be written
        target = cache_dir(kind) / f"{name}.json"
        partial = target.with_name(f".{target.name}.{os.getpid()}")
        partial.write_text(json.dumps({"of": of, "value": value}), encoding="utf-8")
        partial.replace(target)


def states(folder: Path, without: Collection[str] = ()) -> Iterator[str]:
    """Yield the files below a folder with size and time, for `kept`; none in folders `without`."""
    for inside, folders, names in os.walk(folder):
        folders[:] = [one for one in folders if one not in without]
        yield from (state(Path(inside, name)) for name in names)


def state(path: Path) -> str:
    """Return a file's path, size and time; of a link that leads nowhere its own."""
    about = path.stat() if path.exists() else path.lstat()
    return f"{path} {about.st_size} {about.st_mtime_ns}"


@contextmanager
def lock(folder: Path, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold the lock of `folder`; if another process has it, call `waiting`, then wait for it."""
    with (folder / "lock").open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
