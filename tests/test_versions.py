"""One list of versions: environment.yml has exactly those of pyproject.toml."""

import re
import tomllib
from pathlib import Path

import yaml


def pinned(root: Path) -> list[str]:
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    more = project["optional-dependencies"]
    return sorted([*project["dependencies"], *more["notebooks"], *more["workflow"]], key=str.lower)


def test_environment_has_the_versions_of_the_project(root: Path) -> None:
    environment = yaml.safe_load((root / "environment.yml").read_text())
    (pip,) = [entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict)]
    assert [line for line in pip if not line.startswith("--")] == pinned(root)


def test_every_version_is_exact(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    requirements = [line for group in groups for line in group]
    assert len(requirements) > 20
    assert [line for line in requirements if not re.fullmatch(r"[\w.-]+==\d[\w.]*", line)] == []
    names = [line.partition("==")[0] for line in requirements]
    assert sorted(set(names)) == sorted(names)


#: What is run and not imported: notebooks' kernel and page, and flent, which opens the data files.
PROGRAMS = {"flent", "ipykernel", "jupyterlab"}
#: How a package is imported that has another name.
IMPORTED_AS = {"pyelftools": "elftools", "PyYAML": "yaml"}


def test_what_is_pinned_is_imported(root: Path) -> None:
    folders = ("analysis", "emulate", "emulation", "notebooks", "workflow", "studies")
    paths = [path for folder in folders for path in (root / folder).rglob("*.*")]
    text = "\n".join(path.read_text() for path in paths if path.suffix in (".py", ".ipynb"))
    imported = set(re.findall(r'^(?: +"|\s*)(?:from|import) (\w+)', text, re.MULTILINE))
    names = {line.partition("==")[0] for line in pinned(root)} - PROGRAMS
    assert {name for name in names if IMPORTED_AS.get(name, name) not in imported} == set()
