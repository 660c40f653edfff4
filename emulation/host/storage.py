"""Whether a folder takes what is to be written, what to do where it does not, and its removal."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

from emulation.errors import EmulationError, StorageError

#: Room that the files of a run may take, in MiB: most take 0.3.
ROOM_MIB = 16

#: What the host says about a disk or folder -> what to do about it.
TODO = {
    errno.ENOSPC: "free some space, then run it again: what is done stays",
    errno.EDQUOT: "free some of your quota, then run it again: what is done stays",
    errno.EROFS: "name a folder on a file system that is not read-only",
    errno.EACCES: "make it writable for this user, or name another folder",
    errno.EPERM: "make it writable for this user, or name another folder",
    errno.EIO: "look at the host's kernel log: the disk fails",
}


def require_room(folder: Path) -> None:
    """Raise `StorageError` where `folder`, which need not exist, cannot take the files of a run."""
    there = folder.absolute()
    while not there.exists():
        there = there.parent
    about = os.statvfs(there)
    if about.f_flag & os.ST_RDONLY:
        raise of(OSError(errno.EROFS, os.strerror(errno.EROFS), str(folder)))
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        raise of(OSError(errno.EACCES, os.strerror(errno.EACCES), str(folder)))
    room_mib = about.f_bavail * about.f_frsize >> 20
    if room_mib < ROOM_MIB:
        what = f"{room_mib} MiB of room are left, and a run may need {ROOM_MIB}"
        raise StorageError(what, str(folder), TODO[errno.ENOSPC])


def of(error: OSError) -> EmulationError:
    """The error that a user can act on; any other error of the host is raised again."""
    if error.errno not in TODO:
        raise error
    what = (error.strerror or str(error)).lower()
    return StorageError(what, str(error.filename or "a file"), TODO[error.errno])


def remove(folder: Path) -> None:
    """Remove `folder`, with all that is in it, if it is there, however deep and whatever its modes.

    shutil.rmtree is at its end a thousand folders deep, and where a folder is closed.
    """
    if not folder.is_dir() or folder.is_symlink():
        folder.unlink(missing_ok=True)
        return
    with suppress(OSError, RecursionError):
        shutil.rmtree(folder)
        return
    for command in (["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
        subprocess.run([*command, "--", folder], check=False, stderr=subprocess.DEVNULL)
