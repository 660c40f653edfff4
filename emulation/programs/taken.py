"""The files of the host that a command in a guest takes along.

Each file below the current folder that a word of the command names is taken, at the same relative
path, and so are files that are named in addition. All other words are left to the command: a path
that begins with `/` is a path in the guest.
"""

import os.path
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from qdisclab.emulation.errors import ConfigError


@dataclass(frozen=True)
class TakenFile:
    """A file: its path below the command's folder, where it is on the host, and its mode."""

    path: str
    source: Path
    mode: int


def taken(command: Sequence[str], named: Iterable[str], folder: Path) -> tuple[TakenFile, ...]:
    """Return the files that `command` takes along from the current `folder`, and those `named`.

    A folder is taken only if it is `named`, and then with all of its files. Raises `ConfigError` if
    one lies elsewhere, also at the end of a link, does not exist, or is a link to a folder.
    """
    files: dict[str, TakenFile] = {}
    for word in command:
        if not word.startswith("/") and _is_file(folder / word):
            _take(word, folder / word, folder, files)
    for name in named:
        path = folder / name
        if not (_is_file(path) or os.path.isdir(path)):  # noqa: PTH112 - a name may be too long
            raise ConfigError("there is no such file or folder", f"--file {name}")
        for part in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if part.is_symlink() and path.is_dir():
                _check_link(part, folder)
            if part.is_file():
                _take(name, part, folder, files)
    return tuple(files[path] for path in sorted(files))


def _check_link(link: Path, folder: Path) -> None:
    """Raise `ConfigError` unless it leads to a file in `folder`, of which the guest gets a copy."""
    target = Path(os.path.realpath(link))  # `resolve` fails where links go round
    if not target.is_file() or not target.is_relative_to(folder.resolve()):
        what = f"is a link to {os.readlink(link)}, which is not a file in the current folder"  # noqa: PTH115
        raise ConfigError(what, os.path.relpath(link, folder), "replace it by its target")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a word that is too long for a name
        return False


def _take(word: str, path: Path, folder: Path, files: dict[str, TakenFile]) -> None:
    if (relative := _relative(path, folder)) is None:
        what = "is outside the current folder, of which alone the guest gets a copy"
        raise ConfigError(what, word, f"change to a folder above it, or copy it to {folder}")
    files[relative] = TakenFile(relative, path, mode(path))


def mode(path: Path) -> int:
    """Return a file's mode in the guest: executable or not, whatever the user's umask."""
    return 0o755 if path.stat().st_mode & 0o100 else 0o644


def _relative(path: Path, folder: Path) -> str | None:
    """Return `path` relative to `folder`, without `.` and `..`, or None if it lies elsewhere.

    It lies where its name says, and where its links lead.
    """
    inside = Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))
    relative = os.path.relpath(path, folder)
    return None if relative == ".." or relative.startswith("../") or not inside else relative
