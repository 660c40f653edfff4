"""What a study from somebody else would execute, and whether the user has agreed to it.

A study is more than numbers: its modules (`emulation.study.code`) and notebooks run as Python with
the user's rights, a module's Kbuild is run by make behind a wall (`SECURITY.md`), and programs run
as root in a guest. Nothing of it is executed before the user has seen a list and agreed, at a
prompt or by `--trust`; the answer holds as long as no file of the study changes, but for its runs.
A study that `emulate new` made is the user's own and always trusted; shipped studies are part of
the project.
"""

import argparse
import fcntl
import hashlib
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from qdisclab.emulation.errors import ConfigError, printable
from qdisclab.emulation.host.cache import cache_dir
from qdisclab.emulation.host.digest import sha256
from qdisclab.emulation.study import source, studies

#: Environment variable: folders, as in PATH, below which studies are trusted: for CI, containers.
VARIABLE = "QDISC_LAB_TRUST"

#: Suffixes of files that Python can execute, wherever in the study they are: notebooks import files
#: next to them. Files in a `__pycache__` are never used (`bytecode`).
_CODE = (".py", ".ipynb", ".pyc", ".so")
#: Folders in which git, Python and Jupyter keep files: nothing in them is executed.
_KEPT_BY_TOOLS = frozenset({".git", "__pycache__", ".ipynb_checkpoints"})
#: Modules and packages of a study, and when this computer executes them.
_USES = {
    "rigs": "when the study is read",
    "kinds": "when the study is read",
    "measures": "when its runs are measured",
    "claims": "for its claims",
    "plots": "when a figure is drawn",
}
#: A study from somebody else is refused when its folder has more files.
MOST_FILES = 10_000
LONGEST_LINE = 160  # characters of a line of the list for the user
SHOWN = 3  # lines of the list in an error

_GET_GENERATION = 0x80087601  # FS_IOC_GETVERSION of linux/fs.h


class Untrusted(ConfigError):
    """A study would execute something that the user has not agreed to."""


def executes(folder: Path) -> list[str]:
    """List what the study in `folder` would execute, without executing any of it.

    Raises `ConfigError` where the study cannot be read, and for files outside the folder.
    """
    file = folder / studies.FILE
    values = list(_nested(source.ParsedFile.of(file).value)) if file.exists() else []
    names = [path.relative_to(folder) for path in _files(folder) if path.suffix in _CODE]
    _check_data(folder)
    lines = [f"with your rights: {name} ({_use(name)})" for name in names]
    for section in (value for value in values if isinstance(value, dict)):
        if isinstance(module := section.get("module"), str):
            code_at(folder, module)
            what = f"make, with {module}/Kbuild; what comes of it is loaded into the guest's kernel"
            lines.append(f"behind a wall: {what}")
        if "programs" not in values:  # the only kind of traffic with commands of the study
            continue
        for name in section["files"] if isinstance(section.get("files"), list) else ():
            code_at(folder, str(name))
        if isinstance(command := section.get("command"), list):
            lines.append(f"on the guest: {shlex.join(map(str, command))}")
    if "programs" in values:  # an axis may set them, too
        lines.append(f"on the guest: programs of {studies.FILE}, as root")
    return [_line(line) for line in dict.fromkeys(lines)]


def trusted(folder: Path) -> bool:
    """Return whether everything that the study in `folder` executes, if anything, is allowed."""
    place = Path(os.path.realpath(folder))
    if place.parent == studies.SHIPPED:
        return True
    parents = [path for path in os.environ.get(VARIABLE, "").split(os.pathsep) if path]
    if any(place.is_relative_to(os.path.realpath(parent)) for parent in parents):
        return True
    return _remembered(_folder_digest(place)) or not executes(place) or _remembered(_digest(place))


def require(place: Path | str) -> None:
    """Raise `Untrusted` where a study would execute what the user has not agreed to.

    `place` is its folder; empty for a shipped study (`model.Experiment.folder`). Call this before
    executing anything of a study.
    """
    folder = Path(place)
    if str(place) and not trusted(folder):
        lines = executes(folder)
        more = f" and {len(lines) - SHOWN} more" if len(lines) > SHOWN else ""
        what = f"executes {'; '.join(lines[:SHOWN])}{more}, not yet trusted"
        todo = f"review that, then: emulate check --trust {shlex.quote(str(folder))}"
        raise Untrusted(what, str(folder), todo)


def remember(folder: Path) -> None:
    """Trust what the study in `folder` executes now."""
    (_store() / _digest(Path(os.path.realpath(folder)))).touch()


def code_at(folder: Path, name: str) -> Path:
    """Return the path of a file or folder of a study that is to be executed.

    Raises `ConfigError` for a place outside the study, and for one at which `executes` does not
    look and a change does not count.
    """
    path = studies.inside(folder, name)
    parts = path.relative_to(folder).parts
    if parts[:1] == (studies.DATA,) or not _KEPT_BY_TOOLS.isdisjoint(parts):
        what = f"'{printable(name)[:80]}' is in a folder of runs or of a tool"
        raise ConfigError(what, str(folder), "move it to another folder of the study")
    return path


def own(folder: Path) -> None:
    """Trust the study in `folder` whatever it will execute: the user has made it here."""
    (_store() / _folder_digest(Path(os.path.realpath(folder)))).touch()


def bytecode() -> str:
    """Return Python's folder for the bytecode of studies, as that in a study is not trusted."""
    return str(cache_dir("bytecode"))


def add_option(parser: argparse.ArgumentParser) -> None:
    """Add the option by which a user agrees to what a study executes."""
    text = "trust what a study from somebody else executes, as long as it does not change"
    parser.add_argument("--trust", action="store_true", help=text)


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
        shown = _digest(Path(os.path.realpath(folder)))  # which may change while somebody reads
        if agreed or _says_yes(folder):
            (_store() / shown).touch()
        return


def _says_yes(folder: Path) -> bool:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    name = _line(str(folder))
    print(f"{name} is not a study of yours or of the project. It executes", file=sys.stderr)
    print(*(f"  {line}" for line in executes(folder)), sep="\n", file=sys.stderr)
    print("Trust it as long as that stays the same? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _line(text: str) -> str:
    """Return `text` as one line for a terminal; what is left out of a long one is marked."""
    line = printable(text.replace("\n", "\\n"))
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 2]} …"


# --- what a study has ---------------------------------------------------------------------------


def _nested(value: Any) -> Iterator[Any]:
    """Yield a value and all that it contains."""
    yield value
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _nested(item)


def _check_data(folder: Path) -> None:
    """Raise `ConfigError` for links in the folder of runs that lead out of the study."""
    for place, folders, names in os.walk(folder / studies.DATA):
        for path in (Path(place, name) for name in (*folders, *names)):
            if path.is_symlink():
                studies.inside(folder, str(path.relative_to(folder)))


def _files(folder: Path) -> Iterator[Path]:
    """Yield all files but those of runs and those that tools keep for themselves.

    Raises `ConfigError` for links outside, and for links to folders, which nobody walks through.
    """
    seen = 0
    for place, folders, names in os.walk(folder):
        skipped = _KEPT_BY_TOOLS | ({studies.DATA} if Path(place) == folder else set())
        folders[:] = sorted(set(folders) - skipped)
        for name in folders:
            if os.path.islink(os.path.join(place, name)):  # noqa: PTH114, PTH118
                what = f"'{printable(name)[:80]}' is a link to a folder"
                raise ConfigError(what, str(folder), "copy what it names into the study's folder")
        for name in sorted(names):
            seen += 1
            if seen > MOST_FILES:
                todo = "move files that do not belong to the study elsewhere"
                raise ConfigError(f"has more than {MOST_FILES} files", str(folder), todo)
            yield studies.inside(folder, str(Path(place, name).relative_to(folder)))


def _use(name: Path) -> str:
    if name.suffix == ".ipynb":
        return "a notebook, when a figure is drawn"
    return f"Python, {_USES.get(name.parts[0].removesuffix('.py'), 'for the files beside it')}"


# --- what is remembered -------------------------------------------------------------------------


def _store() -> Path:
    """Return the folder with an empty file per yes; `ConfigError` where others can write to it."""
    folder = cache_dir("trust")
    if folder.stat().st_uid != os.getuid():
        what = "belongs to another user"
        raise ConfigError(what, str(folder), "set XDG_CACHE_HOME to a folder of yours")
    folder.chmod(0o700)
    return folder


def _remembered(digest: str) -> bool:
    path = _store() / digest
    return path.exists() and path.stat().st_uid == os.getuid()


def _folder_digest(folder: Path) -> str:
    """Return a digest of the folder itself, which differs for another folder in its place."""
    about = folder.stat()
    text = f"{folder}\0{about.st_dev}\0{about.st_ino}{_generation(folder)}"
    return hashlib.sha256(os.fsencode(text)).hexdigest()


def _generation(folder: Path) -> str:
    """Return the number by which file systems tell a folder from a later one with its inode; empty
    where they have none."""
    number = bytearray(8)
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return ""
    with suppress(OSError):
        fcntl.ioctl(handle, _GET_GENERATION, number)
    os.close(handle)
    return f"\0{number.hex()}" if any(number) else ""


def _digest(folder: Path) -> str:
    """Return a digest of all files of a study but its runs, wherever the study lies."""
    total = hashlib.sha256()
    for path in _files(folder):
        content = sha256(path) if path.is_file() else ""
        total.update(os.fsencode(f"{path.relative_to(folder)}\0{content}\0"))
    return total.hexdigest()
