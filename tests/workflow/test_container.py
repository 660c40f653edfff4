"""Tests of the container's recipe; `.ci/image` builds the image and tries it."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from qdisclab.emulation import kernel
from qdisclab.emulation.errors import KernelBuildError, MissingTool
from qdisclab.emulation.kernel import module
from qdisclab.emulation.kernel.make import TOOLS
from qdisclab.emulation.model.series import DEFAULT_KERNEL
from tests import captured, write_executable
from workflow import bundle, ready


@pytest.fixture
def stages(root: Path) -> dict[str, str]:
    """The text of each stage of the Dockerfile, by name; the last one has the name ''."""
    text = (root / "Dockerfile").read_text().replace("\\\n", " ")
    found = re.split(r"^FROM (.+)$", text, flags=re.MULTILINE)[1:]
    names = [(re.findall(r" AS (\w+)", line) or [""])[0] for line in found[::2]]
    return dict(zip(names, found[1::2], strict=True))


#: Stage -> what it imports, the modules' also when it asks for a kind of qdisc; that one has what
#: the kernel's has, too.
IMPORTS = {
    "kernel": "import workflow.ready",
    "modules": "import qdisclab.emulation.kernel.module as used; len(used.qdiscs.KINDS)",
    "guest": "import workflow.ready",
}


@pytest.mark.parametrize("stage", IMPORTS)
def test_a_stage_has_all_that_it_imports(
    root: Path, stages: dict[str, str], stage: str, tmp_path: Path
) -> None:
    text = stages["kernel"] * (stage == "modules") + stages[stage]
    for line in re.findall(r"^COPY (.+)$", text, re.MULTILINE):
        *sources, target = line.split()
        for source in sources:
            if (root / source).is_dir():
                shutil.copytree(root / source, tmp_path / target, True, dirs_exist_ok=True)
            else:
                (tmp_path / target).mkdir(parents=True, exist_ok=True)
                shutil.copy(root / source, tmp_path / target)
    without_packages = [sys.executable, "-S", "-E", "-c", IMPORTS[stage]]  # as there
    done = captured(without_packages, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_kernels_stage_installs_its_tools(stages: dict[str, str]) -> None:
    (packages,) = re.findall(r"install --yes --no-install-recommends (.+?) >", stages["kernel"])
    assert sorted(packages.split()) == sorted(package for _, package in TOOLS)


def test_no_compiler_and_no_root_is_shipped_but_all_modules(stages: dict[str, str]) -> None:
    last = stages[""]
    assert "COPY --from=modules /cache/qdisc-lab/module /qdisc-lab/cache/qdisc-lab/module" in last
    assert "apt-get" not in last
    assert re.findall(r"^USER (\w+)$", last, re.MULTILINE) == ["lab"]


def container(root: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What the image's entry does in a `folder` that stands for the image's."""
    text = (root / "workflow/container.sh").read_text().replace("/qdisc-lab", str(folder), 1)
    for name in ("kernel", "module", "rootfs"):
        (folder / "cache/qdisc-lab" / name / "digest").mkdir(parents=True, exist_ok=True)
    write_executable(folder / "reproduce-all", 'echo reproduce-all "$@"; echo "$HOME"')
    return captured(
        ["bash", "-c", text, "container", *arguments],
        env={"PATH": "/usr/bin:/bin", "XDG_CACHE_HOME": str(folder / "cache")},
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


def test_the_image_has_the_kernels_of_the_bundle(root: Path, stages: dict[str, str]) -> None:
    named = {path.name.rpartition("@linux-")[2] for path in root.glob("data/*/*@linux-*")}
    series = set(bundle.SERIES)
    assert {DEFAULT_KERNEL, *named} - series == {"6.1", "7.3"}  # few runs, as the page says
    for stage in ("kernel", "modules"):
        (built,) = re.findall(r'^ARG SERIES="(.+)"$', stages[stage], re.MULTILINE)
        assert set(built.split()) == series
    (built,) = re.findall(r"for series in (.+); do", (root / "apptainer.def").read_text())
    assert set(built.split()) == series


@pytest.mark.kernel
@pytest.mark.parametrize("error", [KernelBuildError, MissingTool])
def test_modules_that_do_not_fit_another_kernel_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: type[Exception]
) -> None:
    def build(kernel: kernel.Kernel, folder: Path, is_ours: bool = False) -> Any:
        if folder.name == "quickack":
            raise error("the module does not build")
        return SimpleNamespace(digest="0")

    monkeypatch.setattr(module, "build", build)
    with pytest.raises(error):
        ready.identity("modules", None)
    monkeypatch.setattr(ready, "DEFAULT_KERNEL", "another")
    found = ready.identity("modules", DEFAULT_KERNEL)
    assert "wifi" in found and "quickack" not in found
    assert "quickack: the module does not build" in capsys.readouterr().err


@pytest.mark.kernel
def test_modules_that_are_ready_need_no_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of the product's, as in an image: its last stage has no gcc."""
    found = ready.identity("modules", None)
    assert set(found) == {path.name for path in module.SOURCES.iterdir() if path.is_dir()}
    built = kernel.build()
    monkeypatch.setenv("PATH", str(tmp_path))
    for folder, digest in found.items():
        assert module.build(built, module.SOURCES / folder).digest == digest


def test_apptainer_copies_builds_and_runs_what_there_is(root: Path) -> None:
    text = (root / "apptainer.def").read_text()
    sections = dict(re.findall(r"^%(\w+)\n((?:(?: .*)?\n)+)", text, re.MULTILINE))
    assert list(sections) == ["files", "post", "environment", "runscript"]
    for name in ("post", "environment", "runscript"):
        checked = subprocess.run(["sh", "-n"], input=sections[name], text=True, check=False)
        assert checked.returncode == 0
    (commands,) = re.findall(r"bash -euc '(.+?)'", sections["post"], re.DOTALL)
    setup = (root / "workflow/setup.sh").read_text()
    functions = re.findall(r"^ *(setup_\w+)", commands, re.MULTILINE)
    assert functions == ["setup_packages", "setup_venv", "setup_guest"]
    assert all(f"\n{function}() {{" in setup for function in functions)
    assert "-m workflow.ready modules" in commands
    assert sections["runscript"].split()[1] == "/qdisc-lab/workflow/container.sh"
    dockerfile = (root / "Dockerfile").read_text()
    assert f"BASE={re.findall('^From: (.+)$', text, re.MULTILINE)[0]}\n" in dockerfile
