"""What a study from somebody else would execute, and whether the user has agreed to it.

A study is more than numbers: its modules (`emulation.study.code`) and notebooks run as Python on
this computer, a module's Kbuild is run by make, and programs run as root in a guest. Nothing of it
is executed before the user has seen a list and agreed, at a prompt or by `--trust`; the answer
holds as long as these files do not change. A study that `emulate new` made is the user's own and
always trusted; shipped studies are part of the project.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from emulation.errors import ConfigError, printable
from emulation.host.cache import cache_dir
from emulation.model.qdisc import INPUTS
from emulation.study import studies
from emulation.study.source import Source

#: Environment variable: folders, as in PATH, below which studies are trusted: for CI, containers.
VARIABLE = "QDISC_LAB_TRUST"

HOST, GUEST = "this computer", "the guest"

#: Suffixes of files that Python can execute, wherever in the study they are: notebooks import files
#: next to them. Files in a `__pycache__` are never used (`bytecode`).
_CODE = (".py", ".ipynb", ".pyc", ".so")
#: Modules and packages of a study, and when this computer executes them.
_USES = {
    "rigs": "when the study is read",
    "kinds": "when the study is read",
    "measures": "when its runs are measured",
    "claims": "for its claims",
    "plots": "when a figure is drawn",
}
#: Files and folders that this computer executes, even if a guest gets them, too.
_OF_HOST = (*_USES, *(f"{name}.py" for name in _USES), "notebooks")
#: A study from somebody else is refused when its folder has more files.
MOST_FILES = 10_000
LONGEST_LINE = 160  # characters of a command in the list for the user


class Untrusted(ConfigError):
    """A study would execute something that the user has not agreed to."""


@dataclass(frozen=True)
class Item:
    """Something that a study executes."""

    where: str  # HOST or GUEST
    what: str
    files: tuple[Path, ...] = ()  # whose content decides what is executed

    def __str__(self) -> str:
        return f"on {self.where}: {printable(self.what)[:LONGEST_LINE]}"


def executes(folder: Path) -> tuple[Item, ...]:
    """List what the study in `folder` would execute, without executing any of it.

    Raises `ConfigError` where the study cannot be read, and for files outside the folder.
    """
    file = folder / studies.FILE
    value = Source.of(file).value if file.exists() else None
    items = [*_programs(value, file), *_modules(value, folder)]
    guest = {path for item in items if item.where == GUEST for path in item.files}
    for path in _files(folder):
        name = path.relative_to(folder)
        if name.parts[0] in _OF_HOST or path not in guest:
            items.append(Item(HOST, f"{name} ({_use(name)})", (path,)))
    return tuple(sorted(items, key=lambda item: (item.where != HOST, item.what)))


def trusted(folder: Path) -> bool:
    """Whether everything that the study in `folder` executes, if anything, is allowed."""
    place = Path(os.path.realpath(folder))
    if place.parent == studies.SHIPPED:
        return True
    parents = [path for path in os.environ.get(VARIABLE, "").split(os.pathsep) if path]
    if any(place.is_relative_to(os.path.realpath(parent)) for parent in parents):
        return True
    if _remembered(_folder_digest(place)):
        return True
    items = executes(place)
    return not items or _remembered(_digest(items))


def require(place: Path | str) -> None:
    """Raise `Untrusted` where a study would execute what the user has not agreed to.

    `place` is its folder; empty for a shipped study (`model.Experiment.folder`). Call this before
    executing anything of a study.
    """
    folder = Path(place)
    if str(place) and not trusted(folder):
        items = executes(folder)
        places = " and on ".join(dict.fromkeys(item.where for item in items))
        what = f"executes {len(items)} thing{'s' * (len(items) > 1)} on {places}, not yet trusted"
        todo = f"look at {_names(items)}, then: emulate check --trust {shlex.quote(str(folder))}"
        raise Untrusted(what, str(folder), todo)


def remember(folder: Path) -> None:
    """Trust what the study in `folder` executes now."""
    (_store() / _digest(executes(Path(os.path.realpath(folder))))).touch()


def own(folder: Path) -> None:
    """Trust the study in `folder` whatever it will execute: the user has made it here."""
    (_store() / _folder_digest(Path(os.path.realpath(folder)))).touch()


def bytecode() -> str:
    """Return Python's folder for the bytecode of studies, as that in a study is not trusted."""
    return str(cache_dir("bytecode"))


def add_option(parser: argparse.ArgumentParser) -> None:
    """Add the option by which a user agrees to what a study executes."""
    parser.add_argument(
        "--trust",
        action="store_true",
        help="agree to what a study from somebody else executes, as long as it does not change",
    )


def ask(name: str | Path, agreed: bool) -> None:
    """Show the user what the study of this name or folder executes, and ask whether to trust it.

    `agreed` says that they agreed by `--trust`. Without a terminal nothing is asked: `require`
    refuses the execution. Names of neither a study nor one of its experiments are ignored.
    """
    for place in (str(name), str(name).rpartition("/")[0]):
        try:
            folder = studies.find(place) if place else None
        except ConfigError:
            continue
        if folder is None or not (folder / studies.FILE).is_file() or trusted(folder):
            return
        if agreed or _says_yes(folder):
            remember(folder)
        return


def _says_yes(folder: Path) -> bool:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    print(f"{folder} is not a study of yours or of the project. It executes", file=sys.stderr)
    for item in executes(folder):
        print(f"  {item}", file=sys.stderr)
    print("Trust it as long as that stays the same? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


# --- what there is ------------------------------------------------------------------------------


def _programs(value: Any, file: Path) -> Iterator[Item]:
    """Yield programs of the study, if the file names any: an axis may set them, too."""
    values = list(_nested(value))
    if "programs" not in values:  # the only kind of traffic with commands of the study
        return
    files = [file]
    sections = [section for section in values if isinstance(section, dict)]
    for section in sections:
        if isinstance(section.get("files"), list):
            files += [studies.inside(file.parent, str(name)) for name in section["files"]]
    files = [path for path in files if path.is_file()]
    for section in sections:
        if isinstance(section.get("command"), list):
            yield Item(GUEST, shlex.join(map(str, section["command"])), tuple(files))
    yield Item(GUEST, f"programs of {file.name}, as root", tuple(files))


def _modules(value: Any, folder: Path) -> Iterator[Item]:
    both = [value.get(key) for key in ("qdiscs", "controls")] if isinstance(value, dict) else []
    sections = [one for named in both if isinstance(named, dict) for one in named.values()]
    for section in sections:
        name = section.get("module") if isinstance(section, dict) else None
        if isinstance(name, str):
            place = studies.inside(folder, name)
            names = [path.relative_to(folder) for glob in INPUTS for path in place.glob(glob)]
            what = f"make, with {name}/Kbuild; what comes of it is loaded into the guest's kernel"
            yield Item(
                HOST, what, tuple(studies.inside(folder, str(path)) for path in sorted(names))
            )


def _nested(value: Any) -> Iterator[Any]:
    """Yield a value and all that it contains."""
    yield value
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _nested(item)


def _files(folder: Path) -> Iterator[Path]:
    """Yield files with code, except in data and hidden folders.

    Raises `ConfigError` for links outside, and for links to folders, which nobody walks through.
    """
    seen = 0
    for place, folders, names in os.walk(folder):
        data = [studies.DATA] if Path(place) == folder else []
        skipped = [*data, "__pycache__"]
        folders[:] = sorted(name for name in folders if name[0] != "." and name not in skipped)
        for name in folders:
            if os.path.islink(os.path.join(place, name)):  # noqa: PTH114, PTH118
                what = f"'{printable(name)[:80]}' is a link to a folder"
                raise ConfigError(what, str(folder), "copy what it names into the study's folder")
        for name in sorted(names):
            seen += 1
            if seen > MOST_FILES:
                todo = "move files that do not belong to the study elsewhere"
                raise ConfigError(f"has more than {MOST_FILES} files", str(folder), todo)
            path = Path(place) / name
            if path.suffix in _CODE:
                yield studies.inside(folder, str(path.relative_to(folder)))


def _use(name: Path) -> str:
    if name.suffix == ".ipynb":
        return "a notebook, when a figure is drawn"
    return f"Python, {_USES.get(name.parts[0].removesuffix('.py'), 'for the files beside it')}"


def _names(items: tuple[Item, ...]) -> str:
    """Return the names of up to four of the files, as text."""
    names = list(dict.fromkeys(path.name for item in items for path in item.files))
    return printable(", ".join(names[:4])) + (" …" if len(names) > 4 else "")


# --- what is remembered -------------------------------------------------------------------------


def _store() -> Path:
    """Return the folder with an empty file per yes; `ConfigError` where others can write to it."""
    folder = cache_dir("trust")
    if folder.stat().st_uid != os.getuid():
        raise ConfigError(
            "belongs to another user", str(folder), "set XDG_CACHE_HOME to a folder of yours"
        )
    folder.chmod(0o700)
    return folder


def _remembered(digest: str) -> bool:
    path = _store() / digest
    return path.exists() and path.stat().st_uid == os.getuid()


def _folder_digest(folder: Path) -> str:
    """Return a digest of the folder itself, which differs for another folder in its place."""
    about = folder.stat()
    return hashlib.sha256(f"{folder}\0{about.st_dev}\0{about.st_ino}".encode()).hexdigest()


def _digest(items: tuple[Item, ...]) -> str:
    """Return a digest of everything that is executed, wherever the study lies."""
    total = hashlib.sha256()
    for item in items:
        total.update(f"{item.where}\0{item.what}\0{len(item.files)}\0".encode())
        for path in item.files:
            total.update(hashlib.sha256(path.read_bytes()).digest() + path.name.encode() + b"\0")
    return total.hexdigest()
