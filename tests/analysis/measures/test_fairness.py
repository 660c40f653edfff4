"""Fairness: Jain's index, and the goodput of each round trip."""

import math
from pathlib import Path

import pytest

from qdisclab.analysis.measures import fairness
from qdisclab.analysis.runs.dataset import Dataset, find_runs, read_runs
from studies.gbw2015.measures import fairness as cells_of
from tests.data import synthetic_traffic as traffic


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    root = tmp_path_factory.mktemp("fairness")
    traffic.write_tree(root, "rtt_fairness", "10-10", seeds=2)
    return read_runs(find_runs(root, "gbw2015", "rtt_fairness", eras="2014"), jobs=1)


@pytest.mark.parametrize(
    ("goodputs", "index"), [([1, 1, 1, 1], 1), ([1, 0, 0, 0], 0.25), ([3, 1], 0.8), ([0.5], 1)]
)
def test_jain(goodputs: list[float], index: float) -> None:
    assert fairness.jain(goodputs) == pytest.approx(index)


def test_jain_of_nothing_is_unknown() -> None:
    assert math.isnan(fairness.jain([0, 0]))


def test_a_flow_has_the_round_trip_of_its_address(data: Dataset) -> None:
    assert fairness.round_trips(data) == [10, 50, 200, 500]
    row = fairness.run_fairness(data).set_index("qdisc").loc["ared"].iloc[0]
    assert row["goodput_10ms_mbit_s"] == pytest.approx(0.6 * 9.5, rel=1e-3)
    assert row["goodput_500ms_mbit_s"] == pytest.approx(0.1 * 9.5, rel=1e-3)
    assert row["goodput_total_mbit_s"] == pytest.approx(9.5, rel=1e-3)
    assert row["jain_index"] == pytest.approx(1 / (4 * (0.36 + 0.04 + 0.01 + 0.01)), rel=1e-3)


def test_overview_has_a_column_a_flow(data: Dataset) -> None:
    cells = cells_of.cell_fairness(fairness.run_fairness(data), fairness.round_trips(data))
    table = cells_of.overview(cells).set_index("qdisc")
    assert table.loc["sfq", "jain_index"] == pytest.approx(1)
    assert table.loc["sfq", "200 ms (Mbit/s)"] == pytest.approx(9.5 / 4, rel=1e-3)
    assert set(table["n_seeds"]) == {2}


def test_what_one_run_comes_to(tmp_path: Path) -> None:
    traffic.write_tree(tmp_path, "rtt_fairness", "10-10", seeds=1)
    (run,) = find_runs(tmp_path, "gbw2015", "rtt_fairness", eras="2014", qdiscs=["ared"])
    assert fairness.measure(run) == pytest.approx(
        {
            "jain_index": 1 / (4 * (0.36 + 0.04 + 0.01 + 0.01)),
            "goodput_total_mbit_s": 9.5,
            "goodput_10ms_mbit_s": 5.7,
            "goodput_50ms_mbit_s": 1.9,
            "goodput_200ms_mbit_s": 0.95,
            "goodput_500ms_mbit_s": 0.95,
        },
        rel=1e-3,
    )
