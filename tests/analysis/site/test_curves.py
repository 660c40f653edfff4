"""Curves of a page: which runs they are of, and in how many steps."""

from pathlib import Path

import pytest

from qdisclab.analysis.runs.dataset import find_runs, read_runs
from qdisclab.analysis.site import outputs
from tests.data import synthetic_traffic as traffic


@pytest.mark.parametrize("most", [100, 10])
def test_they_are_those_of_a_first_run_of_each_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(outputs, "STEPS", (most, 3000))
    traffic.write_tree(tmp_path, "voip_rrul", "10-10", seeds=2, era="modern")
    data = read_runs(find_runs(tmp_path, "gbw2015", "voip_rrul"), jobs=1)
    table = outputs.first_runs(data)
    assert table is not None
    cells = table.groupby("qdisc")
    assert set(cells.groups) == set(data.runs["qdisc"])
    assert cells["time_s"].nunique().max() <= most + 1
    assert (cells["time_s"].nunique() == cells.size()).all()  # of one run each
    assert (table["rtt_ms"].dropna() >= 50).all()


def test_nobody_tells_many_curves_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outputs, "MOST_CURVES", 6)
    traffic.write_tree(tmp_path, "voip_rrul", "10-10", seeds=1, era="modern")  # seven qdiscs
    assert (
        outputs.first_runs(read_runs(find_runs(tmp_path, "gbw2015", "voip_rrul"), jobs=1)) is None
    )
