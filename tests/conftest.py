"""What the tests share: the repository's root, the shipped experiment, the guest's modules."""

import hashlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import pytest

from qdisclab.emulation import kernel
from qdisclab.emulation.config import ownfile
from qdisclab.emulation.config.catalogue import experiment, load
from qdisclab.emulation.errors import ConfigError
from qdisclab.emulation.machine import rootfs
from qdisclab.emulation.model.run import Experiment
from qdisclab.emulation.runs import speed
from qdisclab.emulation.study import studies, trust
from tests import ROOT
from workflow import steps

os.environ[ownfile.VARIABLE] = ""  # tests are about what is shipped, whatever qdisc/own.yaml has


@pytest.fixture(autouse=True)
def own_studies(monkeypatch: pytest.MonkeyPatch) -> None:
    """A study that a test adds is known to that test alone."""
    monkeypatch.setenv(studies.VARIABLE, os.environ.get(studies.VARIABLE, ""))


@pytest.fixture(autouse=True)
def own_trust(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Studies that tests write are trusted, but for those of test_trust."""
    monkeypatch.setenv(trust.VARIABLE, str(tmp_path_factory.getbasetemp().parent))


@pytest.fixture(autouse=True)
def own_speed(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """What tests run, made up or under load, is not remembered as this machine's speed."""
    path = tmp_path_factory.mktemp("speed") / "runs.json"
    monkeypatch.setattr(speed, "_path", lambda: path)


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def rrul() -> Experiment:
    """The shipped experiment gbw2015/rrul."""
    return experiment("gbw2015/rrul")


@pytest.fixture(scope="session")
def gbw2015(root: Path) -> Path:
    """The shipped experiment file."""
    return root / "studies" / "gbw2015" / "study.yaml"


@pytest.fixture(scope="session")
def built() -> kernel.Kernel:
    """The kernel, from the cache where it is there."""
    return kernel.build()


@pytest.fixture(scope="session")
def guest_root() -> rootfs.RootFs:
    """The guest's root file system, from the cache where it is there."""
    return rootfs.build()


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """An empty folder for the study `mine`."""
    folder = tmp_path / "mine"
    folder.mkdir()
    return folder


@pytest.fixture
def first_of(study: Path) -> Callable[[str], Experiment]:
    """What reads the text of a study file in the folder `study`, and returns its experiment."""

    def read(text: str) -> Experiment:
        (study / "study.yaml").write_text(text)
        (experiment,) = load(study).experiments
        return experiment

    return read


@pytest.fixture
def refusal(study: Path) -> Callable[[str], list[str]]:
    """What reads a text that is refused; each line of the refusal without the file's name."""

    def read(text: str) -> list[str]:
        path = study / "study.yaml"
        path.write_text(text)
        with pytest.raises(ConfigError) as caught:
            load(study)
        assert caught.value.exit_status == 2
        lines = str(caught.value).splitlines()
        assert all(line.startswith(f"{path}:") for line in lines), lines
        return [line.removeprefix(f"{path}:") for line in lines]

    return read


@pytest.fixture
def own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """What makes a text the file of the user's own qdiscs, and returns its path."""

    def write(text: str) -> Path:
        path = tmp_path / "own.yaml"
        path.write_text(text)
        monkeypatch.setenv(ownfile.VARIABLE, str(path))
        return path

    return write


@pytest.fixture
def guest_modules() -> Iterator[None]:
    """The guest's modules can be imported, with nothing in Mininet's place."""
    absent = ("mininet", "mininet.link", "mininet.net", "mininet.node")
    with mock.patch.dict(sys.modules, {name: mock.MagicMock() for name in absent}):
        for name in ("rig", "traffic"):
            sys.modules.pop(name, None)
        yield


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The address of who serves steps, of which only tests with `kernels` know."""
    with steps.serving():
        yield os.environ.pop(steps.ADDRESS)


@pytest.fixture
def kernels(server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The manager of kernels for notebooks that have imported already what figures need."""
    monkeypatch.setenv(steps.ADDRESS, server)
    return steps.KERNELS


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """A folder with the commands and all that they read, whose results are its own."""
    place, venv = tmp_path / "scratch", Path(sys.prefix)
    if not (venv / "pyvenv.cfg").is_file():
        pytest.skip("this Python is of no virtual environment")
    for folder, inside in ((ROOT, place), (venv, place / ".venv")):
        inside.mkdir()
        for path in folder.glob("[!.]*"):
            if path.name != "reproduce-all" and not path.name.startswith(("results", "installed")):
                (inside / path.name).symlink_to(path)
    inputs = [(ROOT / name).read_bytes() for name in ("pyproject.toml", "workflow/constraints.txt")]
    stamp = hashlib.sha256(b"".join(inputs)).hexdigest()
    (place / ".venv/installed").write_text(stamp)  # nothing is to be installed from here
    (place / "tmp").mkdir()
    shutil.copy(ROOT / "reproduce-all", place)
    return place
