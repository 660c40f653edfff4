"""The wheel's tag: it has no code of Python's, and programs of one kind of processor."""

from __future__ import annotations

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Tag(BuildHookInterface[Any]):
    """Names the processor, which pip compares, and glibc 2.34, which the kernels are linked to."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Set the tag."""
        build_data["tag"] = "py3-none-manylinux_2_34_x86_64"
