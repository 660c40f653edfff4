"""What the tests share: the repository's root, the shipped experiment, the guest's modules."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from emulation import ownfile, speed
from emulation.config import experiment
from emulation.model import Experiment

os.environ[ownfile.VARIABLE] = ""  # tests are about what is shipped, whatever qdisc/own.yaml has


@pytest.fixture(autouse=True)
def own_speed(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """What tests run, made up or under load, is not remembered as this machine's speed."""
    path = tmp_path_factory.mktemp("speed") / "runs.jsonl"
    monkeypatch.setattr(speed, "_path", lambda: path)


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return Path(__file__).parent.parent


@pytest.fixture(scope="session")
def rrul() -> Experiment:
    """The shipped experiment gbw2015/rrul."""
    return experiment("gbw2015/rrul")


@pytest.fixture(scope="session")
def gbw2015(root: Path) -> Path:
    """The shipped experiment file."""
    return root / "emulation" / "experiments" / "gbw2015.yaml"


@pytest.fixture
def guest_modules(root: Path) -> Iterator[None]:
    """The guest's modules can be imported, with nothing in Mininet's place."""
    absent = ("mininet", "mininet.link", "mininet.net", "mininet.node")
    path = [str(root / "emulation" / "guest"), *sys.path]
    with (
        mock.patch.dict(sys.modules, {name: mock.MagicMock() for name in absent}),
        mock.patch.object(sys, "path", path),
    ):
        for name in ("rig", "traffic"):
            sys.modules.pop(name, None)
        yield
