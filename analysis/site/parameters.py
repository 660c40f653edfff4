"""The parameters of the repository's notebooks: what the cell of that tag gives each of them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from analysis.errors import require_kind
from analysis.runs.dataset import NOTEBOOKS


def defaults(notebook: Path) -> dict[str, Any]:
    """What the parameters of a notebook are where nobody gives others."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    (cell,) = (one for one in cells if "parameters" in one["metadata"].get("tags", []))
    found: dict[str, Any] = {}
    exec("".join(cell["source"]), {}, found)  # noqa: S102 - what the notebook itself executes
    return found


def require_kinds(notebook: str, given: Mapping[str, object]) -> None:
    """Raise DataError where `given`, the names of a notebook that runs, has a parameter of another
    kind than the notebook of that name in `notebooks/` has it."""
    for name, default in defaults(NOTEBOOKS / f"{notebook}.ipynb").items():
        require_kind(name, given[name], default)
