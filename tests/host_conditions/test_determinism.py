"""Options of `tests.host_conditions.determinism`."""

import argparse
import sys
from pathlib import Path

import pytest

from tests.host_conditions import determinism


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "1/0", "-1/3", "a/b"])
def test_a_part_that_is_none_is_refused(text: str) -> None:
    assert determinism.part("2/3") == (2, 3)
    with pytest.raises(argparse.ArgumentTypeError, match="no part"):
        determinism.part(text)


def test_the_conditions_are_not_tried_on_a_series_that_nobody_can_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["determinism", "--kernel", "9.9", "--output", str(tmp_path / "boots.jsonl")]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit, match="2"):
        determinism.main()
    assert "KERNEL.toml: no source is known for 9.9" in capsys.readouterr().err
    assert not (tmp_path / "boots.jsonl").exists()
