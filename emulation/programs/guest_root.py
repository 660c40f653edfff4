"""What a guest will find at a path: its layers over its root file system, seen from the host."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from emulation.programs.taken import TakenFile

#: Where the guest looks for programs.
PATH = ("/usr/sbin", "/usr/bin", "/sbin", "/bin")

#: Where programs of the user's run in the guest (guest/programs.py).
WORK = PurePosixPath("/root/work")

#: What the guest has besides (guest/commands.py).
COMMANDS = ("on", "telnet")

_LONGEST = 255  # bytes of a name, as Linux
_MOST_LINKS = 40  # as Linux


class GuestRoot:
    """The guest's file system: `folders` of the host, the first one on top, and files taken along.

    A folder that two of them have is one with the files of both.
    """

    def __init__(self, folders: Sequence[Path], files: Sequence[TakenFile] = ()) -> None:
        self.folders = tuple(folders)
        self._taken = {WORK / file.path: file.source for file in files}

    def find(self, path: str) -> Path | None:
        """The file of the host behind `path` of the guest, links followed; None: there is none."""
        return self._find(_parts(WORK / path), _MOST_LINKS)

    def program(self, name: str) -> str | None:
        """The path in the guest of what a shell there would start for `name`."""
        if "/" in name:
            return name if self.find(name) else None
        paths = [f"{folder}/{name}" for folder in PATH]
        return next((path for path in paths if self.find(path) is not None), None)

    def is_of_root(self, path: Path) -> bool:
        """Whether a file of the host is of the root file system itself, the lowest folder."""
        return path.is_relative_to(self.folders[-1])

    def _find(self, parts: list[str], links: int) -> Path | None:
        if any(len(os.fsencode(part)) > _LONGEST for part in parts):
            return None
        done: list[str] = []
        for number, part in enumerate(parts):
            here = PurePosixPath("/", *done, part)
            if here in self._taken:
                return self._taken[here] if number == len(parts) - 1 else None
            for folder in self.folders:
                path = folder / str(here)[1:]
                if path.is_symlink():
                    if not links:
                        return None
                    target = PurePosixPath("/", *done) / path.readlink()
                    return self._find([*_parts(target), *parts[number + 1 :]], links - 1)
                if path.exists():
                    break
            done.append(part)
        for folder in self.folders:
            path = folder.joinpath(*done)
            if path.is_file():
                return path
        return None


def _parts(path: PurePosixPath) -> list[str]:
    """The names on the way from `/`, without `..`."""
    parts: list[str] = []
    for part in path.parts[1:]:
        if part == "..":
            parts = parts[:-1]
        else:
            parts.append(part)
    return parts
