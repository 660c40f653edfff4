"""Configurations of the workflow, and runs for its plans, as tests need them."""

from pathlib import Path
from typing import Any

import yaml

from qdisclab.emulation.runs.index import RunFile
from tests import ROOT
from tests.data import provenances


def config(**changes: Any) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "workflow/config.yaml").read_text())
    return {**loaded, **changes}


def run_of(data: Path, link: str = "10/10", era: str = "modern") -> RunFile:
    """Write a run of gbw2015/rrul with CoDel, whose data file is empty."""
    run = provenances.made_up(data, "gbw2015", "rrul", era, link)
    run.data.touch()
    return run
