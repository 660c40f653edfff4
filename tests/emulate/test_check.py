"""`emulate check` finds what would only be refused when a run begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulate.cli import main
from emulation.errors import ConfigError
from emulation.study import template


def test_a_congestion_control_that_the_kernel_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    template.make(tmp_path / "own")
    study = tmp_path / "own/study.yaml"
    assert main(["check", str(study.parent)]) == 0
    study.write_text(study.read_text().replace("cc: [cubic]", "cc: [renoo]"))
    assert main(["check", str(study.parent)]) == ConfigError.exit_status
    assert "own/first: Linux 6.12 here has no renoo; choose from bbr" in capsys.readouterr().err


def test_a_study_that_the_users_own_qdiscs_cannot_join(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = tmp_path / "own.yaml"
    own.write_text('papers: [rfc7982]\nqdiscs: {x: {kind: codel, color: "#882255", marker: p}}\n')
    assert main(["check", str(own)]) == ConfigError.exit_status
    assert "unknown paper 'rfc7982'; did you mean 'rfc7928'?" in capsys.readouterr().err


def test_own_ones_that_do_not_join_a_study_are_said_to_be_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own.yaml"
    text = '{x: {kind: codel, color: "#882255", marker: p}}\n'
    own.write_text(f"papers: [gbw2015]\nqdiscs: {text}")
    monkeypatch.setenv("QDISC_LAB_OWN", str(own))
    assert main(["run", "rfc7928/capacity", "--qdisc", "x", "--dry-run"]) == ConfigError.exit_status
    said = capsys.readouterr().err
    assert f"'x' of {own} can be used where its `papers` have rfc7928" in said
