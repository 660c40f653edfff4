"""What a guest finds at a path: its layers over its root file system, seen from the host."""

from collections.abc import Iterable, Iterator, Sequence
from os import X_OK, access, walk
from os.path import exists, isfile, islink
from pathlib import Path, PurePosixPath
from shlex import quote

from qdisclab.emulation.programs.taken import TakenFile

#: Where the guest looks for programs.
PATH = ("/usr/sbin", "/usr/bin", "/sbin", "/bin")

#: Where the user's programs run in the guest (guest/programs.py).
WORK = PurePosixPath("/root/work")

#: Commands that the guest has in addition (guest/commands.py, guest/surroundings.py).
COMMANDS = ("on", "python2", "sudo", "telnet")

_MOST_LINKS = 40  # as Linux


class GuestRoot:
    """The guest's file system: `folders` of the host, the first on top, and files taken along.

    If several of them have a folder of one name, it has the files of all.
    """

    def __init__(self, folders: Sequence[Path], files: Sequence[TakenFile] = ()) -> None:
        self.folders = tuple(folders)
        self._taken = {WORK / file.path: file.source for file in files}

    def find(self, path: str) -> Path | None:
        """Return the host's file behind `path` in the guest, following links, or None."""
        return self._find(_parts(WORK / path), _MOST_LINKS)

    def real(self, path: str) -> str:
        """Return where `path` leads in the guest; itself for a file that is taken along."""
        file = self.find(path)
        if file is not None and file not in self._taken.values():
            for folder in filter(file.is_relative_to, self.folders):
                return f"/{file.relative_to(folder)}"
        return path

    def has(self, path: str) -> bool:
        """Return whether the guest has something at `path`: a file, or a folder."""
        name = str(PurePosixPath("/", *_parts(PurePosixPath(path))))[1:]
        return any(exists(folder / name) for folder in self.folders) or bool(self.find(path))  # noqa: PTH110

    def missing(self, words: Iterable[str]) -> Iterator[str]:
        """Yield for each word that is a path of this machine and none of the guest what to do."""
        here = Path.cwd()
        for word in words:
            if not word.startswith("/") or not exists(word) or self.has(word):  # noqa: PTH110
                continue
            todo = "copy it to the current folder, and name it without '/' at the front"
            if Path(word).is_relative_to(here) and word != str(here):
                todo = f"write {quote(str(Path(word).relative_to(here)))}"
                todo += " and name the folder with --file" if Path(word).is_dir() else ""
            yield f"{word} is on this machine and not in the guest; {todo}"

    def program(self, name: str) -> str | None:
        """Return the path in the guest of the program that a shell there would start for `name`."""
        if "/" in name:
            return name if self.find(name) else None
        paths = [f"{folder}/{name}" for folder in PATH]
        return next((path for path in paths if self.find(path) is not None), None)

    def outside_path(self, name: str) -> list[str]:
        """Return the paths in the guest of programs of that name that its layers have."""
        paths = (
            (layer, Path(folder, name))
            for layer in self.folders[:-1]
            for folder, _, names in walk(layer)
            if name in names
        )
        return sorted(f"/{path.relative_to(top)}" for top, path in paths if access(path, X_OK))

    def is_of_root(self, path: Path) -> bool:
        """Return whether a file of the host is in the root file system, the lowest folder."""
        return path.is_relative_to(self.folders[-1])

    def _find(self, parts: list[str], links: int) -> Path | None:
        # Not by methods of `Path`: they raise if a name is too long or a folder is not the user's.
        done: list[str] = []
        for number, part in enumerate(parts):
            if (here := PurePosixPath("/", *done, part)) in self._taken:
                return self._taken[here] if number == len(parts) - 1 else None
            for folder in self.folders:
                path = folder / str(here)[1:]
                if islink(path):  # noqa: PTH114
                    if not links:
                        return None
                    target = PurePosixPath("/", *done) / path.readlink()
                    return self._find([*_parts(target), *parts[number + 1 :]], links - 1)
                if exists(path):  # noqa: PTH110
                    break
            done.append(part)
        for folder in self.folders:
            path = folder.joinpath(*done)
            if isfile(path):  # noqa: PTH113
                return path
        return None


def _parts(path: PurePosixPath) -> list[str]:
    """Return the names on the way from `/`, without `..`."""
    parts: list[str] = []
    for part in path.parts[1:]:
        if part == "..":
            parts = parts[:-1]
        else:
            parts.append(part)
    return parts
