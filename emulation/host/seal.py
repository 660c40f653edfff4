"""Seals on folders of the cache: what is in one is what was made, or nobody uses it.

A sealed folder is read-only for its owner, and a list beside it, `FOLDER.seal`, has each file with
its mode and the digest of its content. To read all of a root file system takes a second, so a boot
compares one digest over sizes, modes and times instead: each change of a file sets its ctime, which
no program can set back, root's neither. Where that digest differs, as after the folder was copied,
the contents decide, and name what has changed.
"""

from __future__ import annotations

import hashlib
import logging
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from emulation.errors import DamagedCache
from emulation.host import storage

_log = logging.getLogger(__name__)

#: Digests of `_glance` that this process has found right, of folders whose seal it cannot write.
_seen: dict[Path, str] = {}


def seal(folder: Path) -> None:
    """Make everything in `folder` readable for all and writable for nobody, and note what it is."""
    for path, about in _walk(folder):
        if not stat.S_ISLNK(about.st_mode):
            runs = stat.S_ISDIR(about.st_mode) or about.st_mode & 0o111
            Path(path).chmod(0o555 if runs else 0o444)
    _write(folder, _glance(folder), _contents(folder))


def note(folder: Path) -> Path:
    """The file beside `folder` that says what is in it."""
    return folder.with_name(f"{folder.name}.seal")


def check(folder: Path, contents: bool = False) -> None:
    """Raise `DamagedCache`, naming a file, if what is in `folder` is not what was sealed.

    `contents`: read all of it, whatever sizes and times say. A folder without a seal is no folder
    of the cache.
    """
    try:
        glanced, *lines = note(folder).read_text().splitlines()
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        raise _damaged(note(folder), "cannot be read") from error
    glance = _glance(folder)
    if not contents and glance in (glanced, _seen.get(folder)):
        return
    found = _contents(folder)
    if found != lines:
        names = {line.split(" ", 3)[-1] for line in set(found) ^ set(lines)}
        raise _damaged(folder / min(names), "is not as it was made")
    if glance != glanced:
        _seen[folder] = glance
        with suppress(OSError):  # the cache of an image, or of somebody else
            _write(folder, glance, lines)


def is_intact(folder: Path) -> bool:
    """Whether `folder` is there and what was sealed; a change is told as a warning."""
    if not folder.is_dir() or not note(folder).exists():
        return False
    try:
        check(folder)
    except DamagedCache as error:
        _log.warning("%s: %s; it is made anew", error.where, error.what)
        return False
    return True


def install(made: Path, place: Path) -> None:
    """Seal the folder `made` and put it at `place`, in the place of what is there."""
    remove(place)
    seal(made)
    made.chmod(0o755)  # to rename a folder takes the right to write into it
    made.rename(place)
    note(made).rename(note(place))
    place.chmod(0o555)


def remove(folder: Path) -> None:
    """Remove `folder` and its seal."""
    note(folder).unlink(missing_ok=True)
    storage.remove(folder)


def _write(folder: Path, glance: str, lines: list[str]) -> None:
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="building-") as scratch:
        written = Path(scratch) / "seal"
        written.write_text("\n".join([glance, *lines]) + "\n")
        written.chmod(0o444)
        written.replace(note(folder))


def _damaged(path: Path, what: str) -> DamagedCache:
    return DamagedCache(what, str(path), "run it again: what was changed is made anew")


def _walk(folder: Path) -> list[tuple[str, os.stat_result]]:
    """All that is below `folder`, by path."""
    found, places = [], [str(folder)]
    while places:
        with os.scandir(places.pop()) as entries:
            for entry in entries:
                about = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(about.st_mode):
                    places.append(entry.path)
                found.append((entry.path, about))
    return sorted(found)


def _glance(folder: Path) -> str:
    """A digest over what `stat` says of everything in `folder`."""
    start = len(str(folder))
    text = "".join(
        f"{path[start:]}\0{about.st_mode} {about.st_size} {about.st_ctime_ns}\n"
        for path, about in _walk(folder)
    )
    return hashlib.sha256(os.fsencode(text)).hexdigest()


def _contents(folder: Path) -> list[str]:
    """A line of each thing in `folder`, by path: mode, size, digest of its content, name."""
    lines = []
    for path, about in _walk(folder):
        digest, size = "-", about.st_size
        if stat.S_ISREG(about.st_mode):
            with Path(path).open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        elif stat.S_ISLNK(about.st_mode):
            digest = hashlib.sha256(os.fsencode(Path(path).readlink())).hexdigest()
        else:
            size = 0  # of a folder: its file system's affair
        name = ascii(os.path.relpath(path, folder))[1:-1]
        lines.append(f"{about.st_mode:o} {size} {digest} {name}")
    return lines
