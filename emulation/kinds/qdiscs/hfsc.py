"""Hierarchical fair service curve: classes with guaranteed and with shared rates."""

from typing import Any

from qdisclab.emulation.kinds.qdiscs.base import QdiscKind, TcOption
from qdisclab.emulation.kinds.qdiscs.htb import read_back


def _of_class(options: dict[str, Any]) -> dict[str, Any]:
    """Return the curves of a class; `sc` stands for two of them, and None for none."""
    both = options.get("sc")
    return {name: options.get(name, both) for name in ("rt", "ls")} | {"ul": options.get("ul")}


KIND = QdiscKind(
    "hfsc",
    {"default": TcOption(int, is_class=True)},
    is_of_rig=True,
    read_back=read_back,
    class_options=("sc", "rt", "ls", "ul"),
    class_needs=("sc", "rt", "ls"),
    of_class=_of_class,
)
