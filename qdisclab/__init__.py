"""qdisc-lab as it is installed: everything that it has lies in this folder.

Its packages import each other by their own names (`emulation`, `analysis`), as they do in a
checkout, and so do studies and notebooks. They are importable once this package is.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent

if (_HERE / "emulation").is_dir():  # installed; in a checkout they lie beside this folder
    sys.path.insert(0, str(_HERE))


def main() -> int:
    """Run the command `emulate`; return its exit status."""
    from emulate.cli import main

    return main()


def __getattr__(name: str) -> Any:
    if name == "open_study":
        try:
            from analysis.lab import open_study  # pandas takes a second to import
        except ModuleNotFoundError as error:
            from emulate.commands.dataerrors import missing_package

            raise ImportError(missing_package(error)) from error
        return open_study
    raise AttributeError(f"module 'qdisclab' has no attribute {name!r}")
