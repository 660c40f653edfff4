"""Seals on folders of the cache: a folder is used only if its content is what was made.

A sealed folder is read-only for its owner, and a list next to it, `FOLDER.seal`, has each file with
its mode and the digest of its content. To read all of a root file system takes a second, so a boot
compares one digest over sizes, modes and times instead: each change of a file sets its ctime, which
no program, not even root's, can set back. If that digest differs, as after the folder was copied,
the contents decide, and show what has changed.
"""

import hashlib
import logging
import operator
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from qdisclab.emulation.errors import DamagedCache
from qdisclab.emulation.host import storage
from qdisclab.emulation.host.digest import sha256

_log = logging.getLogger(__name__)

#: Digests of `_glance` of intact folders whose seal this process cannot write.
_accepted: dict[Path, str] = {}


def seal(folder: Path) -> None:
    """Make everything in `folder` readable for all and writable for nobody, and write its seal."""
    for path, about in _walk(folder):
        if not stat.S_ISLNK(about.st_mode):
            executable = stat.S_ISDIR(about.st_mode) or about.st_mode & 0o111
            Path(path).chmod(0o555 if executable else 0o444)
    _write(folder, _glance(folder), _contents(folder))


def note(folder: Path) -> Path:
    """Return the path of the seal, the file next to `folder` that lists its content."""
    return folder.with_name(f"{folder.name}.seal")


def check(folder: Path, contents: bool = False) -> None:
    """Raise `DamagedCache`, naming a file, if the content of `folder` is not what was sealed.

    With `contents` all of it is read, whatever sizes and times say. A folder without a seal is not
    a folder of the cache and passes.
    """
    try:
        sealed_glance, *lines = note(folder).read_text().removesuffix("\n").split("\n")
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        raise _damaged(note(folder), "cannot be read") from error
    glance = _glance(folder)
    if not contents and glance in (sealed_glance, _accepted.get(folder)):
        return
    if (current := _contents(folder)) != lines:
        names = {line.split(" ", 3)[-1] for line in set(current) ^ set(lines)}
        raise _damaged(folder / min(names, default=""), "is not as it was made")
    if glance != sealed_glance:
        _accepted[folder] = glance
        with suppress(OSError):  # the cache belongs to an image or to another user
            _write(folder, glance, lines)


def is_intact(folder: Path) -> bool:
    """Return whether `folder` exists and is as it was sealed; log a warning if it has changed."""
    if not folder.is_dir() or not note(folder).exists():
        return False
    try:
        check(folder)
    except DamagedCache as error:
        _log.warning("%s: %s; it is made again", error.where, error.what)
        return False
    return True


def install(made: Path, place: Path) -> None:
    """Seal the folder `made` and move it to `place`, replacing what is there."""
    remove(place)
    seal(made)
    made.chmod(0o755)  # renaming a folder takes the right to write into it
    made.rename(place)
    note(made).rename(note(place))
    place.chmod(0o555)


def remove(folder: Path) -> None:
    """Remove `folder` and its seal."""
    note(folder).unlink(missing_ok=True)
    storage.remove(folder)


def _write(folder: Path, glance: str, lines: list[str]) -> None:
    storage.write(note(folder), "\n".join([glance, *lines]) + "\n")
    note(folder).chmod(0o444)


def _damaged(path: Path, what: str) -> DamagedCache:
    return DamagedCache(what, str(path), "run it again: what has changed is then made again")


def _walk(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield all that is below `folder`, in no order."""
    folders = [str(folder)]
    while folders:
        place = folders.pop()
        for name in os.listdir(place):  # noqa: PTH208  # a Path for each takes as long as all this
            path = f"{place}/{name}"
            about = os.lstat(path)
            if stat.S_ISDIR(about.st_mode):
                folders.append(path)
            yield path, about


def _glance(folder: Path) -> str:
    """Return a digest over mode, size and ctime of everything in `folder`."""
    start = len(str(folder))
    lines = [
        f"{path[start:]}\0{about.st_mode} {about.st_size} {about.st_ctime_ns}\n"
        for path, about in _walk(folder)
    ]
    return hashlib.sha256(os.fsencode("".join(sorted(lines)))).hexdigest()


def _contents(folder: Path) -> list[str]:
    """Return one line per path in `folder`, sorted: mode, size, digest of the content, name."""
    lines = []
    for path, about in sorted(_walk(folder), key=operator.itemgetter(0)):
        digest, size = "-", about.st_size
        if stat.S_ISREG(about.st_mode):
            digest = sha256(Path(path))
        elif stat.S_ISLNK(about.st_mode):
            digest = hashlib.sha256(os.fsencode(Path(path).readlink())).hexdigest()
        else:
            size = 0  # a folder's size depends on its file system
        name = ascii(os.path.relpath(path, folder))[1:-1]
        lines.append(f"{about.st_mode:o} {size} {digest} {name}")
    return lines
