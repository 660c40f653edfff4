"""The scratch folder of a guest: whose it is, how much may be in it, and what is kept of it.

The guest's root may write into it whatever it likes. So nothing follows a link of it, waits for a
pipe of it, goes as deep as it goes or reads as much as there is.
"""

from __future__ import annotations

import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from emulation.errors import GuestFailure, StorageError
from emulation.host import storage

#: Bytes that a guest may have in it: far more than any run leaves (20 s of RRUL at 100/100 have
#: 34 MiB of captures). A trace of simulated time is more (533 MiB there).
MOST_BYTES, MOST_TRACED = 4 << 30, 32 << 30

#: Files and folders that may be in it. A rig of the shipped studies leaves less than 100.
MOST_FILES = 20_000

#: Folders, one in the other.
DEEPEST = 32

#: Bytes of texts that the host reads whole: a guest that is well has some kB of each.
MOST_TEXT = 16 << 20
TEXTS = ("console", "job/out/kernel.log")

#: Bytes of a file that is kept of a guest that failed; of a larger one the beginning is.
MOST_KEPT = 64 << 20

#: Seconds after which a folder that another machine has left may be removed: a network's file
#: system need not tell whether its lock is held there.
OLD_S = 86400.0


@contextmanager
def folder(parent: Path | None = None) -> Iterator[Path]:
    """A folder for one job, removed at the end; the next job removes it after a kill -9.

    It is somebody's as long as they hold the lock on the file beside it, wherever they are: process
    ids mean nothing to other containers and other nodes, which may share `parent`.
    """
    place = parent or Path(tempfile.gettempdir())
    prefix = f"guest-{_machine()}-"
    while True:
        handle, name = tempfile.mkstemp(prefix=prefix, suffix=".lock", dir=place)
        with suppress(OSError):  # a file system without locks: then nobody will take it for left
            fcntl.flock(handle, fcntl.LOCK_EX)
        if _is(handle, Path(name)):  # nobody has taken it for left meanwhile
            break
        os.close(handle)
    for lock in place.glob("guest-*.lock"):
        with suppress(OSError):
            _remove_left(lock, os.fstat(handle).st_mtime)
    made = Path(name).with_suffix("")
    made.mkdir(mode=0o700)
    try:
        yield made
    finally:
        storage.remove(made)
        Path(name).unlink(missing_ok=True)
        os.close(handle)


def _remove_left(lock: Path, now_s: float) -> None:
    """Remove the folder of `lock`, and it, if it is ours and nobody holds it; `OSError` if not.

    `now_s`: by the clock of its file system.
    """
    handle = os.open(lock, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        about = os.fstat(handle)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        here = lock.name.startswith(f"guest-{_machine()}-")
        if about.st_uid != os.getuid() or not _is(handle, lock):
            return
        if here or now_s - about.st_mtime > OLD_S:
            storage.remove(lock.with_suffix(""))
            lock.unlink()
    finally:
        os.close(handle)


def _is(handle: int, path: Path) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(handle), path.lstat())
    return False


def _machine() -> str:
    """This boot of this machine: its containers have the same, other nodes another."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text()[:8]
    except OSError:
        return "unknown"


def check(folder: Path, traced: bool = False) -> None:
    """Raise `GuestFailure` for more in `folder` than a guest may leave there, `traced` or not, and
    `StorageError` where the disk is full."""
    most = MOST_TRACED if traced else MOST_BYTES
    for text in TEXTS:
        with suppress(OSError):
            size = (folder / text).lstat().st_size
            if size > MOST_TEXT:
                raise _too_much(f"more than {MOST_TEXT >> 20} MiB", Path(text))
    total = 0
    for number, (path, about) in enumerate(_walk(folder)):
        total += max(about.st_size, about.st_blocks * 512)
        name = path.relative_to(folder)
        if number >= MOST_FILES:
            raise _too_much(f"more than {MOST_FILES} files", name)
        if total > most:
            raise _too_much(f"more than {most >> 20} MiB", name)
        if len(name.parts) > DEEPEST:
            raise _too_much(f"more than {DEEPEST} folders in each other", Path(*name.parts[:4]))
    free = os.statvfs(folder)
    if free.f_bavail * free.f_frsize < storage.ROOM_MIB << 20:
        raise StorageError("the disk is full", str(folder), "free some space, then run it again")


def _too_much(what: str, name: Path) -> GuestFailure:
    return GuestFailure(f"the guest left {what}", str(name), "look at what its programs write")


def tame(folder: Path) -> None:
    """Let the owner read and write all in `folder`, which the guest has left, and remove what is
    neither file nor folder: a link leads out of it, a pipe nowhere."""
    for place in (folder / "job", folder / "job" / "out"):
        if place.is_symlink():
            place.unlink()
        elif place.is_dir():
            place.chmod(0o700)
    links = []
    for number, (path, about) in enumerate(_walk(folder / "job", own=True)):
        if not (stat.S_ISDIR(about.st_mode) or stat.S_ISREG(about.st_mode)):
            links.append(path)
        elif about.st_mode & (stat.S_ISUID | stat.S_ISGID):
            path.chmod(stat.S_IMODE(about.st_mode) & 0o777)  # else a program of the host's user
        if number > MOST_FILES:
            break
    for path in links:
        path.unlink()


def read_text(path: Path) -> str:
    """What is in the file at `path`, `MOST_TEXT` bytes of it at most; nothing if it is none."""
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as file:
            if stat.S_ISREG(os.fstat(handle).st_mode):
                return file.read(MOST_TEXT).decode(errors="replace")
    return ""


#: What comes of data that have another form.
_UNLIKE = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)


@contextmanager
def reading() -> Iterator[None]:
    """What the guest left is read: raises `GuestFailure` where its code would not have left it."""
    try:
        yield
    except (*_UNLIKE, FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
        what = f"what the guest left cannot be read: {error or type(error).__name__}"
        todo = "a program in it wrote there, removed it, or switched the guest off"
        raise GuestFailure(what, todo=todo) from error


def keep(folder: Path, target: Path) -> None:
    """Copy what a guest that failed has left in `folder` to `target`, in place of what is there."""
    storage.remove(target)
    target.mkdir(parents=True)
    for number, (path, about) in enumerate(_walk(folder)):
        place = target / path.relative_to(folder)
        if number >= MOST_FILES or len(place.relative_to(target).parts) > DEEPEST:
            break
        with suppress(OSError):  # what can be copied is
            if stat.S_ISDIR(about.st_mode):
                place.mkdir()
            elif stat.S_ISREG(about.st_mode):
                with path.open("rb") as source, place.open("wb") as copy:
                    copy.write(source.read(MOST_KEPT))
            elif path.parent == folder:  # the links of ours
                place.symlink_to(path.readlink())


def _walk(folder: Path, own: bool = False) -> Iterator[tuple[Path, os.stat_result]]:
    """All that is below `folder`, a folder before what is in it, however it changes meanwhile.

    `own`: its owner may do anything with it then. One level below `DEEPEST` is the last one.
    """
    places = [str(folder)]
    while places:
        with suppress(OSError), os.scandir(places.pop()) as entries:  # gone, or closed
            for entry in entries:
                path, about = Path(entry.path), entry.stat(follow_symlinks=False)
                if own and not stat.S_ISLNK(about.st_mode):
                    rights = 0o700 if stat.S_ISDIR(about.st_mode) else 0o600
                    if about.st_mode & rights != rights:
                        path.chmod(stat.S_IMODE(about.st_mode) | rights)
                if stat.S_ISDIR(about.st_mode) and len(path.relative_to(folder).parts) <= DEEPEST:
                    places.append(entry.path)
                yield path, about
