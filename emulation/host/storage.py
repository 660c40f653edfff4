"""Whether a folder has room and may be written, what to do if not, and how to remove it."""

import errno
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import Any

from qdisclab.emulation.errors import EmulationError, StorageError, printable

#: Room that a run's files may need, in MiB: most need 0.3.
ROOM_MIB = 16

#: Errors of a disk that has no more room, for all or for this user.
FULL = (errno.ENOSPC, errno.EDQUOT)

#: Error of a disk or folder -> what to do about it.
TODO = {
    errno.ENOSPC: "free some space, then run it again: what is done stays",
    errno.EDQUOT: "free some of your quota, then run it again: what is done stays",
    errno.EROFS: "name a folder on a file system that is not read-only",
    errno.EACCES: "make it writable for this user, or name another folder",
    errno.EPERM: "make it writable for this user, or name another folder",
    errno.EIO: "look at the host's kernel log: the disk is failing",
    **dict.fromkeys(
        (errno.EEXIST, errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP),
        "name another path",
    ),
}


def require_room(folder: Path) -> None:
    """Raise `StorageError` if `folder`, which need not exist, cannot take the files of a run."""
    existing = folder.absolute()
    while not existing.exists():
        existing = existing.parent
    about = os.statvfs(existing)
    if about.f_flag & os.ST_RDONLY:
        raise of(OSError(errno.EROFS, os.strerror(errno.EROFS), str(folder)))
    if not existing.is_dir():
        raise of(OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(existing)))
    if not os.access(existing, os.W_OK | os.X_OK):
        raise of(OSError(errno.EACCES, os.strerror(errno.EACCES), str(folder)))
    if (room_mib := about.f_bavail * about.f_frsize >> 20) < ROOM_MIB:
        what = f"{room_mib} MiB are free, and a run may need {ROOM_MIB}"
        raise StorageError(what, str(folder), TODO[errno.ENOSPC])


@contextmanager
def filling(folder: Path) -> Iterator[None]:
    """Name `folder` in the error of a full disk, as that of a write names nothing."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL and error.filename is None:
            error.filename = str(folder)
        raise


def of(error: OSError) -> EmulationError:
    """Return an error that the user can act on; raise any other error of the host again."""
    if isinstance(error, shutil.Error):  # of several files, their numbers in texts
        _, target, what = error.args[0][0]
        if (number := re.match(r"\[Errno (\d+)\]", str(what))) is None:
            return StorageError(str(what), str(target), "look at its disk and folder")
        error = OSError(int(number[1]), os.strerror(int(number[1])), str(target))
    if error.errno not in TODO:
        raise error
    what, where = error.strerror or str(error), str(error.filename or "a file")
    return StorageError(what[:1].lower() + what[1:], where, TODO[error.errno])


def command(main: Callable[..., int]) -> Callable[..., int]:
    """Make `main` print an error that it raises, in a line, and return the status of its cause."""

    @wraps(main)
    def run(*arguments: Any) -> int:
        try:
            return main(*arguments)
        except (EmulationError, OSError) as error:
            known = of(error) if isinstance(error, OSError) else error
            print(f"error: {printable(str(known))}", file=sys.stderr)
            return known.exit_status

    return run


def write(path: Path, text: str) -> None:
    """Write a file in one step: who reads it has the former content or all of `text`."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


@contextmanager
def building(place: Path) -> Iterator[Path]:
    """Make a folder in `place`, whose lock is held, and remove it at the end.

    Those that builds which were killed have left are removed before.
    """
    for stale in place.glob(".build-*"):
        remove(stale)
    with tempfile.TemporaryDirectory(prefix=".build-", dir=place) as folder:
        yield Path(folder)


def remove(folder: Path) -> None:
    """Remove `folder` with its content, if it exists, however deep and whatever its modes.

    shutil.rmtree fails a thousand folders deep, and at a folder that its owner may not read.
    """
    if not folder.is_dir() or folder.is_symlink():
        folder.unlink(missing_ok=True)
        return
    with suppress(OSError, RecursionError):
        shutil.rmtree(folder)
        return
    for command in (["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
        subprocess.run([*command, "--", folder], check=False, stderr=subprocess.DEVNULL)
