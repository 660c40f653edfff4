"""What a study that somebody else may have made would execute, and whether the user agreed to it.

A study is more than numbers: `rigs.py`, `claims.py` and notebooks are Python of this computer, a
module's Kbuild is run by make, and programs run as root of a guest. None of it is executed before
the user has seen what it is and said yes, at a prompt or by `--trust`; the answer holds as long as
these files stay what they are. A study that `emulate new` made is its user's own, and trusted
wherever it says; shipped ones are part of the project.
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

#: Of the environment: folders, as in PATH, below which studies are trusted: for CI and containers.
VARIABLE = "QDISC_LAB_TRUST"

HOST, GUEST = "this computer", "the guest"

#: What Python can execute, by the ends of files, wherever in the study they are: notebooks import
#: what lies beside them. What is in a `__pycache__` is not taken from there (`bytecode`).
_CODE = (".py", ".ipynb", ".pyc", ".so")
#: Files and folders whose code this computer executes, whoever else is given it.
_OF_HOST = ("rigs.py", "claims.py", "claims", "notebooks")
#: Of a folder of others that is looked through: it is refused when it has more.
MOST_FILES = 10_000
LONGEST_LINE = 160  # characters of a command as it is shown


class Untrusted(ConfigError):
    """A study would execute something that nobody has agreed to."""


@dataclass(frozen=True)
class Item:
    """Something that a study executes."""

    where: str  # HOST or GUEST
    what: str
    files: tuple[Path, ...] = ()  # whose content decides what is done

    def __str__(self) -> str:
        return f"on {self.where}: {printable(self.what)[:LONGEST_LINE]}"


def executes(folder: Path) -> tuple[Item, ...]:
    """What the study in `folder` would execute, found without executing any of it.

    Raises `ConfigError` where the study cannot be read, and for files that lie elsewhere.
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
    """Whether what the study in `folder` executes, if anything, may be."""
    place = Path(os.path.realpath(folder))
    if place.parent == studies.SHIPPED:
        return True
    given = [one for one in os.environ.get(VARIABLE, "").split(os.pathsep) if one]
    if any(place.is_relative_to(os.path.realpath(one)) for one in given):
        return True
    if _remembered(_of_place(place)):
        return True
    items = executes(place)
    return not items or _remembered(_digest(items))


def require(place: Path | str) -> None:
    """Raise `Untrusted` where a study would execute what nobody has agreed to.

    `place`: its folder; empty for one that ships (`model.Experiment.folder`). This goes before each
    place that executes something of a study.
    """
    folder = Path(place)
    if str(place) and not trusted(folder):
        items = executes(folder)
        places = " and on ".join(dict.fromkeys(item.where for item in items))
        what = f"executes {len(items)} thing{'s' * (len(items) > 1)} on {places}, not yet trusted"
        todo = f"look at {_names(items)}, then: emulate check --trust {shlex.quote(str(folder))}"
        raise Untrusted(what, str(folder), todo)


def remember(folder: Path) -> None:
    """Trust what the study executes now."""
    (_store() / _digest(executes(Path(os.path.realpath(folder))))).touch()


def own(folder: Path) -> None:
    """Trust the study in `folder` whatever it will execute: the user has made it here."""
    (_store() / _of_place(Path(os.path.realpath(folder)))).touch()


def bytecode() -> str:
    """Where Python keeps the bytecode of studies: that which a study brings is nobody's to read."""
    return str(cache_dir("bytecode"))


def add_option(parser: argparse.ArgumentParser) -> None:
    """Let a command line agree to what a study executes."""
    parser.add_argument(
        "--trust",
        action="store_true",
        help="agree to what a study of somebody else executes, as long as it stays as it is",
    )


def ask(name: str | Path, agreed: bool) -> None:
    """Let the user see what the study of that name or in that folder executes, and agree or not.

    `agreed`: they did, by `--trust`. Where there is no terminal nothing is asked: `require` refuses
    what is to be executed. A name that is none of a study, or of one's experiment, is passed over.
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
    """Programs of the study, if the file speaks of any: an axis may set them, too."""
    everything = list(_inside(value))
    if "programs" not in everything:  # the only kind of traffic with commands of the study
        return
    files = [file]
    for one in everything:
        if isinstance(one, dict) and isinstance(one.get("files"), list):
            files += [studies.inside(file.parent, str(name)) for name in one["files"]]
    files = [path for path in files if path.is_file()]
    for one in everything:
        if isinstance(one, dict) and isinstance(one.get("command"), list):
            yield Item(GUEST, shlex.join(map(str, one["command"])), tuple(files))
    yield Item(GUEST, f"programs of {file.name}, as root", tuple(files))


def _modules(value: Any, folder: Path) -> Iterator[Item]:
    qdiscs = value.get("qdiscs") if isinstance(value, dict) else None
    for section in qdiscs.values() if isinstance(qdiscs, dict) else ():
        name = section.get("module") if isinstance(section, dict) else None
        if isinstance(name, str):
            place = studies.inside(folder, name)
            found = [path.relative_to(folder) for one in INPUTS for path in place.glob(one)]
            what = f"make, with {name}/Kbuild; what comes of it is loaded into the guest's kernel"
            yield Item(HOST, what, tuple(studies.inside(folder, str(one)) for one in sorted(found)))


def _inside(value: Any) -> Iterator[Any]:
    yield value
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _inside(one)


def _files(folder: Path) -> Iterator[Path]:
    """The files of a study but its data and hidden ones; `ConfigError` where one is elsewhere."""
    seen = 0
    for place, folders, names in os.walk(folder):
        data = [studies.DATA] if Path(place) == folder else []
        skipped = [*data, "__pycache__"]
        folders[:] = sorted(one for one in folders if one[0] != "." and one not in skipped)
        for name in sorted(names):
            seen += 1
            if seen > MOST_FILES:
                todo = "keep what is no part of the study elsewhere"
                raise ConfigError(f"has more than {MOST_FILES} files", str(folder), todo)
            path = Path(place) / name
            if path.suffix in _CODE:
                yield studies.inside(folder, str(path.relative_to(folder)))


def _use(name: Path) -> str:
    uses = {"rigs.py": "Python, when the study is read", "claims.py": "Python, for its claims"}
    if name.suffix == ".ipynb":
        return "a notebook, when a figure is drawn"
    return uses.get(str(name), "Python, for the files beside it")


def _names(items: tuple[Item, ...]) -> str:
    found = dict.fromkeys(path.name for item in items for path in item.files)
    shown = list(found)[:4]
    return printable(", ".join(shown)) + (" …" if len(found) > len(shown) else "")


# --- what is remembered -------------------------------------------------------------------------


def _store() -> Path:
    """The folder with an empty file for each yes; `ConfigError` where others can write there."""
    folder = cache_dir("trust")
    if folder.stat().st_uid != os.getuid():
        raise ConfigError(
            "is somebody else's", str(folder), "set XDG_CACHE_HOME to a folder of yours"
        )
    folder.chmod(0o700)
    return folder


def _remembered(digest: str) -> bool:
    path = _store() / digest
    return path.exists() and path.stat().st_uid == os.getuid()


def _of_place(folder: Path) -> str:
    """What stands for a folder that the user has made; another one in its place is another."""
    about = folder.stat()
    return hashlib.sha256(f"{folder}\0{about.st_dev}\0{about.st_ino}".encode()).hexdigest()


def _digest(items: tuple[Item, ...]) -> str:
    """Of all that is executed, wherever the study lies."""
    total = hashlib.sha256()
    for item in items:
        total.update(f"{item.where}\0{item.what}\0{len(item.files)}\0".encode())
        for path in item.files:
            total.update(hashlib.sha256(path.read_bytes()).digest() + path.name.encode() + b"\0")
    return total.hexdigest()
