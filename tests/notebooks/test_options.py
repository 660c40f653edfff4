"""An option with a value that there is none of stops a notebook: it would draw something else."""

import re
from pathlib import Path

import nbformat
import papermill
import pytest

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.site.execute import execute
from qdisclab.analysis.site.figurefile import read_figure
from qdisclab.analysis.site.parameters import defaults, notebook_called, require_kinds
from qdisclab.emulation.study import template
from tests import ROOT

NOTEBOOKS = [*ROOT.glob("notebooks/*.ipynb"), *ROOT.glob("studies/*/notebooks/*.ipynb")]


@pytest.mark.parametrize(
    ("notebook", "parameters", "said"),
    [
        ("rrul", {"window": "load"}, "window: unknown value 'load'. did you mean 'loaded'"),
        ("rrul", {"directions": ["up"]}, "directions: unknown value 'up'. valid: download, upload"),
        ("rrul", {"link": "100/100"}, "its figure '2b' is of 10/10, not of 100/100. Write figure"),
        ("ecn", {"show": "ratios"}, "show: unknown value 'ratios'. did you mean 'ratio'"),
        ("timeline", {"view": "mean"}, "view: unknown value 'mean'. did you mean 'means'"),
        ("dynamic", {"seed": 77}, "seed: unknown value '77'. valid: 1"),
        ("transient", {"until_s": 0}, "until_s: is 0, not a number above 0"),
        ("sensitivity", {"quantity": "up_rtt"}, "no flows the other way. Take a run with traffic"),
        ("cellular", {"flows": "up and down"}, "flows: unknown value 'up and down'. valid: both"),
        ("marks", {"experiments": {"16": "ecn_10_16"}}, "experiments: has '16'. Write uploads"),
        ("spread", {"ellipse_ms": [40]}, "ellipse_ms: is [40]. Write edge and median"),
        ("modem", {"upstream_mbit_s": -2}, "upstream_mbit_s: is -2, not a number above 0"),
        ("sensitivity", {"quantity": "rrt"}, "quantity: unknown value 'rrt'. did you mean 'rtt'"),
        ("sensitivity", {"link": "10/1"}, "; there is link '10/10'. Emulate"),
        ("ablation", {"eras": "switch"}, "eras: unknown value 'switch'. did you mean 'switches'"),
        ("loss", {"path": "wire"}, "path: unknown value 'wire'. did you mean 'wired'"),
        ("loss", {"path": "wifi"}, "path: is 'wifi', and the runs of voip_1up are 'wired'"),
        ("rrul", {"qdiscs": ["codel", "cdoel"]}, "unknown qdisc 'cdoel'. did you mean 'codel'"),
        ("timeline", {"experiments": {"a": "bbr", "b": "brb"}}, "did you mean 'bbr'"),
        (
            "noise",
            {"quantities": []},
            "quantities: is [], not a list of values. Choose from induced_",
        ),
        ("ablation", {"quantities": ["latency"]}, "quantities: unknown value 'latency'"),
        ("edge", {"qdiscs": "codel"}, "qdiscs: is 'codel', not a list of texts"),
        ("web", {"eras": []}, "eras: is [], not a list of texts"),
        ("voip", {"until_ms": -3}, "until_ms: is -3, not a number above 0"),
        ("facts", {"study": 5}, "study: is 5, not a text. Write e.g. study = '..'"),
        ("timeline", {"row": "{link}"}, "row: is '{link}', of which no name can be made ('link')"),
        ("dynamic", {"buffers": {"83": "83"}}, "buffers: unknown value '83'. did you mean '830'"),
        ("rrul", {"directions": []}, "directions: is [], not a list of values"),
        ("readings", {"experiments": []}, "experiments: is [], not a list of values"),
        ("wifi_rigs", {"quantities": []}, "quantities: is [], not a list of values"),
        ("cells", {"quantities": ["rtt_ms"]}, "quantities: unknown value 'rtt_ms'. valid: l4s_"),
        ("years", {"quantities": ["latency"]}, "quantities: unknown value 'latency'. "),
        ("modem", {"upstream_mbit_s": 200}, "upstream_mbit_s: is 200, not below ethernet_mbit_s"),
        ("distance", {"campaigns": []}, "campaigns: is [], not a list of texts"),
        ("calibration", {"paths": {}}, "paths: is [], not a list of values"),
        (
            "superpackets",
            {"experiments": ["single_paced"]},
            "experiments: have no runs of large and superpackets packets",
        ),
        (
            "battling_settings",
            {"qdiscs": ["codel"]},
            "qdiscs: tell none of the abstract's quantities. Take pfifo_fast or fq_codel",
        ),
        ("years", {"linux": ["3.14"]}, "linux: has not one value per era. Give one to each of"),
    ],
)
def test_a_misspelled_option_stops_the_notebook(
    notebook: str, parameters: dict[str, object], said: str, tmp_path: Path, kernels: str
) -> None:
    path = notebook_called(notebook)
    with pytest.raises(papermill.PapermillExecutionError, match=re.escape(said)):
        papermill.execute_notebook(
            str(path), str(tmp_path / "out.ipynb"), parameters,
            cwd=str(path.parent), kernel_name="python3", progress_bar=False,
            kernel_manager_class=kernels,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("notebook", "name", "value", "said"),
    [
        ("facts", "table", 5, "is 5, not a text"),
        ("rrul", "published_values", 5, "is 5, not a text"),
        ("wifi_rigs", "published_values", None, "is None, not a text"),
        (
            "timeline",
            "experiments",
            "bogus",
            "is 'bogus', not a mapping to texts. Write e.g. exper",
        ),
        ("timeline", "probe", 5, "is 5, not a text or list of texts"),
        ("timeline", "row", 5, "is 5, not a text"),
        ("window", "moments_ms", 5, "is 5, not a list of numbers. Write e.g. moments_ms = [232]"),
        ("window", "moments_ms", [5, "x"], "is [5, 'x'], not a list of numbers"),
        ("dynamic", "buffers", ["830"], "is ['830'], not a mapping to texts"),
        ("isolation", "seed", True, "is True, not a number. Write e.g. seed = 1"),
        ("voip", "claims", "5.2.1", "is '5.2.1', not a list of texts"),
        ("boxes", "qdiscs", {"low": "red"}, "not a list of texts or mapping to lists of texts"),
        ("edge", "links", [1.5], "is [1.5], not a list of texts"),
    ],
)
def test_a_parameter_has_the_kind_of_its_default(
    notebook: str, name: str, value: object, said: str
) -> None:
    given = {**defaults(notebook_called(notebook)), name: value}
    with pytest.raises(DataError, match=re.escape(f"{name}: ") + ".*" + re.escape(said)):
        require_kinds(notebook, given)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_looks_at_the_kinds_of_its_own_parameters(path: Path) -> None:
    require_kinds(path.stem, defaults(path))
    called = f'require_kinds("{path.stem}", globals())'
    code = [cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]
    assert called in code[1]


def test_a_parameter_that_a_notebook_does_not_have_is_refused(tmp_path: Path) -> None:
    template.make(tmp_path / "own")
    path = tmp_path / "own/figures/latency.yaml"
    path.write_text(path.read_text().rstrip() + "\n  windwo: loaded\n")
    said = "unknown parameter 'windwo' of the notebook. did you mean 'window'"
    with pytest.raises(DataError, match=said):
        execute(read_figure(path), tmp_path / "data", tmp_path / "results")
