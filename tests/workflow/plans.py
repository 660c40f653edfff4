"""Configurations of the workflow, and runs for its plans, as tests need them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tests import ROOT


def config(**changes: Any) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "workflow/config.yaml").read_text())
    return {**loaded, **changes}


def touch_run(data: Path, run: str) -> None:
    for end in (".json", ".flent.gz"):
        path = data / f"{run}{end}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
