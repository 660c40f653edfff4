"""Runs of which the measures are kept in place of the data."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from analysis.errors import DataError, OnlyMeasures
from analysis.measures import reduced
from analysis.measures.table import measure_study
from analysis.runs import dataset
from analysis.runs.dataset import RunFile
from analysis.runs.study import study_at
from analysis.site import inventory
from emulation import datafile
from tests.data.synthetic import write_run

CELL = "gbw2015/rrul/10-10/codel/cubic"


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for seed in (1, 2, 3, 4, 5):
        write_run(tmp_path / "data", "10-10", "codel", seed)
    (tmp_path / "data" / CELL / "seed-004.packets.parquet").write_text("packets")
    return tmp_path / "data"


def run_of(data: Path, seed: int) -> RunFile:
    return RunFile.at(data, data / CELL / f"seed-{seed:03d}.json")


def test_claims_have_the_same_numbers_and_figures_the_runs_with_data(data: Path) -> None:
    before = measure_study(study_at("gbw2015"), data, jobs=1)
    (data / CELL / "seed-004.drops.csv").write_text("of a probe")
    assert reduced.main([CELL, "--data", str(data)]) == 0
    assert sorted(path.name for path in (data / CELL).glob("seed-004*")) == [
        "seed-004.drops.csv", "seed-004.json"
    ]  # fmt: skip
    assert [run_of(data, seed).is_reduced for seed in (1, 2, 3, 4, 5)] == [False] * 3 + [True] * 2
    (data / CELL / "seed-004.drops.csv").unlink()
    after = measure_study(study_at("gbw2015"), data, jobs=1)
    by = ["seed", "metric"]
    in_order = [table.sort_values(by, ignore_index=True) for table in (after, before)]
    assert in_order[0].equals(in_order[1])
    assert set(after["seed"]) == {1, 2, 3, 4, 5}
    assert [run.seed for run in dataset.find_runs(data, "gbw2015", "rrul")] == [1, 2, 3]
    assert reduced.main([CELL, "--data", str(data)]) == 0  # nothing is left to do


def test_a_cell_without_any_data_is_named_and_not_left_out(data: Path) -> None:
    write_run(data, "10-10", "pie", 1)
    write_run(data, "10-1", "codel", 1)
    for seed in (1, 2, 3, 4, 5):
        reduced.reduce(run_of(data, seed))
    where: dict[str, Any] = {"eras": ["modern", "2014"], "ccs": ["cubic", "reno"]}
    for asked in ({}, {"link": "10/10"}, {"qdiscs": ["pie", "codel"]}):
        with pytest.raises(OnlyMeasures, match="10-10/codel/cubic: its runs are"):
            dataset.find_settings(data, "gbw2015", "rrul", **where, **asked)
    with pytest.raises(OnlyMeasures):
        dataset.find_several(data, "gbw2015", ["rrul", "voip_rrul"], **where)
    several = dataset.find_several(data, "gbw2015", ["rrul"], links=["10/1"], **where)
    assert [(run.link, run.seed) for run in several] == [("10/1", 1)]
    assert len(dataset.find_settings(data, "gbw2015", "rrul", qdiscs=["pie"], **where)) == 1
    assert len(dataset.find_settings(data, "gbw2015", "rrul", reduced=True, **where)) == 7


def test_its_page_says_what_is_there(data: Path) -> None:
    reduced.reduce(run_of(data, 5))
    (variant,) = inventory.variants(data)
    verdicts = {row.file.seed: row.verdict for row in variant.rows}
    assert verdicts == dict.fromkeys((1, 2, 3, 4, 5), inventory.CLEAN)
    (data.parent / "results").mkdir()
    inventory.write_runs([variant], data.parent / "results", ())
    page = (data.parent / "results/runs/gbw2015/rrul.html").read_text()
    assert page.count("provenance and measures") == 1


def test_a_run_that_is_not_what_its_provenance_says_keeps_its_data(data: Path) -> None:
    run = run_of(data, 4)
    content = run.data.read_bytes()
    run.data.write_bytes(content + b"\n")
    with pytest.raises(DataError, match="is not what the provenance describes"):
        reduced.reduce(run)
    assert run.data.exists()
    assert datafile.MEASURES not in json.loads(run.provenance.read_text())


def test_what_has_no_measure_keeps_its_data(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reduced, "measure_run", lambda run: {})
    with pytest.raises(DataError, match="names no measure"):
        reduced.reduce(run_of(data, 4))
    monkeypatch.setattr(reduced, "measure_run", lambda run: {"control_s": float("nan")})
    with pytest.raises(DataError, match="has no value of control_s"):
        reduced.reduce(run_of(data, 4))
    assert run_of(data, 4).data.exists()


@pytest.mark.parametrize(
    ("measures", "what"),
    [
        ({"control_s": "fast"}, "cannot be measured as 'rrul' .ValueError"),
        ([1], "cannot be measured as 'rrul' .AttributeError"),
        ({"speed": 1.0}, "has the unknown metric speed"),
    ],
)
def test_measures_of_somebody_else_are_checked(data: Path, measures: object, what: str) -> None:
    run = run_of(data, 4)
    reduced.reduce(run)
    told = json.loads(run.provenance.read_text())
    run.provenance.write_text(json.dumps({**told, datafile.MEASURES: measures}))
    with pytest.raises(DataError, match=what):
        measure_study(study_at("gbw2015"), data, jobs=1)


def test_a_run_without_data_and_measures_is_damaged_as_before(data: Path) -> None:
    run = run_of(data, 4)
    run.data.unlink()
    assert not run.is_reduced
    with pytest.raises(DataError):
        dataset.read_runs(dataset.find_runs(data, "gbw2015", "rrul"), jobs=1)


def test_what_is_not_there_is_named(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert reduced.main(["gbw2015/voip", "--data", str(data)]) == 1
    assert "no run begins with gbw2015/voip" in capsys.readouterr().err
    shutil.rmtree(data)
