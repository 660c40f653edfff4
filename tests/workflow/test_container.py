"""Tests of the container's recipe; `.ci/image` builds the image and tries it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from emulation.kernel.make import TOOLS


@pytest.fixture
def stages(root: Path) -> dict[str, str]:
    """The text of each stage of the Dockerfile, by name; the last one has the name ''."""
    text = (root / "Dockerfile").read_text().replace("\\\n", " ")
    found = re.split(r"^FROM (.+)$", text, flags=re.MULTILINE)[1:]
    names = [(re.findall(r" AS (\w+)", line) or [""])[0] for line in found[::2]]
    return dict(zip(names, found[1::2], strict=True))


@pytest.mark.parametrize("stage", ["kernel", "guest"])
def test_a_stage_has_all_that_it_imports(
    root: Path, stages: dict[str, str], stage: str, tmp_path: Path
) -> None:
    for line in re.findall(r"^COPY (.+)$", stages[stage], re.MULTILINE):
        *sources, target = line.split()
        for source in sources:
            if (root / source).is_dir():
                shutil.copytree(root / source, tmp_path / target, dirs_exist_ok=True)
            else:
                (tmp_path / target).mkdir(parents=True, exist_ok=True)
                shutil.copy(root / source, tmp_path / target)
    done = subprocess.run(
        [sys.executable, "-S", "-E", "-m", "workflow.ready", "--help"],  # no packages, as there
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_the_kernels_stage_installs_its_tools(stages: dict[str, str]) -> None:
    (packages,) = re.findall(r"install --yes --no-install-recommends (.+?) >", stages["kernel"])
    assert sorted(packages.split()) == sorted(package for _, package in TOOLS)


def test_no_compiler_and_no_root_is_shipped(stages: dict[str, str]) -> None:
    last = stages[""]
    assert "apt-get" not in last
    assert re.findall(r"^USER (\w+)$", last, re.MULTILINE) == ["lab"]


def container(root: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What the image's entry does in a `folder` that stands for the image's."""
    text = (root / "workflow/container.sh").read_text().replace("/qdisc-lab", str(folder), 1)
    for name in ("kernel", "rootfs"):
        (folder / "cache/qdisc-lab" / name / "digest").mkdir(parents=True, exist_ok=True)
    reproduce = folder / "reproduce-all"
    reproduce.write_text('#!/bin/sh\necho reproduce-all "$@"; echo "$HOME"\n')
    reproduce.chmod(0o755)
    return subprocess.run(
        ["bash", "-c", text, "container", *arguments],
        env={"PATH": "/usr/bin:/bin", "XDG_CACHE_HOME": str(folder / "cache")},
        capture_output=True,
        text=True,
    )


def test_options_are_those_of_reproduce_all(root: Path, tmp_path: Path) -> None:
    done = container(root, tmp_path, "--emulate", "--scale", "smoke")
    assert done.stdout.splitlines()[0] == "reproduce-all --emulate --scale smoke"
    assert Path(done.stdout.splitlines()[1]).is_dir()  # a home, for a user who has none
    assert container(root, tmp_path).stdout.splitlines()[0] == "reproduce-all"
    assert container(root, tmp_path, "echo", "hello").stdout == "hello\n"


def test_results_that_cannot_be_written_are_told(root: Path, tmp_path: Path) -> None:
    (tmp_path / "results").write_text("no folder")
    done = container(root, tmp_path)
    assert done.returncode == 1
    assert "cannot be written by user" in done.stderr
