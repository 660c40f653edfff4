"""One list of versions: environment.yml has exactly those of pyproject.toml."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from ruamel.yaml import YAML


def pinned(root: Path) -> list[str]:
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    return list(project["dependencies"])


def test_environment_has_the_versions_of_the_project(root: Path) -> None:
    environment = YAML(typ="safe").load((root / "environment.yml").read_text())
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
