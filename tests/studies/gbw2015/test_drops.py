"""What the upload's queue drops: what the table of it shows."""

from pathlib import Path

import pandas as pd
import pytest

from qdisclab.analysis.claims.assess import assess, design_of
from qdisclab.analysis.claims.plugin import rules_of
from qdisclab.analysis.errors import DataError
from qdisclab.analysis.plots import style
from qdisclab.analysis.runs.dataset import RunFile
from qdisclab.analysis.runs.statement import read_claims
from qdisclab.analysis.runs.study import study_at
from studies.gbw2015.measures import drops
from studies.gbw2015.plots import drops as figures_drops
from tests.data.synthetic_recorded import recorded_runs


def row(**changes: object) -> dict[str, object]:
    one: dict[str, object] = {
        "experiment": "rrul", "era": "2014", "link": "10/1", "qdisc": "ared", "cc": "cubic",
        "seed": 1, "length_s": 60.0, "kind": "acknowledgment", "flows": 4, "packets": 200,
        "dropped": 50, "bursts": 20, "longest_burst": 5, "events": 25, "wait_ms": 4.0,
        "longest_wait_ms": 5.0, "timeouts": 0, "timeouts_in_a_row": 0, "connections": 0,
        "late_connections": 0, "behind_packets": 0.0, "first_series": 0,
    }  # fmt: skip
    return one | changes


@pytest.fixture
def table(tmp_path: Path) -> list[RunFile]:
    probes = {"kind": "probe", "flows": 4, "dropped": 0, "bursts": 0, "events": 0}
    upload = {"experiment": "rtt_fairness", "flows": 1, "length_s": 600.0}
    rows = [
        row(),
        row(seed=2, dropped=60),
        row(qdisc="fq_codel", **probes, wait_ms=8.0, longest_wait_ms=40.0),
        row(qdisc="fq_codel", **probes, seed=2, wait_ms=8.0, longest_wait_ms=9.0),
        *(
            row(**upload, kind="upload, 10 ms", timeouts=600, timeouts_in_a_row=3 + seed, seed=seed)
            for seed in (1, 2, 3)
        ),
        row(
            experiment="web_small_1up", kind="syn", connections=80, late_connections=20, dropped=20
        ),
    ]
    return recorded_runs(tmp_path, drops.PROBE, pd.DataFrame(rows))


def test_shares_and_rates(table: list[RunFile]) -> None:
    read = drops.read_drops(table)
    assert drops.panel(read, "acks").set_index("group")["mean"]["acknowledgment"] == 27.5
    assert drops.panel(read, "syn")["mean"].tolist() == [25.0]
    assert drops.panel(read, "timeouts")["mean"].tolist() == [60.0]
    assert drops.panel(read, "together")["mean"].tolist() == [2.0]
    assert drops.read_drops([]).empty


def test_a_probe_that_waits_longer_shares_its_queue(table: list[RunFile]) -> None:
    found = drops.collisions(drops.read_drops(table))
    assert found[["qdisc", "seed", "runs"]].to_numpy().tolist() == [["fq_codel", 1, 2]]


def test_claims_take_the_table(table: list[RunFile]) -> None:
    measured = drops.measured(table)
    assert set(measured["metric"]) == {
        "ack_drops_percent", "timeouts_10ms", "timeouts_10ms_in_a_row", "late_syn_percent",
        "probe_behind_packets", "departure_interval_ms", "first_congestions_10ms",
    }  # fmt: skip
    intervals = measured[measured["metric"] == "departure_interval_ms"]
    assert set(intervals["experiment"]) == {"web_small_1up"}
    study = study_at("gbw2015")
    claims = assess(read_claims(study), rules_of(study).rules, measured, design=design_of(study))
    (judged,) = (one.headline.verdict for one in claims if one.claim.id == "g152")
    assert judged == "agrees"  # 4, 5 and 6 in a row
    assert drops.measured([]).empty


def test_another_table_is_refused(table: list[RunFile]) -> None:
    path = table[0].provenance.with_suffix(".drops.csv")
    pd.read_csv(path).drop(columns="timeouts").to_csv(path, index=False)
    with pytest.raises(DataError, match="not a table of the probe 'drops'"):
        drops.read_drops(table)


def test_every_panel_has_its_bars(table: list[RunFile]) -> None:
    read = drops.read_drops(table)
    with style.styled() as palette:
        figure = figures_drops.drops(read, palette)
    assert len(figure.axes) == len(drops.SHOWN)
    assert [len(axes.patches) for axes in figure.axes] == [1, 1, 1, 1, 1, 2]
    acks = figures_drops.named(read).iloc[0]
    assert (acks["group"], acks["mean"]) == ("ACKs of downloads", 27.5)
