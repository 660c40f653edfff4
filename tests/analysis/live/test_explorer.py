"""The panel of Explore: a first choice that cannot be, which a notebook's parameters may be."""

from __future__ import annotations

from pathlib import Path

import pytest

from qdisclab.analysis.live.explorer import Explorer
from qdisclab.emulation.config.explore import Choice
from qdisclab.emulation.errors import ConfigError
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
