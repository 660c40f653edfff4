"""What each run measured: the table of a study's runs, and the start of flows."""

import json
from pathlib import Path

import numpy as np
import pytest

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.measures.metrics import run_metrics
from qdisclab.analysis.measures.registry import Measure, registry_of
from qdisclab.analysis.measures.rrul import measure, startup
from qdisclab.analysis.measures.table import measure_study
from qdisclab.analysis.runs.dataset import find_runs, read_runs
from qdisclab.analysis.runs.study import study_at
from tests import ROOT
from tests.data import provenances

GOLDEN = ROOT / "tests" / "data" / "golden"


def test_startup_of_a_known_curve() -> None:
    # 300 ms in the second from 2 to 3 s of load, falling to 20 ms at 6 s
    time_s = np.arange(0, 40.01, 0.2)
    latency = np.interp(time_s, [0, 1.9, 2, 3, 6, 40], [20, 20, 300, 300, 20, 20])
    found = startup(time_s, latency, 40)
    assert found["steady_latency_ms"] == pytest.approx(20)
    assert found["startup_peak_ms"] == pytest.approx(300, rel=0.01)
    # mean of the last second: 20 + 93.3 (7 − t)² / 2 ms after 6 s, 30 ms at 6.54 s
    assert found["control_s"] == pytest.approx(6.54, abs=0.2)
    assert found["startup_latency_ms"] == pytest.approx(
        20 + (280 + 280 * 3 / 2 + 14) / 20, rel=0.02
    )


def test_control_comes_with_the_end_of_a_long_spike() -> None:
    time_s = np.arange(0, 100.01, 0.2)
    found = startup(time_s, np.where(time_s < 35, 100.0, 10.0), 100)
    assert found["startup_peak_ms"] == pytest.approx(100)
    assert found["control_s"] == pytest.approx(36, abs=0.2)


def test_measures_of_a_real_run() -> None:
    run = find_runs(
        ROOT / "data", "gbw2015", "rrul", eras="modern", links="10/1", qdiscs="ared", ccs="cubic"
    )[0]
    found = measure(run)
    row = run_metrics(read_runs([run])).iloc[0]
    assert found["induced_latency_ms"] == row["induced_latency_ms"]
    assert found["goodput_upload_mbit_s"] == row["goodput_upload_mbit_s"]
    record = json.loads(run.provenance.read_text())["qdiscs"]["router_up r1-delay"]["qdiscs"][1]
    assert record["kind"] == "red"
    share = record["drops"] / (record["drops"] + record["packets"])
    assert found["drops_upload_percent"] == pytest.approx(100 * share)
    assert found["startup_peak_ms"] > found["steady_latency_ms"] > 5


@pytest.fixture
def by_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The latency of each run is its seed, in ms."""
    measure = Measure(lambda run: {"induced_latency_ms": float(run.seed)})
    monkeypatch.setitem(registry_of(study_at("gbw2015")).measures, "rrul", measure)


def test_a_run_becomes_a_row_a_metric(by_seed: None) -> None:
    table = measure_study(study_at("gbw2015"), GOLDEN, jobs=1)
    assert table.to_dict("records") == [
        {"era": "modern", "experiment": "rrul", "link": "10/10", "qdisc": "codel", "cc": "cubic",
         "seed": 1, "metric": "induced_latency_ms", "value": 1.0}
    ]  # fmt: skip


@pytest.mark.parametrize("era", ["modern@linux-7.3", "2014@linux-7.3"])
def test_runs_of_another_kernel_have_an_era_of_their_own(
    era: str, tmp_path: Path, by_seed: None
) -> None:
    run = provenances.made_up(tmp_path, "gbw2015", "rrul", era)
    assert set(measure_study(study_at("gbw2015"), tmp_path, jobs=1)["era"]) == {era}
    elsewhere = run.provenance.with_name("seed-002.json")
    elsewhere.write_text(run.provenance.read_text())
    with pytest.raises(DataError, match=r"seed-002\.json: describes the run 'gbw2015/rrul@"):
        measure_study(study_at("gbw2015"), tmp_path, jobs=1)


def test_runs_of_another_length_are_left_out(tmp_path: Path, by_seed: None) -> None:
    provenances.made_up(tmp_path, "gbw2015", "rrul", seed=1, length="20s")
    provenances.made_up(tmp_path, "gbw2015", "rrul", "2014", seed=2)
    table = measure_study(study_at("gbw2015"), tmp_path, jobs=1)
    assert list(table["seed"]) == [2]


def test_two_runs_of_a_cell_have_two_seeds(tmp_path: Path, by_seed: None) -> None:
    _, second = (provenances.made_up(tmp_path, "gbw2015", "rrul", seed=seed) for seed in (1, 2))
    record = second.provenance.read_text()
    second.provenance.write_text(record.replace('"seed": 2', '"seed": 1'))
    with pytest.raises(DataError, match=r"seed-002\.json: has the seed of gbw2015/rrul/.*seed-001"):
        measure_study(study_at("gbw2015"), tmp_path, jobs=1)


def test_a_measure_may_not_invent_names(monkeypatch: pytest.MonkeyPatch) -> None:
    measures = registry_of(study_at("gbw2015")).measures
    monkeypatch.setitem(measures, "rrul", Measure(lambda run: {"latncy_ms": 1.0}))
    with pytest.raises(
        DataError, match=r"test_table\.py:\d+: returns the unknown metric 'latncy_ms'"
    ):
        measure_study(study_at("gbw2015"), GOLDEN, jobs=1)
