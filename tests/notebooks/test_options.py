"""An option with a value that there is none of stops a notebook: it would draw something else."""

from __future__ import annotations

import re
from pathlib import Path

import papermill
import pytest

from analysis.errors import DataError
from analysis.site.execute import execute
from analysis.site.figurefile import read_figure
from emulation.study import template
from tests import ROOT

NOTEBOOKS = ROOT / "notebooks"


@pytest.mark.parametrize(
    ("notebook", "parameters", "said"),
    [
        (
            "rrul",
            {"window": "load"},
            "window: unknown value 'load'. did you mean 'loaded'",
        ),
        ("rrul", {"directions": ["up"]}, "directions: unknown value 'up'. valid: download, upload"),
        (
            "rrul",
            {"link": "100/100"},
            "its figure '2b' is of 10/10, not of 100/100. Write figure = \"2a\"",
        ),
        (
            "ecn",
            {"show": "ratios"},
            "show: unknown value 'ratios'. did you mean 'ratio'",
        ),
        (
            "timeline",
            {"view": "mean"},
            "view: unknown value 'mean'. did you mean 'means'",
        ),
        ("dynamic", {"seed": 77}, "seed: unknown value '77'. valid: 1"),
        ("transient", {"until_s": 0}, "until_s: is 0, no number above 0"),
        ("modem", {"upstream_mbit_s": "many"}, "upstream_mbit_s: is 'many', no number above 0"),
        ("sensitivity", {"quantity": "rrt"}, "quantity: unknown value 'rrt'. did you mean 'rtt'"),
        ("sensitivity", {"link": "10/1"}, "no run of 10/1"),
        ("ablation", {"eras": "switch"}, "eras: unknown value 'switch'. did you mean 'switches'"),
        ("loss", {"path": "wire"}, "path: unknown value 'wire'. did you mean 'wired'"),
        ("noise", {"quantities": []}, "quantities: is [], no list of values. Choose from induced_"),
        ("ablation", {"quantities": ["latency"]}, "quantities: unknown value 'latency'"),
        ("edge", {"qdiscs": "codel"}, "qdiscs: is 'codel', no list of texts"),
        ("web", {"eras": []}, "eras: is [], no list of texts"),
        ("voip", {"until_ms": -3}, "until_ms: is -3, no number above 0"),
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


def test_a_parameter_that_a_notebook_does_not_have_is_refused(tmp_path: Path) -> None:
    template.make(tmp_path / "own")
    path = tmp_path / "own/figures/latency.yaml"
    path.write_text(path.read_text().rstrip() + "\n  windwo: loaded\n")
    said = "unknown parameter 'windwo' of the notebook. did you mean 'window'"
    with pytest.raises(DataError, match=said):
        execute(read_figure(path), tmp_path, tmp_path / "results")
