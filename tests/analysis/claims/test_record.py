"""What claims came to is kept, and assessed again when a run or a study's words change."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from qdisclab.analysis.claims import assess, record
from qdisclab.analysis.claims.assess import verdicts
from qdisclab.analysis.runs.study import StudyFolder
from tests import ROOT

NAMES = ("battling2013", "gbw2015")


@pytest.fixture
def both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[StudyFolder]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    left_out = shutil.ignore_patterns("data", "notebooks")
    for name in NAMES:
        shutil.copytree(ROOT / "studies" / name, tmp_path / name, ignore=left_out)
        (tmp_path / "data" / name / "one").mkdir(parents=True)
    return [StudyFolder(tmp_path / name) for name in NAMES]


@pytest.fixture
def study(both: list[StudyFolder]) -> StudyFolder:
    return both[0]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The studies that were assessed."""
    names: list[str] = []

    def assess_study(study: StudyFolder, *_: Any, **__: Any) -> list[Any]:
        names.append(study.name)
        return []

    monkeypatch.setattr(assess, "assess_study", assess_study)
    return names


def test_claims_are_assessed_once(study: StudyFolder, tmp_path: Path, calls: list[str]) -> None:
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
        claims = record.verdicts(study, data)  # which computes nothing
        assert (claims is None) == (len(calls) < expected)
        assert verdicts(data, [study]) == record.verdicts(study, data) == []
        assert len(calls) == expected
    for path in (tmp_path / "cache/qdisc-lab/verdicts").glob("*.json"):
        path.write_text('{"of": 1')  # damaged
    verdicts(data, [study])
    assert len(calls) == 5


def test_a_change_of_one_study_assesses_that_alone(
    both: list[StudyFolder], tmp_path: Path, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    verdicts(tmp_path / "data", both)
    monkeypatch.chdir(tmp_path)
    verdicts(Path("data"), both)
    assert calls == [*NAMES]
    both[1].statements.write_text("id\n")
    verdicts(tmp_path / "data", both)
    assert calls == [*NAMES, "gbw2015"]


def test_links_of_a_study_to_folders_are_not_followed(study: StudyFolder, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (study.folder / name).symlink_to(".")
    verdicts(tmp_path / "data", [study])
    (study.folder / "a").unlink()
    verdicts(tmp_path / "data", [study])
