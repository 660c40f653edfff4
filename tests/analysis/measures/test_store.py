"""What runs measured is kept, and measured again when a run or the code changes."""

import os
import shutil
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pandas as pd
import pytest

from analysis.measures import store
from analysis.measures.__main__ import main
from analysis.measures.registry import Measure, registry_of
from analysis.measures.table import MEASURED, measure_study
from analysis.runs.dataset import RunFile, find_runs
from analysis.runs.study import study_at
from analysis.sources import closure
from tests import ROOT
from tests.data import provenances

GOLDEN = ROOT / "tests" / "data" / "golden"
CALLS: list[int] = []


def seed_as_latency(run: RunFile) -> dict[str, float]:
    CALLS.append(run.seed)
    return {"induced_latency_ms": run.seed + 0.1}


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setitem(registry_of(study_at("gbw2015")).measures, "rrul", Measure(seed_as_latency))
    shutil.copytree(GOLDEN, tmp_path / "data")
    CALLS.clear()
    return tmp_path / "data"


def _key(run: RunFile, how: str) -> str:
    (key,) = store.keys([(run, how)])
    return key


def test_a_run_is_measured_once(data: Path) -> None:
    first = measure_study(study_at("gbw2015"), data, jobs=1)
    count = len(CALLS)
    assert count > 0
    again = measure_study(study_at("gbw2015"), data, jobs=1)
    assert len(CALLS) == count
    assert again.equals(first)
    assert (first["value"] == first["seed"] + 0.1).all()


def test_of_two_at_once_one_measures(data: Path) -> None:
    study = study_at("gbw2015")
    with ThreadPoolExecutor() as threads:
        with store.measuring(data, "gbw2015"):
            both = [threads.submit(measure_study, study, data, jobs=1) for _ in range(2)]
            assert wait(both, timeout=1).not_done == {*both}
            assert not CALLS
        first, second = (one.result() for one in both)
    assert first.equals(second)
    assert len(CALLS) == len(first)  # one number of each run


def test_a_changed_run_is_measured_again(data: Path) -> None:
    measure_study(study_at("gbw2015"), data, jobs=1)
    count = len(CALLS)
    run = find_runs(data, "gbw2015", "rrul")[0]
    run.provenance.write_text(run.provenance.read_text() + " ")
    measure_study(study_at("gbw2015"), data, jobs=1)
    assert CALLS[count:] == [run.seed]
    os.utime(run.data, ns=(1, 1))
    measure_study(study_at("gbw2015"), data, jobs=1)
    assert CALLS[count:] == [run.seed] * 2


def test_other_code_and_other_functions_measure_again(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure_study(study_at("gbw2015"), data, jobs=1)
    count = len(CALLS)
    monkeypatch.setattr(store, "code", lambda study, measure: "other")
    measure_study(study_at("gbw2015"), data, jobs=1)
    assert len(CALLS) == 2 * count
    run = find_runs(data, "gbw2015", "rrul")[0]
    assert _key(run, "a:b") != _key(run, "a:c")


def test_a_page_is_measured_again_when_the_unloaded_one_changes(tmp_path: Path) -> None:
    """Fetch times are multiples of those without load."""
    for experiment in ("web_small_1up", "web_small_idle"):
        provenances.made_up(tmp_path, "gbw2015", experiment, "2014", qdisc="pfifo_fast")
    (page,) = find_runs(tmp_path, "gbw2015", "web_small_1up", eras="2014")
    (idle,) = find_runs(tmp_path, "gbw2015", "web_small_idle", eras="2014")
    before = _key(page, "a:b"), _key(idle, "a:b")
    idle.provenance.write_text("another")
    assert _key(page, "a:b") != before[0]
    page.provenance.write_text("another, too")
    known = _key(idle, "a:b")
    page.provenance.write_text("a third")
    assert _key(idle, "a:b") == known != before[1]


def test_without_a_cache_runs_are_measured(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(kind: str) -> Path:
        raise PermissionError(kind)

    monkeypatch.setattr(store, "cache_dir", none)
    for _ in range(2):
        assert not measure_study(study_at("gbw2015"), data, jobs=1).empty
    assert len(CALLS) == 2 * len(set(CALLS))


def test_a_damaged_store_does_no_harm(data: Path) -> None:
    first = measure_study(study_at("gbw2015"), data, jobs=1)
    for table in (data.parent / "cache").rglob("*.parquet"):
        table.write_bytes(b"no table" * 500)
    assert measure_study(study_at("gbw2015"), data, jobs=1).equals(first)


def test_there_is_one_table_per_study_and_experiment(data: Path) -> None:
    measured = measure_study(study_at("gbw2015"), data, jobs=1)
    for experiment in measured["experiment"].unique():
        table = store.read(data, "gbw2015", experiment)
        assert set(table["experiment"]) == {experiment}
        assert not table.duplicated([*store.CELL, "metric"]).any()


def test_the_tables_can_be_written_for_others(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "measured"
    assert main(["--data", str(data), "--output", str(out), "--jobs", "1"]) == 0
    measured = measure_study(study_at("gbw2015"), data, jobs=1)
    found = pd.concat(pd.read_parquet(path) for path in sorted((out / "gbw2015").glob("*.parquet")))
    keys = list(MEASURED.columns)
    assert found[keys].sort_values(keys).values.tolist() == (
        measured[keys].sort_values(keys).values.tolist()
    )
    assert {path.stem for path in (out / "gbw2015").iterdir()} == set(measured["experiment"])


def test_a_change_of_a_plot_measures_nothing_again() -> None:
    """And one of a measure does only what hangs on it."""
    study = study_at("gbw2015")
    files = {
        kind: {
            str(one.relative_to(store.ROOT))
            for one in closure(measure.files(study.folder), root=store.ROOT)
        }
        for kind, measure in registry_of(study).measures.items()
    }
    assert not [path for paths in files.values() for path in paths if "/plots/" in path]
    assert not [path for paths in files.values() for path in paths if "/site/" in path]
    # The measures of a study count as one; those of this study import that of calls.
    of_calls = {kind for kind, paths in files.items() if "analysis/measures/voip.py" in paths}
    assert of_calls == {"voip", "wifi"}
    assert all(paths for paths in files.values())
