"""What papermill gives a notebook."""

from pathlib import Path

import pytest

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.site import parameters


def test_what_papermill_sets_is_told_from_other_cells() -> None:
    cells = ["", "link = '10/10'", "# Parameters\nlinkk = '10/1'\nqdiscs = ['pie']\n", "x = 1"]
    assert parameters.injected(cells) == ["linkk", "qdiscs"]
    assert parameters.injected(["x = 1"]) == []


def test_a_parameter_that_the_notebook_lacks_is_refused_with_the_nearest() -> None:
    known = parameters.defaults(parameters.notebook_called("rrul"))
    known["In"] = ["# Parameters\nlink = '10/1'\nprobe = 'x'\n"]
    parameters.require_kinds("rrul", known)  # `probe` says which runs a figure needs
    known["In"] = ["# Parameters\nlinkk = '10/1'\n"]
    with pytest.raises(DataError, match=r"unknown parameter 'linkk'.*did you mean 'link'"):
        parameters.require_kinds("rrul", known)


def test_paths_begin_in_the_notebooks_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = parameters.notebook_called("rrul").parent
    monkeypatch.chdir(there)
    names = parameters.defaults(there / "rrul.ipynb")
    parameters.require_kinds("rrul", names)
    assert names["data_root"] == "../data"
    monkeypatch.chdir(tmp_path)
    names |= {"In": ["# Parameters\nstudy = '../mine'\n"], "study": "../mine"}
    parameters.require_kinds("rrul", names)
    assert names["data_root"] == str(there.parent / "data")
    assert names["study"] == "../mine"  # begins where papermill was called
