"""Where studies are: a study registers itself by being a folder with a `study.yaml`.

The shipped studies are in `studies/` of the repository; a user's may lie anywhere, and after `add`
it is known to this process and to those that it starts.
"""

import difflib
import os
from pathlib import Path

from qdisclab.emulation import project
from qdisclab.emulation.errors import ConfigError

#: The folder of the shipped studies, each in a folder of its own.
SHIPPED = project.folder("studies")

#: The file that makes a folder a study.
FILE = "study.yaml"

#: The folder of a study's runs, and of the runs of all shipped studies.
DATA = "data"

#: Environment variable: the folders of studies that do not ship, separated as in PATH.
VARIABLE = "QDISC_LAB_STUDIES"


class NoStudy(ConfigError):
    """There is no study of that name."""


def shipped() -> dict[str, Path]:
    """Map the names of the shipped studies, sorted, to their folders."""
    return {path.parent.name: path.parent for path in sorted(SHIPPED.glob(f"*/{FILE}"))}


def known() -> dict[str, Path]:
    """Map the names of the shipped studies, then of those that were added, to their folders.

    Raises `ConfigError` where an added study has the name of another.
    """
    folders = shipped()
    for folder in _added():
        _check_name(folder, folders.setdefault(folder.name, folder), f"{VARIABLE}: {folder}")
    return folders


def find(name_or_path: str | Path) -> Path:
    """Return the folder of a study: of a known study by its name, of any study by its path.

    A shipped folder with figures alone is found by its name, too. Raises `ConfigError` where there
    is no such study, with the nearest names, and for a folder whose name another study has.
    """
    text = str(name_or_path)
    text = text.rstrip("/") or text  # as shells complete a folder
    names = known() | {path.parent.name: path.parent for path in SHIPPED.glob("*/figures")}
    if text in names:
        return names[text]
    # `os.path` raises no error for a name that is too long, or `~` of an unknown user.
    folder = Path(os.path.realpath(os.path.expanduser(text)))  # noqa: PTH111
    if not os.path.isfile(folder / FILE) and folder not in names.values():  # noqa: PTH113
        close = difflib.get_close_matches(text, names, n=3)
        near = f"did you mean {' or '.join(close)}? " if close else ""
        todo = f"{near}write {', '.join(sorted(names))}, or a folder with a {FILE}"
        raise NoStudy(f"no study '{text}'", todo=todo)
    _check_name(folder, names.get(folder.name, folder), str(folder))
    return folder


def _check_name(folder: Path, namesake: Path, where: str) -> None:
    """Raise `ConfigError` where `namesake`, the study with the name of `folder`, is another."""
    if namesake.resolve() != folder.resolve():
        what = f"has the name of the study in {namesake}"
        raise ConfigError(what, where, "rename the folder, and the study in its file")


def data_folder(folder: Path) -> Path:
    """Return the folder of a study's runs: `data` for shipped studies, else one in its folder.

    Raises `ConfigError` where it is a link to another place.
    """
    return project.data() if folder.parent == SHIPPED else inside(folder, DATA)


def inside(folder: Path, name: str) -> Path:
    """Return the path of `name` in a study's `folder`; raise `ConfigError` where it is outside."""
    path = folder / name
    below = not Path(name).is_absolute() and ".." not in Path(name).parts and "\0" not in name
    if not below or not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
        what = f"'{name[:80]}' leads out of the study's folder"
        raise ConfigError(what, str(folder), "copy it into the folder and write a relative path")
    return path


def add(name_or_path: str | Path) -> Path:
    """Find a study, as `find`; one that does not ship is known from then on."""
    folder = find(name_or_path)
    if folder.parent != SHIPPED and folder not in _added():
        os.environ[VARIABLE] = os.pathsep.join(map(str, [*_added(), folder]))
    return folder


def _added() -> list[Path]:
    return [Path(path) for path in os.environ.get(VARIABLE, "").split(os.pathsep) if path]
