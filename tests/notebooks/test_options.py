"""An option with a value that there is none of stops a notebook: it would draw something else."""

from __future__ import annotations

import re
from pathlib import Path

import papermill
import pytest

from tests import ROOT

NOTEBOOKS = ROOT / "notebooks"


@pytest.mark.parametrize(
    ("notebook", "parameters", "said"),
    [
        ("rrul", {"window": "load"}, "window: there is no 'load'. It is loaded or full"),
        ("rrul", {"directions": ["up"]}, "directions: there is no 'up'. It is download or upload"),
        (
            "rrul",
            {"link": "100/100"},
            "its figure '2b' is of 10/10, not of 100/100. Write figure = \"2a\"",
        ),
        ("ecn", {"show": "ratios"}, "show: there is no 'ratios'. It is rtt, goodput or ratio"),
        ("timeline", {"view": "mean"}, "view: there is no 'mean'. It is time or means"),
    ],
)
def test_a_misspelled_option_stops_the_notebook(
    notebook: str, parameters: dict[str, object], said: str, tmp_path: Path
) -> None:
    with pytest.raises(papermill.PapermillExecutionError, match=re.escape(said)):
        papermill.execute_notebook(
            str(NOTEBOOKS / f"{notebook}.ipynb"), str(tmp_path / "out.ipynb"), parameters,
            cwd=str(NOTEBOOKS), kernel_name="python3", progress_bar=False,
        )  # fmt: skip
