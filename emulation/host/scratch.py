"""The scratch folder of a guest: who owns it, how much it may hold, and what is copied from it.

The guest's root may write anything into it. So nothing here follows its links, waits for its pipes,
or descends and reads without a bound.
"""

import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from qdisclab.emulation.errors import GuestFailure, StorageError
from qdisclab.emulation.host import storage

#: Most bytes in it: far more than any run leaves (20 s of RRUL at 100/100 give 34 MiB of captures).
MOST_BYTES = 4 << 30

#: Most files and folders in it. A rig of the shipped studies leaves fewer than 100.
MOST_FILES = 20_000

#: Most folders inside one another.
DEEPEST = 32

#: Most bytes of a text that the host reads whole: a healthy guest has some kB of each.
MOST_TEXT = 16 << 20
TEXTS = ("console", "job/out/kernel.log")

#: Most bytes that are copied of a file of a guest that failed; they are its beginning.
MOST_COPIED = 64 << 20

#: Seconds after which a folder that another machine has left may be removed: a network file system
#: need not know whether its lock is held there.
OLD_S = 86400.0


@contextmanager
def folder(parent: Path | None = None) -> Iterator[Path]:
    """Make a folder for one job, and remove it at the end; after a kill -9, the next job does so.

    A folder is in use as long as somebody holds the lock on the file next to it. Process ids would
    mean nothing to other containers and other nodes, which may share `parent`.
    """
    place = parent or Path(tempfile.gettempdir())
    prefix = f"guest-{_machine()}-"
    while True:
        handle, name = tempfile.mkstemp(prefix=prefix, suffix=".lock", dir=place)
        with suppress(OSError):  # on a file system without locks nobody removes what is left
            fcntl.flock(handle, fcntl.LOCK_EX)
        if _is_file_at(handle, Path(name)):  # nobody has removed it in the meantime
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
    """Remove `lock` and its folder if they are ours and nobody holds the lock.

    `now_s` is the time by the clock of their file system. Raises `OSError` if the lock is held.
    """
    handle = os.open(lock, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        about = os.fstat(handle)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        here = lock.name.startswith(f"guest-{_machine()}-")
        if about.st_uid != os.getuid() or not _is_file_at(handle, lock):
            return
        if here or now_s - about.st_mtime > OLD_S:
            storage.remove(lock.with_suffix(""))
            lock.unlink()
    finally:
        os.close(handle)


def _is_file_at(handle: int, path: Path) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(handle), path.lstat())
    return False


def _machine() -> str:
    """Return an id of this boot of this machine, which its containers share."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text()[:8]
    except OSError:
        return "unknown"


def check(folder: Path) -> None:
    """Raise `GuestFailure` if `folder` has more than a guest may leave there.

    Raises `StorageError` if the disk is full.
    """
    for text in TEXTS:
        with suppress(OSError):
            if (folder / text).lstat().st_size > MOST_TEXT:
                raise _too_much(f"more than {MOST_TEXT >> 20} MiB", Path(text))
    total = 0
    for number, (path, about) in enumerate(_walk(folder)):
        total += max(about.st_size, about.st_blocks * 512)
        name = path.relative_to(folder)
        if number >= MOST_FILES:
            raise _too_much(f"more than {MOST_FILES} files", name)
        if total > MOST_BYTES:
            raise _too_much(f"more than {MOST_BYTES >> 20} MiB", name)
        if len(name.parts) > DEEPEST:
            raise _too_much(f"more than {DEEPEST} folders in each other", Path(*name.parts[:4]))
    free = os.statvfs(folder)
    if free.f_bavail * free.f_frsize < storage.ROOM_MIB << 20:
        raise StorageError("the disk is full", str(folder), "free some space, then run it again")


def _too_much(what: str, name: Path) -> GuestFailure:
    return GuestFailure(f"the guest left {what}", str(name), "look at what its programs write")


def tame(folder: Path) -> None:
    """Let the owner read and write everything that a guest has left in `folder`.

    Whatever is neither file nor folder is removed: a link may lead out of it, a pipe would block.
    """
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
            path.chmod(stat.S_IMODE(about.st_mode) & 0o777)  # or it would run as the host's user
        if number > MOST_FILES:
            break
    for path in links:
        path.unlink()


def read_text(path: Path) -> str:
    """Return at most `MOST_TEXT` bytes of the file at `path`, as text; "" if it is not a file."""
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as file:
            if stat.S_ISREG(os.fstat(handle).st_mode):
                return file.read(MOST_TEXT).decode(errors="replace")
    return ""


#: What code raises when data have an unexpected form.
_FORM_ERRORS = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
    FileNotFoundError,
    IsADirectoryError,
    NotADirectoryError,
)


@contextmanager
def reading() -> Iterator[None]:
    """Turn errors in reading what a guest left into a `GuestFailure`: our code left it whole."""
    try:
        yield
    except _FORM_ERRORS as error:
        what = f"what the guest left cannot be read: {error or type(error).__name__}"
        todo = "a program in it wrote there, removed it, or switched the guest off"
        raise GuestFailure(what, todo=todo) from error


def keep(folder: Path, target: Path) -> None:
    """Copy what a failed guest has left in `folder` to `target`, replacing what is there."""
    storage.remove(target)
    target.mkdir(parents=True)
    for number, (path, about) in enumerate(_walk(folder)):
        place = target / path.relative_to(folder)
        if number >= MOST_FILES or len(place.relative_to(target).parts) > DEEPEST:
            break
        with suppress(OSError):  # copy whatever can be copied
            if stat.S_ISDIR(about.st_mode):
                place.mkdir()
            elif stat.S_ISREG(about.st_mode):
                with path.open("rb") as source, place.open("wb") as copy:
                    copy.write(source.read(MOST_COPIED))
            elif path.parent == folder:  # links that we made
                place.symlink_to(path.readlink())


def _walk(folder: Path, own: bool = False) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield all that is below `folder`, a folder before its content, even while it changes.

    With `own`, its owner is given all rights. The last level is the one below `DEEPEST`.
    """
    places = [str(folder)]
    while places:
        with suppress(OSError), os.scandir(places.pop()) as entries:  # removed, or not readable
            for entry in entries:
                path, about = Path(entry.path), entry.stat(follow_symlinks=False)
                if own and not stat.S_ISLNK(about.st_mode):
                    rights = 0o700 if stat.S_ISDIR(about.st_mode) else 0o600
                    if about.st_mode & rights != rights:
                        path.chmod(stat.S_IMODE(about.st_mode) | rights)
                if stat.S_ISDIR(about.st_mode) and len(path.relative_to(folder).parts) <= DEEPEST:
                    places.append(entry.path)
                yield path, about
