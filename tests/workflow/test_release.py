"""What is released says the same everywhere."""

import re
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from qdisclab.emulation import kernel
from qdisclab.emulation.errors import KernelBuildError, MissingTool
from qdisclab.emulation.host import debs, lock
from qdisclab.emulation.host.debs import Deb
from qdisclab.emulation.kernel import archive
from workflow import bundle, release


def test_descriptions_are_as_generated(root: Path) -> None:
    for name, text in release.describe(root).items():
        assert (root / name).read_text() == text, "python -m workflow.release --describe"


def test_all_have_one_version(root: Path) -> None:
    files = (root / "pyproject.toml", bundle.TEMPLATE / "pyproject.toml")
    projects = [tomllib.loads(path.read_text())["project"] for path in files]
    cited = yaml.safe_load((root / "CITATION.cff").read_text())
    assert {about["version"] for about in (*projects, cited)} == {projects[0]["version"]}
    newest = f"## {cited['version']} ({cited['date-released']})"
    headings = re.findall(r"^## .*", (root / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == newest


def test_the_bundle_has_each_licence_once(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {"a": "(c) A", "b": "(c) B", "c": "(c) A", "d": ""}
    guest = tuple(Deb(name, "1", "0") for name in texts)
    lacking: list[Deb] = []
    sources = SimpleNamespace(fetch=lambda wanted, folder: lacking)
    pinned = SimpleNamespace(guest=guest, sources=lambda: sources)
    monkeypatch.setattr(lock, "load", lambda: pinned)
    monkeypatch.setattr(debs, "copyright", lambda path: texts[path.name[0]])
    parts = [part.strip() for part in bundle.copyrights().split("=" * 80)]
    same = "As another package of the same source."
    assert parts == ["", "a 1, c 1\n\n(c) A", "b 1\n\n(c) B", f"d 1\n\n{same}"]
    lacking += guest
    with pytest.raises(MissingTool, match="no source has 4 packages, the first a 1"):
        bundle.copyrights()


def test_a_kernel_that_nobody_else_gets_is_not_packed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    built = SimpleNamespace(path=tmp_path / "653d/linux")
    monkeypatch.setattr(kernel, "build", lambda series: built)
    monkeypatch.setattr(archive, "pack", lambda built, file: "0" * 64)
    with pytest.raises(KernelBuildError, match=r"653d: is not the one of KERNEL\.toml.*; remove"):
        bundle.fill(tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_bundle_is_under_the_kernels_licence() -> None:
    about = tomllib.loads((bundle.TEMPLATE / "pyproject.toml").read_text())["project"]
    assert about["license"] == "GPL-2.0-only"
    readme = (bundle.TEMPLATE / about["readme"]).read_text()
    assert all(f"linux-source-{series}" in readme for series in bundle.SERIES)
