"""The parameters of notebooks: what the cell of that tag gives each of them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from analysis.errors import DataError, require_kind
from analysis.runs.dataset import NOTEBOOKS
from emulation.study import studies


def defaults(notebook: Path) -> dict[str, Any]:
    """Return what the parameters of a notebook are where nobody gives others."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    (cell,) = (cell for cell in cells if "parameters" in cell["metadata"].get("tags", []))
    values: dict[str, Any] = {}
    exec("".join(cell["source"]), {}, values)  # noqa: S102 - what the notebook itself executes
    return values


def notebook_called(name: str, study: object = None) -> Path:
    """Return the notebook of that name: of a study's folder, of the repository or of a shipped
    study. Raises DataError where there is none."""
    file = f"{name}.ipynb"
    folders = [Path(str(study), "notebooks"), NOTEBOOKS, *studies.SHIPPED.glob("*/notebooks")]
    for folder in folders:
        if (folder / file).is_file():
            return folder / file
    raise DataError.of(folders[0], f"has no {file}", "Write the notebook's own name")


def require_kinds(notebook: str, given: Mapping[str, object]) -> None:
    """Raise DataError where `given`, the names of a notebook that runs, has a parameter of another
    kind than the notebook of that name has it."""
    for name, default in defaults(notebook_called(notebook, given.get("study"))).items():
        require_kind(name, given[name], default)
