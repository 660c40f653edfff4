"""The file `qdisc/own.yaml`: where it is, and what figures need of the qdiscs in it.

`emulation.config.own` reads it for emulations, and says what is wrong with it. Figures need only
this module, so that none depends on the code that builds kernels.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from qdisclab.emulation import errors, project
from qdisclab.emulation.host.cache import until_changed
from qdisclab.emulation.study.source import ParsedFile

FILE = project.folder("qdisc") / "own.yaml"
VARIABLE = "QDISC_LAB_OWN"  # of the environment: the path of another file; empty for no file
MARKERS = "pd<>*h"  # of matplotlib, in the order in which qdiscs without a marker get them
COLORS = (("#882255", "#d873a8"), ("#999933", "#c8c860"), ("#44AA99", "#6fd0c0"))  # light, dark


@dataclass(frozen=True)
class Drawn:
    """How a qdisc of the file is drawn."""

    color: str  # on white
    dark_color: str | None  # on a dark page; None where the file gives the other alone
    marker: str


def path() -> Path | None:
    """Return the user's file, if there is one; raise `ConfigError` where VARIABLE names none."""
    if (text := os.environ.get(VARIABLE)) is None:
        return FILE if FILE.is_file() else None
    if text and not Path(text).is_file():
        raise errors.ConfigError("there is no such file", text, f"correct the variable {VARIABLE}")
    return Path(text) if text else None


def drawn() -> dict[str, Drawn]:
    """Map the qdiscs of the file, in its order, to how they are drawn; `ConfigError` as `_read`."""
    file = path()
    return _read(file)[1] if file else {}


def names(paper: str) -> list[str]:
    """Return the qdiscs that join the figures of `paper`; `ConfigError` as `drawn`."""
    file = path()
    papers = _read(file)[0] if file else []
    return list(drawn()) if paper in papers else []


@until_changed
def _read(file: Path) -> tuple[list[str], dict[str, Drawn]]:
    try:
        content = ParsedFile.of(file).value
        papers, qdiscs = list(content["papers"]), dict(content.get("qdiscs", {}))
        styles = (_drawn(place, section) for place, section in enumerate(qdiscs.values()))
        return papers, dict(zip(map(str, qdiscs), styles, strict=True))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        todo = f"see what `emulate check {file}` says"
        raise errors.ConfigError("is not valid", str(file), todo) from error


def _drawn(place: int, section: dict[str, str]) -> Drawn:
    light, dark = COLORS[place % len(COLORS)]
    return Drawn(
        section.get("color", light),
        section.get("dark_color", None if "color" in section else dark),
        section.get("marker", MARKERS[place % len(MARKERS)]),
    )
