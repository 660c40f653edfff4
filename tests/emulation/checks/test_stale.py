"""Runs that are not what would be made today: which they are, and what is said of them."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from qdisclab.analysis.claims import assess
from qdisclab.emulate.cli import main as emulate
from qdisclab.emulation import kernel
from qdisclab.emulation.checks import identities, stale
from qdisclab.emulation.config.catalogue import select
from qdisclab.emulation.config.job import job_of
from qdisclab.emulation.config.request import run_of
from qdisclab.emulation.machine import guestcode, provenance, rootfs, vm
from qdisclab.emulation.model.run import Experiment
from qdisclab.emulation.runs.index import index
from qdisclab.emulation.study import studies
from tests.data import provenances
from tests.data.provenances import GUEST_ROOT as ROOT, KERNEL
from workflow.stale import main

MACHINE = vm.Machine(KERNEL.path, ROOT.path, 1)


@pytest.fixture
def made(rrul: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Three seeds of a cell, made of today's kernel, tools and code."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(kernel, "find", lambda series=None: KERNEL)
    monkeypatch.setattr(rootfs, "find", lambda: ROOT)
    written = []
    for run in select(rrul, link="10/1", qdisc="codel", cc="reno", seed=(1, 2, 3), era="2014"):
        identity = provenance.identity(run, MACHINE, KERNEL, ROOT)
        path = provenances.of_run(tmp_path, run, identity=identity).provenance
        written.append(path)
    return written


def change(path: Path, **changes: Any) -> None:
    text = json.dumps(json.loads(path.read_text()) | changes)
    path.unlink()
    path.write_text(text)


def causes(made: list[Path]) -> Counter[str]:
    """What is said of those of these provenances that are of runs."""
    root = made[0].parents[5]
    runs = index(root, made[0].relative_to(root).parts[0]).runs
    return stale.causes(run for run in runs if run.provenance in made)


def other_job(path: Path) -> None:
    """The guest was told something else when this run was made."""
    identity = json.loads(path.read_text())["identity"]
    change(path, identity={**identity, "job": "o" * 16})


def test_runs_of_today_are_current(made: list[Path]) -> None:
    assert causes(made) == {"current": 3}
    assert stale.sentences(Counter(current=3), Path("data")) == []


def test_another_patch_makes_all_runs_stale(
    made: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "find", lambda series=None: replace(KERNEL, digest="o" * 16))
    assert causes(made) == {"kernel": 3}
    monkeypatch.setattr(kernel, "find", lambda series=None: None)  # not built yet
    assert stale.sentences(causes(made), Path("data")) == [
        "3 of 3 runs in data cannot be told: the kernel or the guest's tools are not built here "
        "(./reproduce-all --setup-only)"
    ]
    other_job(made[0])  # what is known is said all the same
    assert causes(made) == {"job": 1, stale.UNKNOWN: 2}


def test_each_part_is_told(
    made: list[Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    newer = replace(ROOT, digest="o" * 16, packages={**ROOT.packages, "netperf": "1.1"})
    monkeypatch.setattr(rootfs, "find", lambda: newer)
    assert causes(made) == {"tools": 3}
    monkeypatch.setattr(rootfs, "find", lambda: replace(ROOT, digest="o" * 16))
    assert stale.sentences(causes(made), Path("data")) == [
        "3 of 3 runs in data had the same tools among other packages of Debian: 'emulate verify' "
        "compares"
    ]
    monkeypatch.setattr(rootfs, "find", lambda: ROOT)
    axes = json.loads(made[0].read_text())["axes"]
    change(made[0], axes=axes | {"qdisc": "tail_drop"})
    other_job(made[1])
    assert causes(made) == {"gone": 1, "job": 1, "current": 1}
    change(made[0], axes=axes, length_s=20.0)  # as long as runs were by default
    assert causes(made) == {"job": 2, "current": 1}
    code = tmp_path / "guest"
    code.mkdir()
    for path in guestcode.FOLDER.iterdir():
        if path.is_file():
            (code / path.name).write_bytes(path.read_bytes())
    with (code / "rig.py").open("a") as file:
        file.write("# changed\n")
    monkeypatch.setattr(guestcode, "FOLDER", code)
    made[2].touch()  # the code is not looked for where it is put here
    assert causes(made[2:]) == {"guest": 1}
    was = json.loads(made[2].read_text())["identity"]["guest"]
    run = run_of(json.loads(made[2].read_text()))
    now = provenance.guest_code_digest(job_of(run))
    (tmp_path / identities.FILE).write_text(
        f"{','.join(identities.COLUMNS)}\nguest,{was},{now},3,3,2026-11-28\n"
    )
    assert causes(made[2:]) == {"current": 1}


def test_the_command_counts(
    made: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path)]) == 0
    assert capsys.readouterr().out == "3 runs, none of them stale\n"


def test_the_command_finds_the_study_that_the_runs_are_in(
    made: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv(studies.VARIABLE, "")
    study = tmp_path / "mine"
    assert emulate(["new", str(study)]) == 0
    (study / "data").mkdir()
    (tmp_path / "gbw2015").rename(study / "data/mine")
    runs = sorted((study / "data").rglob("seed-*.json"))
    for path in runs:
        run = json.loads(path.read_text())["run"].replace("gbw2015", "mine")
        change(path, run=run, paper="mine", experiment="first")
    assert causes(runs) == {"study": 3}
    assert main([str(study / "data")]) == 0
    assert "3 of 3 runs in" in (out := capsys.readouterr().out)
    assert "are stale: there is no such point any more" in out  # of that study, now known


def test_seeds_of_a_cell_are_told_apart(made: list[Path]) -> None:
    other_job(made[1])
    change(made[2], seed=9)
    assert causes(made) == {"current": 1, "job": 1, "gone": 1}


def test_files_that_are_no_provenance_are_gone(
    made: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made[0].write_text("{}")
    made[1].write_text("[")
    change(made[2], seed="third")
    assert main([str(tmp_path)]) == 0
    assert "3 of 3 runs in" in (out := capsys.readouterr().out)
    assert "no such point any more" in out


def test_what_came_out_is_kept_until_something_changes(
    made: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = []
    count = stale._causes
    monkeypatch.setattr(stale, "_causes", lambda *given: counted.append(1) or count(*given))
    for _ in range(3):
        assert causes(made) == {"current": 3}
    assert len(counted) == 1
    other_job(made[0])
    assert causes(made) == {"job": 1, "current": 2}
    monkeypatch.setattr(rootfs, "find", lambda: None)
    assert causes(made) == {"job": 1, stale.UNKNOWN: 2}
    assert len(counted) == 3


def test_claims_tell_of_stale_runs(
    made: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def say() -> str:
        assert emulate(["claims", "--study", "gbw2015", "--data", str(tmp_path), "--json"]) == 0
        return capsys.readouterr().err

    claim = {"paper": "gbw2015", "verdict": "agrees", "experiments": ["rrul"]}
    monkeypatch.setattr(assess, "verdicts", lambda *_: [claim])
    assert say() == ""
    other_job(made[0])
    change(made[1], axes={"qdisc": "tail_drop"})
    assert say() == (
        "note: 2 of 3 runs that verdicts rest on are stale (1: the experiment changed, 1: there is "
        "no such point any more); 'emulate run STUDY/EXPERIMENT --again' repeats them\n"
    )
    monkeypatch.setattr(assess, "verdicts", lambda *_: [claim | {"experiments": ["voip"]}])
    assert say() == ""


def test_a_folder_that_is_not_there_is_no_folder_without_stale_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path / "date")]) == 2
    assert "date: no such folder; name one with runs" in capsys.readouterr().err
