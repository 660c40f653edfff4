"""qdisc-lab: the emulation, the analysis and the command `emulate` under one name.

In a checkout the packages are folders at its top, and links beside this file lead to them; in a
wheel they are folders here.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    if name == "open_study":
        try:
            from qdisclab.analysis.lab import open_study  # pandas takes a second to import
        except ModuleNotFoundError as error:
            from qdisclab.emulate.dataerrors import missing_package

            raise ImportError(missing_package(error)) from error
        return open_study
    raise AttributeError(f"module 'qdisclab' has no attribute {name!r}")
