"""Spread over seeds: repeated traces, lock step and collisions are seen where they are."""

import math
from pathlib import Path

import numpy as np
import pytest

from qdisclab.analysis.measures.metrics import run_metrics
from qdisclab.analysis.plots.style import styled
from qdisclab.analysis.runs.dataset import Dataset, find_runs, read_runs
from qdisclab.emulation.errors import EmulationError
from studies.gbw2015.measures import spread
from studies.gbw2015.plots.spread import seed_spread
from tests.data import synthetic


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    for qdisc in ("codel", "fq_codel"):
        for seed in (1, 2, 3):
            synthetic.write_run(folder, "10-10", qdisc, seed, length_s=40)
    return folder


@pytest.fixture(scope="module")
def data(root: Path) -> Dataset:
    return read_runs(find_runs(root, "gbw2015", "rrul"))


def test_seeds_are_distinct_and_do_not_correlate(data: Dataset) -> None:
    couples = spread.pairs(data)
    assert len(couples) == 6
    assert couples["correlation"].abs().max() < 0.6
    assert not couples["same"].any()
    assert spread.distinct_traces(data)["distinct"].tolist() == [3, 3]


def test_a_repeated_trace_is_seen(data: Dataset) -> None:
    samples = data.samples.copy()
    of = {seed: samples.index[(samples["seed"] == seed) & (samples["qdisc"] == "codel")
          & (samples["kind"] == "ping_icmp")] for seed in (1, 2)}  # fmt: skip
    samples.loc[of[2], "rtt_ms"] = samples.loc[of[1], "rtt_ms"].to_numpy()
    again = Dataset(samples, data.flows, data.runs)
    table = spread.distinct_traces(again).set_index("qdisc")
    assert table["distinct"].to_dict() == {"codel": 2, "fq_codel": 3}
    couples = spread.pairs(again)
    (same,) = couples[couples["same"]].itertuples()
    assert (same.qdisc, same.seed_a, same.seed_b, same.correlation) == ("codel", 1, 2, 1.0)
    assert math.isnan(same.apart_s)


def test_traces_part_where_they_differ() -> None:
    time_s = np.arange(0, 30, 0.2)
    random = np.random.default_rng(1)
    a = random.normal(size=time_s.size)
    b = np.where(time_s < 10, a, random.normal(size=time_s.size))
    assert 10 < spread.parts_after(a, b, time_s) < 15
    assert spread.parts_after(a, -a, time_s) == pytest.approx(5)


def test_lock_step_is_one_and_independent_flows_are_near_zero(data: Dataset) -> None:
    table = spread.lock_step(data)
    assert len(table) == 12
    assert table["correlation"].abs().max() < 0.3
    samples = data.samples.copy()
    tcp = samples["kind"] == "tcp_download"
    samples.loc[tcp, "goodput_mbit_s"] = 2 + np.sin(samples.loc[tcp, "time_s"])
    table = spread.lock_step(Dataset(samples, data.flows, data.runs))
    down = table[table["kind"] == "tcp_download"]
    assert down["correlation"].to_numpy() == pytest.approx(1)


def test_starts_are_counted_from_the_first_flow(root: Path, tmp_path: Path) -> None:
    starts = spread.flow_starts(find_runs(root, "gbw2015", "rrul", qdiscs=["codel"]))
    assert len(starts) == 3 * 8
    assert starts.groupby("run")["late_ms"].min().tolist() == pytest.approx([0, 0, 0])
    assert starts["late_ms"].max() == pytest.approx(7, abs=0.01)  # 1 ms from flow to flow
    (broken, *_) = find_runs(root, "gbw2015", "rrul")
    path = tmp_path / "none.flent.gz"
    with pytest.raises(EmulationError, match="no such file"):
        spread.flow_starts([type(broken)(**{**broken.__dict__, "data": path})])


def test_spread_of_means_has_an_interval_and_axes(data: Dataset) -> None:
    per_run = run_metrics(data)
    table = spread.spread_of_means(per_run).set_index("qdisc")
    codel = per_run[per_run["qdisc"] == "codel"]["induced_latency_ms"]
    row = table.loc["codel"]
    assert row["sd_latency_ms"] == pytest.approx(codel.std())
    assert row["sd_low_ms"] < row["sd_latency_ms"] < row["sd_high_ms"]
    assert row["major"] >= row["sd_latency_ms"] >= row["minor"]
    assert spread.sd_interval(5) == pytest.approx((0.599, 2.874), abs=1e-3)
    assert math.isnan(spread.sd_interval(1)[0])


def test_collisions() -> None:
    value = spread.outlier_behind_ellipse(149, 8)
    means = np.array([8.0] * 29 + [value])
    assert means.mean() + means.std(ddof=1) == pytest.approx(149)


def test_a_probe_in_another_flows_queue_stands_out(data: Dataset) -> None:
    samples = data.samples.copy()
    hit = (samples["seed"] == 2) & (samples["qdisc"] == "fq_codel")
    hit &= samples["series"] == "Ping (ms) UDP BE1"
    samples.loc[hit, "rtt_ms"] += 40
    table = spread.probe_means(Dataset(samples, data.flows, data.runs))
    (found,) = table[table["excess"] > 3].itertuples()
    assert (found.qdisc, found.seed, found.series) == ("fq_codel", 2, "Ping (ms) UDP BE1")


def test_the_figure_has_four_panels(data: Dataset, root: Path) -> None:
    per_run = run_metrics(data)
    starts = spread.flow_starts(find_runs(root, "gbw2015", "rrul"))
    with styled() as palette:
        figure = seed_spread(
            spread.pairs(data), spread.lock_step(data), starts, spread.spread_of_means(per_run),
            palette, jitter_ms=50,
        )  # fmt: skip
        figure.draw_without_rendering()
    assert len(figure.axes) == 4
    table = spread.summary(data, per_run, starts).set_index("qdisc")
    assert tuple(table.loc["codel", ["distinct", "n_seeds"]]) == (3, 3)
