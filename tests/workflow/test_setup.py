"""Tests of what ./reproduce-all and ./run-tests do before their work (workflow/setup.sh)."""

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests import captured, write_executable

#: What the script itself runs; a machine that lacks all else has these.
BASE = ("bash", "cat", "cp", "cut", "env", "mkdir", "printf", "sha256sum", "sh", "tail", "id")

#: A Python that makes virtual environments, and one in such an environment; both tell what they do.
PYTHON = """#!/bin/sh
echo "python $*" >>"$CALLS"
case "$*" in
    *kernel.find*) exit "${NO_KERNEL:-0}" ;;
    *"import pip"*) exit "${NO_PIP:-0}" ;;
    *"-m venv"*) mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;
    *"-m pip"*) echo "no such network" >&2; exit "${PIP_FAILS:-0}" ;;
esac
"""


class Machine:
    """A folder with `workflow/` in it, and a PATH with only the programs that it was given."""

    def __init__(self, folder: Path, root: Path) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir()
        (folder / "workflow").mkdir()
        for name in ("pyproject.toml", "workflow/setup.sh", "workflow/constraints.txt"):
            shutil.copy(root / name, folder / name)
        for name in BASE:
            found = shutil.which(name)
            assert found is not None
            (self.bin / name).symlink_to(found)

    def add(self, name: str, text: str) -> None:
        write_executable(self.bin / name, text)

    def add_venv(self) -> None:
        (self.folder / ".venv/bin").mkdir(parents=True)
        write_executable(self.folder / ".venv/bin/python", PYTHON)

    def run(self, script: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return captured(
            [self.bin / "bash", "-euo", "pipefail", "-c", f"source workflow/setup.sh; {script}"],
            cwd=self.folder,
            env={"PATH": str(self.bin), "CALLS": str(self.folder / "calls"), **environment},
            stdin=subprocess.DEVNULL,
        )

    @property
    def calls(self) -> list[str]:
        path = self.folder / "calls"
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def machine(tmp_path: Path, root: Path) -> Machine:
    return Machine(tmp_path, root)


def test_what_is_missing_is_named(machine: Machine) -> None:
    named = machine.run("missing_packages").stdout.split()
    assert {"make", "gcc", "flex", "bison", "bc", "patch", "perl"} <= set(named)


def test_the_archive_needs_no_network_and_no_compiler(machine: Machine) -> None:
    for name in ("packages", "wheels"):
        (machine.folder / name).mkdir()
    wheel = machine.folder / "wheels/qdisc_lab_guest-1-py3-none-any.whl"
    wheel.touch()
    machine.add("python3", PYTHON)
    done = machine.run("missing_packages; setup_venv ''; env", NO_KERNEL="1")
    assert "gcc" not in done.stdout, done.stderr
    (line,) = (line for line in machine.calls if "-m pip" in line)
    assert line.endswith(f".[notebooks,workflow] wheels/{wheel.name}")
    assert {
        "PIP_NO_INDEX=1",
        "PIP_FIND_LINKS=wheels",
        f"QDISC_LAB_PACKAGES={machine.folder}/packages",
    } <= set(done.stdout.splitlines())


def test_a_machine_with_the_kernel_needs_no_compiler(machine: Machine) -> None:
    machine.add_venv()
    assert machine.run("missing_packages").stdout == ""
    assert "gcc" in machine.run("missing_packages", NO_KERNEL="1").stdout.split()


@pytest.mark.skipif(os.getuid() == 0, reason="root may install")
def test_an_ordinary_user_is_told_what_to_install(machine: Machine) -> None:
    machine.add("apt-get", "#!/bin/sh\nexit 9\n")
    done = machine.run("setup_packages")
    assert done.returncode == 3
    assert re.search(r"As root: apt-get install --no-install-recommends .*\bflex\b", done.stderr)


def test_without_apt_the_packages_are_named(machine: Machine) -> None:
    done = machine.run("setup_packages")
    assert done.returncode == 3
    assert "there is no apt-get" in done.stderr
    assert "flex" in done.stderr


@pytest.mark.parametrize("status", [0, 1])  # a mirror that has it not, and no mirror in reach
def test_what_some_tests_need_is_installed_where_that_is_possible(
    machine: Machine, status: int
) -> None:
    command = "setup_optional tool 'nothing is tooled' tool-a tool-b"
    done = machine.run(command)
    assert done.returncode == 0
    assert "no tool: nothing is tooled (as root: apt-get install tool-a tool-b)" in done.stdout
    if os.getuid() == 0:
        machine.add("apt-get", f'#!/bin/sh\necho "apt-get $*" >>"$CALLS"\nexit {status}\n')
        done = machine.run(command)
        assert done.returncode == 0
        assert "no tool" in done.stdout
        assert "apt-get -q update" in machine.calls
        assert any(call.endswith("tool-a tool-b") for call in machine.calls) is (status == 0)
    machine.add("tool", "#!/bin/sh\n")
    assert machine.run(command).stdout == ""


def test_packages_are_installed_once(machine: Machine) -> None:
    machine.add("python3", PYTHON)
    first = machine.run("setup_venv ''")
    assert first.returncode == 0, first.stderr
    assert "installing the Python packages" in first.stdout
    (pip,) = [call for call in machine.calls if " -m pip " in call]
    assert "--constraint workflow/constraints.txt --editable ." in pip
    again = machine.run("setup_venv ''")
    assert again.stdout == ""
    assert len([call for call in machine.calls if " -m pip " in call]) == 1
    with (machine.folder / "pyproject.toml").open("a") as file:
        file.write("# changed\n")
    assert "installing" in machine.run("setup_venv ''").stdout


def test_an_environment_without_pip_is_made_anew(machine: Machine) -> None:
    machine.add("python3", PYTHON)
    machine.add_venv()
    done = machine.run("setup_venv ''", NO_PIP="1")
    assert done.returncode == 0, done.stderr
    assert "making .venv" in done.stdout
    assert any("-m venv --clear" in call for call in machine.calls)


def test_an_installation_that_fails_says_why_and_is_not_taken_for_done(machine: Machine) -> None:
    machine.add("python3", PYTHON)
    done = machine.run("setup_venv ''", PIP_FAILS="1")
    assert done.returncode == 1
    assert "no such network" in done.stderr
    assert "results/logs/setup.log; check that this machine reaches pypi.org" in done.stderr
    assert "installing" in machine.run("setup_venv ''").stdout


def test_an_expression_chooses_among_the_tests_with_and_without_a_kernel(
    machine: Machine, root: Path
) -> None:
    for name in ("dirname", "nproc", "readlink", "tee"):
        (machine.bin / name).symlink_to(shutil.which(name) or name)
    shutil.copy(root / "run-tests", machine.folder)
    setup = machine.folder / "workflow/setup.sh"
    calls = "setup_packages() { :; }; setup_optional() { :; }; setup_venv() { :; }"
    setup.write_text(f"{setup.read_text()}\n{calls}; setup_guest() {{ :; }}\n")
    machine.add_venv()
    for name in ("ruff", "mypy", "lint-imports"):
        (machine.folder / ".venv/bin" / name).symlink_to("python")
    done = machine.run("./run-tests -x -m 'not slow'")
    assert done.returncode == 0, done.stderr
    chosen = re.findall(r"-m pytest -m (.+) -n .* -x", "\n".join(machine.calls))
    assert chosen == ["not kernel and (not slow)", "kernel and (not slow)"]


def pins(text: str) -> dict[str, str]:
    """Version by name, lower case and with dashes, of lines `name==version`."""
    found = re.findall(r"^([\w.-]+)==([\w.+!]+)$", text, re.MULTILINE)
    return {re.sub(r"[_.]", "-", name).lower(): version for name, version in found}


def test_constraints_have_the_versions_of_the_project(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    wanted = pins("\n".join(line for group in groups for line in group))
    held = pins((root / "workflow/constraints.txt").read_text())
    assert len(held) > len(wanted) > 20
    assert {name: held.get(name) for name in wanted} == wanted
