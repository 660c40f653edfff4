"""The files of the host that a command in a guest takes along.

Each word of the command that names a file below the current folder is taken, at the same relative
path, and so is what is named besides. All other words are the command's own business: a path that
begins with `/` is one of the guest's.
"""

from __future__ import annotations

import os.path
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from emulation.errors import ConfigError


@dataclass(frozen=True)
class TakenFile:
    """A file: where it will be below the command's folder, where it is, and its mode."""

    path: str
    source: Path
    mode: int


def taken(command: Sequence[str], named: Iterable[str], folder: Path) -> tuple[TakenFile, ...]:
    """The files that `command` takes along from the current `folder`, and those `named` besides.

    A folder is taken only where it is named, then as a whole. Raises `ConfigError` where a file
    lies elsewhere or is not there.
    """
    found: dict[str, TakenFile] = {}
    for word in command:
        if not word.startswith("/") and _is_file(folder / word):
            _take(word, folder / word, folder, found)
    for name in named:
        path = folder / name
        if not os.path.exists(path):  # noqa: PTH110 - a name may be too long for `Path.exists`
            raise ConfigError("there is no such file or folder", f"--file {name}")
        for part in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if part.is_file():
                _take(name, part, folder, found)
    return tuple(found[path] for path in sorted(found))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a word that is too long for a name
        return False


def _take(word: str, path: Path, folder: Path, found: dict[str, TakenFile]) -> None:
    relative = _relative(path, folder)
    if relative is None:
        raise ConfigError(
            "lies outside of the current folder, which is what the guest has a copy of",
            word,
            f"go to a folder above it, or copy it to {folder}",
        )
    found[relative] = TakenFile(relative, path, mode(path))


def mode(path: Path) -> int:
    """That of a file in the guest: whether it is a program, and nothing of anybody's umask."""
    return 0o755 if path.stat().st_mode & 0o100 else 0o644


def _relative(path: Path, folder: Path) -> str | None:
    """`path` relative to `folder`, without `.` and `..`; None where it lies elsewhere."""
    relative = os.path.relpath(path, folder)  # a link stays what it is called
    return None if relative == ".." or relative.startswith("../") else relative
