"""The layers of pyproject.toml: imports go one way, and one that does not is found."""

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import ROOT, captured


@pytest.fixture
def checkout(root: Path, tmp_path: Path) -> Path:
    for name in ("analysis", "emulate", "emulation", "qdisclab", "workflow"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(root / name, tmp_path / name, ignore=ignored, symlinks=True)
    shutil.copy(root / "pyproject.toml", tmp_path)
    return tmp_path


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"]
    return captured(command, cwd=folder)


#: A module and what it must not import.
WRONG = {
    "analysis/measures/metrics.py": "qdisclab.analysis.site.outputs",
    "analysis/site/pages.py": "qdisclab.emulation.runs.campaign",
    "emulation/model/run.py": "qdisclab.emulation.config.job",
    "emulation/config/catalogue.py": "qdisclab.emulation.machine.vm",
    "emulation/runs/run.py": "workflow.plan",
    "workflow/plan.py": "qdisclab.emulate.commands.list",
}


def test_a_wrong_import_is_found(checkout: Path) -> None:
    assert lint(checkout).returncode == 0
    for file, wrong in WRONG.items():
        with (checkout / file).open("a") as module:
            module.write(f"\n\ndef late():\n    import {wrong}\n    return {wrong}\n")
    found = lint(checkout)
    assert found.returncode == 1
    for file, wrong in WRONG.items():
        name = file.removesuffix(".py").replace("/", ".")
        name = name if name.startswith("workflow") else f"qdisclab.{name}"
        assert f"{name} -> {wrong}" in found.stdout


def test_studies_import_what_is_below_the_command_line_and_no_other_study() -> None:
    """Import-linter follows packages; a study is a folder that is loaded by a name of its own."""
    files = list((ROOT / "studies").rglob("*.py"))
    assert files
    wrong = [
        f"{path.relative_to(ROOT)}: {module}"
        for path in files
        for module in imported(ast.parse(path.read_text()))
        if re.match(r"(qdisclab\.emulate|studies|tests|workflow)\b", module)
    ]
    assert wrong == []


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and not node.level:
            yield str(node.module)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
