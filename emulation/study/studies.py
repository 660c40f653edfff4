"""Where studies are: a study registers itself by being a folder with a `study.yaml`.

The shipped ones are in `studies/` of the repository; a user's may lie anywhere, and is known to
this process and to those that it starts once `add` has been told of it.
"""

from __future__ import annotations

import difflib
import os
from pathlib import Path

from emulation.errors import ConfigError

#: The shipped studies, a folder each.
SHIPPED = Path(__file__).resolve().parents[2] / "studies"

#: What makes a folder a study.
FILE = "study.yaml"

#: The folder of a study's runs, and of those of all shipped ones.
DATA = "data"

#: Of the environment: the folders of studies that do not ship, one after the other as in PATH.
VARIABLE = "QDISC_LAB_STUDIES"


class NoStudy(ConfigError):
    """There is no study of that name."""


def shipped() -> dict[str, Path]:
    """Folder by name of each shipped study, in the order of their names."""
    return {path.parent.name: path.parent for path in sorted(SHIPPED.glob(f"*/{FILE}"))}


def known() -> dict[str, Path]:
    """The shipped studies, and behind them those that were added.

    Raises `ConfigError` where one of these has the name of another.
    """
    found = shipped()
    for folder in _added():
        namesake = found.setdefault(folder.name, folder)
        if namesake.resolve() != folder.resolve():
            todo = "rename the folder, and the study in its file"
            what = f"has the name of the study in {namesake}"
            raise ConfigError(what, f"{VARIABLE}: {folder}", todo)
    return found


def find(name_or_path: str | Path) -> Path:
    """The folder of a study: of one that is known, by its name, or of any, by its path.

    A folder that ships figures alone can be found by its name, too. Raises `ConfigError` for what
    is neither, with the nearest names, and for a folder whose name another study has.
    """
    text = str(name_or_path)
    names = known() | {path.parent.name: path.parent for path in SHIPPED.glob("*/figures")}
    if text in names:
        return names[text]
    # Of `os.path`: a name that is too long, or of no user, is no error there.
    folder = Path(os.path.realpath(os.path.expanduser(text)))  # noqa: PTH111
    if not os.path.isfile(folder / FILE) and folder not in names.values():  # noqa: PTH113
        close = difflib.get_close_matches(text, names, n=3)
        near = f"did you mean {' or '.join(close)}? " if close else ""
        todo = f"{near}take {', '.join(sorted(names))}, or the folder of a {FILE}"
        raise NoStudy(f"no study '{text}'", todo=todo)
    namesake = names.get(folder.name)
    if namesake is not None and namesake.resolve() != folder:
        what = f"has the name of the study in {namesake}"
        raise ConfigError(what, str(folder), "rename the folder, and the study in its file")
    return folder


def data_folder(folder: Path) -> Path:
    """Where the runs of a study lie: those of shipped ones in `data`, others' in their folder.

    Raises `ConfigError` where that is a link to another place.
    """
    return SHIPPED.parent / DATA if folder.parent == SHIPPED else inside(folder, DATA)


def inside(folder: Path, name: str) -> Path:
    """What a study in `folder` calls `name`; `ConfigError` where it is not below the folder."""
    path = folder / name
    below = not Path(name).is_absolute() and ".." not in Path(name).parts and "\0" not in name
    real = Path(os.path.realpath(folder))
    if not below or not Path(os.path.realpath(path)).is_relative_to(real):
        what = f"'{name[:80]}' leads out of the study's folder"
        raise ConfigError(what, str(folder), "copy it into the folder and write a relative path")
    return path


def add(name_or_path: str | Path) -> Path:
    """As `find`; a study that does not ship is known from then on."""
    folder = find(name_or_path)
    if folder.parent != SHIPPED and folder not in _added():
        os.environ[VARIABLE] = os.pathsep.join(map(str, [*_added(), folder]))
    return folder


def _added() -> list[Path]:
    return [Path(one) for one in os.environ.get(VARIABLE, "").split(os.pathsep) if one]
