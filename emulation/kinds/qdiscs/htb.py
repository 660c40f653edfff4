"""Hierarchical token bucket: classes with a rate each, which borrow from their parents."""

from typing import Any

from qdisclab.emulation.kinds.qdiscs.base import QdiscKind, TcOption


def read_back(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, float]]:
    """Return the default class as a number, which tc writes as hexadecimal digits."""
    return {**options, "default": int(str(options.get("default", 0)), 16)}, {}


KIND = QdiscKind(
    "htb",
    {"default": TcOption(int, is_class=True)},
    is_of_rig=True,
    read_back=read_back,
    class_options=("rate", "ceil", "burst", "cburst", "prio", "quantum"),
    class_needs=("rate",),
    of_class=lambda options: {"ceil": options["rate"], **options},
)
