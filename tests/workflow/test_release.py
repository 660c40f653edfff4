"""What is released says the same everywhere."""

from __future__ import annotations

import tomllib
from pathlib import Path

import yaml

from workflow import bundle, release


def test_descriptions_are_as_generated(root: Path) -> None:
    for name, text in release.describe(root).items():
        assert (root / name).read_text() == text, "python -m workflow.release --describe"


def test_all_have_one_version(root: Path) -> None:
    files = (root / "pyproject.toml", bundle.TEMPLATE / "pyproject.toml")
    projects = [tomllib.loads(path.read_text())["project"] for path in files]
    cited = yaml.safe_load((root / "CITATION.cff").read_text())
    assert {about["version"] for about in (*projects, cited)} == {projects[0]["version"]}


def test_the_bundle_is_under_the_kernels_licence() -> None:
    about = tomllib.loads((bundle.TEMPLATE / "pyproject.toml").read_text())["project"]
    assert about["license"] == "GPL-2.0-only"
    readme = (bundle.TEMPLATE / about["readme"]).read_text()
    assert all(f"linux-source-{series}" in readme for series in bundle.SERIES)
