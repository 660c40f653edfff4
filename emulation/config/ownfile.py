"""The file `qdisc/own.yaml`: where it is, and what a figure has to know of the qdiscs in it.

`emulation.config.own` reads it for emulations, and says what is wrong with it. Only this is needed
to draw, so that no figure hangs on the code that builds kernels.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from emulation.errors import ConfigError
from emulation.study.source import Source

FILE = Path(__file__).resolve().parents[2] / "qdisc" / "own.yaml"
VARIABLE = "QDISC_LAB_OWN"  # of the environment: another file; empty: none
MARKERS = "pd<>*h"  # of matplotlib, in the order in which qdiscs without one get them
COLORS = (("#882255", "#d873a8"), ("#999933", "#c8c860"), ("#44AA99", "#6fd0c0"))  # light, dark


@dataclass(frozen=True)
class Drawn:
    """How a qdisc of the file is drawn."""

    color: str  # on white
    dark_color: str  # on a dark page
    marker: str


def path() -> Path | None:
    """The user's file, None where there is none; `ConfigError` where VARIABLE names none."""
    given = os.environ.get(VARIABLE)
    if given is None:
        return FILE if FILE.is_file() else None
    if given and not Path(given).is_file():
        raise ConfigError("there is no such file", given, f"correct the variable {VARIABLE}")
    return Path(given) if given else None


def drawn() -> dict[str, Drawn]:
    """Each qdisc of the file, by name, in its order; `ConfigError` where it cannot be read."""
    file = path()
    return _read(file, file.stat().st_mtime_ns)[1] if file else {}


def names(paper: str) -> list[str]:
    """The qdiscs that join the figures of `paper`; `ConfigError` as `drawn`."""
    file = path()
    papers = _read(file, file.stat().st_mtime_ns)[0] if file else []
    return list(drawn()) if paper in papers else []


@lru_cache(maxsize=4)
def _read(file: Path, changed: int) -> tuple[list[str], dict[str, Drawn]]:
    try:
        content = Source.of(file).value
        papers, qdiscs = list(content["papers"]), dict(content["qdiscs"])
        return papers, {str(name): _drawn(n, one) for n, (name, one) in enumerate(qdiscs.items())}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        todo = f"`emulate check {file}` says what"
        raise ConfigError("is not as it should be", str(file), todo) from error


def _drawn(place: int, section: dict[str, str]) -> Drawn:
    light, dark = COLORS[place % len(COLORS)]
    color = section.get("color", light)
    return Drawn(
        color,
        section.get("dark_color", section.get("color", dark)),
        section.get("marker", MARKERS[place % len(MARKERS)]),
    )
