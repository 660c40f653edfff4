"""What runs measured is remembered, and measured again when a run or the code changes."""

import os
import shutil
from pathlib import Path

import pytest

from qdisclab.analysis.measures import table
from qdisclab.analysis.measures.registry import Measure, registry_of
from qdisclab.analysis.measures.table import measure_study
from qdisclab.analysis.runs.dataset import RunFile, find_runs
from qdisclab.analysis.runs.study import study_at
from qdisclab.analysis.sources import ROOT, closure
from qdisclab.emulation.host import cache
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


def test_a_run_is_measured_once(data: Path) -> None:
    first = measure_study(study_at("gbw2015"), data, jobs=1)
    count = len(CALLS)
    assert count > 0
    again = measure_study(study_at("gbw2015"), data, jobs=1)
    assert len(CALLS) == count
    assert again.equals(first)
    assert (first["value"] == first["seed"] + 0.1).all()


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
    monkeypatch.setattr(table, "code_digest", lambda start: "other")
    measure_study(study_at("gbw2015"), data, jobs=1)
    assert len(CALLS) == 2 * count
    other = Measure(lambda run: seed_as_latency(run))
    monkeypatch.setitem(registry_of(study_at("gbw2015")).measures, "rrul", other)
    measure_study(study_at("gbw2015"), data, jobs=1)
    assert len(CALLS) == 3 * count


def test_a_page_is_measured_again_when_the_unloaded_one_changes(tmp_path: Path) -> None:
    """Fetch times are multiples of those without load."""
    for experiment in ("web_small_1up", "web_small_idle"):
        provenances.made_up(tmp_path, "gbw2015", experiment, "2014", qdisc="pfifo_fast")
    study = study_at("gbw2015")
    (page,) = find_runs(tmp_path, "gbw2015", "web_small_1up", eras="2014")
    (idle,) = find_runs(tmp_path, "gbw2015", "web_small_idle", eras="2014")

    def states() -> tuple[str, str]:
        measures = {run.experiment: registry_of(study).measures["web"] for run in (page, idle)}
        of_page, of_idle = table._states(study, measures, (page, idle))
        return of_page, of_idle

    before = states()
    os.utime(idle.provenance, ns=(1, 1))
    between = states()
    assert between[0] != before[0]
    assert between[1] != before[1]
    os.utime(page.provenance, ns=(1, 1))
    assert states()[0] != between[0]
    assert states()[1] == between[1]


def test_without_a_cache_runs_are_measured(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(kind: str) -> Path:
        raise PermissionError(kind)

    monkeypatch.setattr(cache, "cache_dir", none)
    for _ in range(2):
        assert not measure_study(study_at("gbw2015"), data, jobs=1).empty
    assert len(CALLS) == 2 * len(set(CALLS))


def test_a_change_of_a_plot_measures_nothing_again() -> None:
    """And one of a measure does only what hangs on it."""
    study = study_at("gbw2015")
    files = {
        kind: {
            str(path.relative_to(ROOT)) for path in closure(measure.files(study.folder), root=ROOT)
        }
        for kind, measure in registry_of(study).measures.items()
    }
    assert not [path for paths in files.values() for path in paths if "/plots/" in path]
    assert not [path for paths in files.values() for path in paths if "/site/" in path]
    # The measures of a study count as one; those of this study import that of calls.
    of_calls = {kind for kind, paths in files.items() if "analysis/measures/voip.py" in paths}
    assert of_calls == {"voip", "wifi"}
    assert all(paths for paths in files.values())
