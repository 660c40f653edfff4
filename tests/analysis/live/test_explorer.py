"""The panel of Explore: a first choice that cannot be, which a notebook's parameters may be."""

from pathlib import Path

import pytest

from qdisclab.analysis.live.explorer import Explorer
from qdisclab.emulation.config.explore import Choice
from qdisclab.emulation.errors import ConfigError
from qdisclab.emulation.model.units import Duration
from tests import ROOT


@pytest.mark.parametrize(
    ("choice", "said"), [({"qdisc": "coddel"}, "did you mean"), ({"era": "2013x"}, "unknown era")]
)
def test_what_cannot_be_chosen_is_said_in_the_panel(
    choice: dict[str, str], said: str, tmp_path: Path
) -> None:
    panel = Explorer(ROOT / "data", tmp_path, Choice("gbw2015/rrul", **choice))
    assert said in panel.note.value
    with pytest.raises(ConfigError, match=said):
        panel.watch()
    assert said in panel.error.value


@pytest.mark.kernel
def test_the_run_before_stays_beside_the_next(tmp_path: Path) -> None:
    first = Choice("gbw2015/rrul", qdisc="codel", length=Duration.parse("5 s"))
    panel = Explorer(ROOT / "data", tmp_path, first)
    files = []
    for qdisc in ("pfifo_fast", "fq_codel"):
        panel.inputs["qdisc"].value = qdisc
        run = panel.watch()
        assert run.error is None and run.result is not None
        files.append(str(run.result.data))
        assert files[-1] in panel.files.value
        assert "qdiscs" in run.outputs
    assert files[0] not in panel.files.value
    assert "pfifo_fast, seed 1, before" in panel.table.value
