"""Traffic: the programs of a run.

A kind is a module with a subclass of `base.TrafficSection`, here or in a study's folder `kinds`.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from qdisclab.emulation.kinds.sections import Sections
from qdisclab.emulation.kinds.traffic.base import TrafficSection

KINDS = Sections("traffic", __name__, TrafficSection)  # type: ignore[type-abstract]


def guest_files(tool: str, traffic: Mapping[str, Any]) -> Iterator[str | Path]:
    """Yield the files that a guest needs for the `traffic` of its job, which `tool` sends.

    They are names in `emulation/guest`, or paths of a study's files. Raises `KeyError` where no
    kind of traffic has the tool.
    """
    for kind in KINDS.values():
        if tool in kind.tools:
            yield from kind.guest_files(tool, traffic)
            return
    raise KeyError(tool)


def tools() -> list[str]:
    """Return the names of all tools that send."""
    return [tool for kind in KINDS.values() for tool in kind.tools]
