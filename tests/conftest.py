"""What the tests share: the repository's root and the shipped experiment."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulation.config import experiment
from emulation.model import Experiment


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
