"""What claims came to is kept, and settled again when a run or a study's words change."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from analysis.claims import assessed, settled
from analysis.runs.study import Study
from tests import ROOT


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "battling2013"
    left_out = shutil.ignore_patterns("data", "notebooks")
    shutil.copytree(ROOT / "studies/battling2013", folder, ignore=left_out)
    (tmp_path / "data/battling2013/one").mkdir(parents=True)
    return Study(folder)


def test_claims_are_settled_once(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Path] = []

    def assess(data: Path, *_: Any) -> list[Any]:
        calls.append(data)
        return []

    monkeypatch.setattr(assessed, "assess_studies", assess)
    data = tmp_path / "data"
    run = data / "battling2013/one/seed-001.json"
    changes = [
        (lambda: None, 1),
        (lambda: None, 1),
        (lambda: next((study.folder / "figures").iterdir()).write_text("title: other\n"), 1),
        (lambda: run.write_text("{}"), 2),
        (lambda: os.utime(run, (1, 1)), 3),
        (lambda: study.statements.write_text("id\n"), 4),
    ]
    for change, expected in changes:
        change()
        assert settled.settle(data, [study]) == []
        assert len(calls) == expected
    for kept in (tmp_path / "cache/qdisc-lab/settled").iterdir():
        kept.write_text('{"of": 1')  # damaged
    settled.settle(data, [study])
    assert len(calls) == 5


def test_links_of_a_study_to_folders_are_not_followed(study: Study, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (study.folder / name).symlink_to(".")
    settled.settle(tmp_path / "data", [study])
    (study.folder / "a").unlink()
    settled.settle(tmp_path / "data", [study])
