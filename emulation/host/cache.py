"""The user's cache folder: kernels, root file systems, and whatever takes long to compute."""

import errno
import fcntl
import hashlib
import json
import logging
import os
import re
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from qdisclab.emulation.host import storage

Value = TypeVar("Value")

_log = logging.getLogger(__name__)

#: What is never changed after it was made.
_SEALED = re.compile(r"[0-9a-f]{16}(\.seal|\.json)?")


def cache_dir(kind: str) -> Path:
    """Return the folder `kind` below `$XDG_CACHE_HOME/qdisc-lab`, made if it does not exist.

    If that cannot be written, it is a folder of the user below the temporary folder, with links to
    the kernels, root file systems, layers and modules that lie in the other: they are only read.
    """
    other = Path(tempfile.gettempdir()).absolute() / f"cache-{os.getuid()}"
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute()
    except RuntimeError:  # neither $HOME nor /etc/passwd names the user's home
        base = other
    for root in (base, other):
        path = root / "qdisc-lab" / kind
        try:
            path.mkdir(parents=True, exist_ok=True)
            if root == other and root.lstat().st_uid != os.getuid():
                continue  # in a folder that all may write, somebody else was there before
        except OSError:
            continue
        if os.access(path, os.W_OK):
            if root != base:
                _warn(base / "qdisc-lab", other / "qdisc-lab")
                _link(base / "qdisc-lab" / kind, path)
            return path
    what = "no cache folder can be written: set XDG_CACHE_HOME"
    raise PermissionError(errno.EACCES, what, str(base))


@lru_cache
def _warn(base: Path, other: Path) -> None:
    text = "%s cannot be written: what can be read of it is used, and new files go to %s"
    _log.warning(text, base, other)


def _link(base: Path, place: Path) -> None:
    """Link what `base` has, with its seals and records, into `place`, unless that has its own."""
    with suppress(OSError):  # no such folder, or it cannot be read either
        for path in base.iterdir():
            if _SEALED.fullmatch(path.name):
                with suppress(FileExistsError):
                    (place / path.name).symlink_to(path)


def remembered(kind: str, subject: str, state: str, make: Callable[[], Any]) -> Any:
    """Return what `make` returns for `subject`, remembered until its state changes."""
    return remembered_parts(kind, subject, {"": state}, lambda _: [make()])[""]


def remembered_parts(
    kind: str, subject: str, states: Mapping[str, str], make: Callable[[list[str]], Iterable[Any]]
) -> dict[str, Any]:
    """Return a value of each part of `subject` that `states` names, in their order.

    The folder `kind` keeps each as JSON until its state changes; `make` gets the names of the parts
    that are not there and returns their values. Of several processes that ask at once for the same
    subject one makes them, and the others wait for it. Where no folder can be written, all are made
    each time.
    """
    values = recalled(kind, subject, states)
    if len(values) < len(states):
        with ExitStack() as stack:
            with suppress(OSError):  # no folder that can be written
                stack.enter_context(lock(cache_dir(kind), name=f".{_name(subject)}.lock"))
            values = recalled(kind, subject, states)
            names = [name for name in states if name not in values]
            made = dict(zip(names, make(names) if names else (), strict=True))
            _write(kind, subject, {name: [states[name], value] for name, value in made.items()})
            values |= made
    return {name: values[name] for name in states}


def recalled(kind: str, subject: str, states: Mapping[str, str]) -> dict[str, Any]:
    """Return the values that are remembered of the parts of `subject` with these states."""
    entries = _read(kind, subject)
    stored = {name: entries.get(name) for name in states}
    return {
        name: entry[1]
        for name, entry in stored.items()
        if isinstance(entry, list) and len(entry) == 2 and entry[0] == states[name]
    }


def _name(subject: str) -> str:
    return digest([subject])[:16]


def _read(kind: str, subject: str) -> dict[str, Any]:
    with suppress(OSError, ValueError):  # none yet, or damaged
        entries = json.loads((cache_dir(kind) / f"{_name(subject)}.json").read_bytes())
        return entries if isinstance(entries, dict) else {}
    return {}


def _write(kind: str, subject: str, entries: Mapping[str, Any]) -> None:
    """Add `entries` to those of `subject`."""
    with suppress(OSError):  # a full disk, or no folder that can be written
        target = cache_dir(kind) / f"{_name(subject)}.json"
        storage.write(target, json.dumps({**_read(kind, subject), **entries}))


def digest(texts: Iterable[str]) -> str:
    """Return a digest of `texts`, which changes with their order too."""
    return hashlib.sha256("\0".join(texts).encode(errors="surrogateescape")).hexdigest()


def states(folder: Path, without: Collection[str] = ()) -> list[str]:
    """Return the files below `folder` with size and time, sorted; none below a name of `without`.

    Their paths begin in the folder, so that it has the same states wherever it is looked at from.
    """
    lines = []
    for inside, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in without]
        place = os.path.relpath(inside, folder)
        lines += [f"{place}/{state(Path(inside, name))}" for name in names if name not in without]
    return sorted(lines)


def state(path: Path) -> str:
    """Return a file's name, size and time; of a link that leads nowhere its own."""
    about = path.stat() if path.exists() else path.lstat()
    return f"{path.name} {about.st_size} {about.st_mtime_ns}"


def until_changed(read: Callable[[Path], Value]) -> Callable[[Path], Value]:
    """Have this process remember what `read` returns of a file until its size or time changes."""
    remembered = lru_cache(maxsize=256)(lambda path, state: read(path))
    return lambda path: remembered(path, state(path))


@contextmanager
def lock(
    folder: Path, waiting: Callable[[], None] = lambda: None, *, name: str = "lock"
) -> Iterator[None]:
    """Hold the lock of `folder`; if another process has it, call `waiting`, then wait for it."""
    with (folder / name).open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
