"""Which files a notebook or a module is made of."""

import json
from pathlib import Path

import grimp
import pytest

from qdisclab.analysis import sources
from qdisclab.analysis.errors import DataError
from tests import ROOT

#: Module -> what it imports.
GRAPH = {
    "qdisclab.analysis": [],
    "qdisclab.analysis.one": [
        "qdisclab.analysis.two",
        "qdisclab.emulation.config",
        "qdisclab.emulation.captures.flow",
    ],
    "qdisclab.analysis.two": ["qdisclab.analysis.one"],
    "qdisclab.analysis.three": [],
    "qdisclab.emulation": [],
    "qdisclab.emulation.config": ["qdisclab.emulation.kernel", "qdisclab.emulation.model"],
    "qdisclab.emulation.kernel": [],
    "qdisclab.emulation.model": [],
    "qdisclab.emulation.captures": [],
    "qdisclab.emulation.captures.flow": ["qdisclab.emulation.captures.frame"],
    "qdisclab.emulation.captures.frame": ["qdisclab.emulation.kernel"],
}


@pytest.fixture
def graph(monkeypatch: pytest.MonkeyPatch) -> None:
    made = grimp.ImportGraph()
    for module in GRAPH:
        made.add_module(module)
    for module, imported in GRAPH.items():
        for name in imported:
            made.add_import(importer=module, imported=name)
    monkeypatch.setattr(sources, "_graph", lambda: made)
    monkeypatch.setattr(sources, "_modules", sources._modules.__wrapped__)


def notebook(path: Path, code: str) -> Path:
    path.write_text(json.dumps({"cells": [{"cell_type": "code", "source": code}]}))
    return path


def names(found: list[Path]) -> set[str]:
    return {".".join(path.with_suffix("").parts) for path in found if path.suffix == ".py"}


@pytest.mark.usefixtures("graph")
def test_imports_are_followed_but_into_what_only_gives_names(tmp_path: Path) -> None:
    mine = notebook(tmp_path / "n.ipynb", "%matplotlib inline\nfrom qdisclab.analysis import one\n")
    found = sources.closure([mine])
    assert mine in found
    assert names(found) == {
        "analysis.__init__", "analysis.one", "analysis.two", "emulation.__init__",
        "emulation.config.__init__", "emulation.model.__init__", "emulation.captures.__init__",
        "emulation.captures.flow", "emulation.captures.frame",
    }  # fmt: skip
    left = names(sources.closure([mine], without=["qdisclab.analysis.one"]))
    assert left == {"analysis.__init__"}


def test_a_change_of_a_plot_makes_no_number_stale() -> None:
    measure = sources.closure([ROOT / "analysis/measures/rrul.py"], root=ROOT)
    assert ROOT / "emulation/model/run.py" in measure
    assert ROOT / "analysis/runs/flentfile.py" in measure
    assert not [path for path in measure if path.parts[-2] in ("plots", "site")]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("junk", "is no notebook"),
        ('{"cells": [{"source": []}]}', "is no notebook"),
        ('{"cells": [{"cell_type": "code", "source": "if"}]}', "is not Python"),
        ('{"cells": [{"cell_type": "code", "source": "%matplotlib inline"}]}', "names no kernel"),
    ],
)
def test_what_is_no_notebook_is_refused(tmp_path: Path, text: str, wrong: str) -> None:
    place = tmp_path / "mine.ipynb"
    place.write_text(text)
    with pytest.raises(DataError, match=f"{place}: {wrong}"):
        sources.check_notebook(place)
