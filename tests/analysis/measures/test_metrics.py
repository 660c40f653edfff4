"""Metrics against hand-made tables and values worked out by hand."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.measures import metrics
from qdisclab.analysis.runs.dataset import Dataset, find_runs, read_runs
from qdisclab.analysis.runs.published import read_published
from studies.gbw2015.measures import transient
from tests import ROOT
from tests.data import synthetic

FIGURE_2 = ROOT / "studies/gbw2015/published/fig2.csv"


def made(rtt_ms: list[float], seeds: tuple[int, ...] = (1,)) -> Dataset:
    """Runs of 2 s of load after 1 s, sampled each second; every seed adds 10 ms a sample."""
    runs, samples, flows = [], [], []
    for seed in seeds:
        run = f"gbw2015/rrul/10-1/pie/cubic/seed-{seed:03d}"
        cell = {"era": "modern", "link": "10/1", "qdisc": "pie", "cc": "cubic"}
        identity = {"run": run, **cell, "seed": seed}
        runs.append({**identity, "delay_s": 1.0, "length_s": 2.0, "base_rtt_ms": 50.0})
        for second, rtt in enumerate(rtt_ms):
            value = rtt + 10 * (seed - 1)
            samples.append({**identity, "series": "icmp", "kind": "ping_icmp",
                            "time_s": float(second), "rtt_ms": value})  # fmt: skip
        for kind, rates in (("tcp_download", (2.0, 3.0)), ("tcp_upload", (0.25, 0.5))):
            for number, rate in enumerate(rates):
                name = f"{kind}{number}"
                flows.append({"run": run, "series": name, "kind": kind, "goodput_mbit_s": rate})
                samples.extend(
                    {**identity, "series": name, "kind": kind, "time_s": t,
                     "goodput_mbit_s": rate * factor}
                    for t, factor in ((1.0, 1.0), (2.0, 2.0))
                )  # fmt: skip
    labels = {"run": "category", "kind": "category", "link": "category", "qdisc": "category"}
    flow_labels = {"run": "category", "kind": "category", "series": "category"}
    return Dataset(
        pd.DataFrame(samples).astype(labels),
        pd.DataFrame(flows).astype(flow_labels),
        pd.DataFrame(runs).astype({k: v for k, v in labels.items() if k != "kind"}),
    )


RTT = [50.0, 100.0, 110.0, 120.0, 52.0]  # idle, three loaded samples, idle


def test_induced_latency_is_the_mean_of_the_whole_test_minus_the_base() -> None:
    row = metrics.run_metrics(made(RTT)).iloc[0]
    assert row["mean_rtt_ms"] == pytest.approx(432 / 5)
    assert row["induced_latency_ms"] == pytest.approx(432 / 5 - 50)


def test_all_probes_count_as_one_at_each_step() -> None:
    data = made(RTT)
    icmp = data.samples[data.samples["kind"] == "ping_icmp"]
    # a UDP probe with an answer at two of the steps only, 30 ms above ICMP
    later = icmp[icmp["time_s"].between(1, 2)].assign(kind="ping_udp", series="udp")
    udp = later.assign(rtt_ms=later["rtt_ms"] + 30)
    samples = pd.concat([data.samples.astype({"kind": str}), udp]).astype({"run": "category"})
    both = Dataset(samples, data.flows, data.runs)
    row = metrics.run_metrics(both).iloc[0]
    assert row["induced_latency_ms"] == pytest.approx((50 + 115 + 125 + 120 + 52) / 5 - 50)
    alone = metrics.run_metrics(both, probe="ping_icmp").iloc[0]
    assert alone["induced_latency_ms"] == pytest.approx(432 / 5 - 50)


def test_other_definitions_of_latency() -> None:
    loaded = metrics.run_metrics(made(RTT), window="loaded").iloc[0]
    assert loaded["induced_latency_ms"] == pytest.approx(60)
    late = made([51.0, *RTT[1:-1], 53.0])
    span = metrics.run_metrics(late, latency="mean_span").iloc[0]
    assert span["induced_latency_ms"] == pytest.approx((51 + 330 + 53) / 5 - 51)


def test_goodput_is_the_sum_of_a_direction() -> None:
    moved = metrics.run_metrics(made(RTT)).iloc[0]
    assert moved["goodput_download_mbit_s"] == pytest.approx(5)
    assert moved["goodput_upload_mbit_s"] == pytest.approx(0.75)
    stepped = metrics.run_metrics(made(RTT), goodput="step_mean").iloc[0]
    assert stepped["goodput_download_mbit_s"] == pytest.approx(7.5)


def test_no_sample_in_the_window_is_refused() -> None:
    with pytest.raises(DataError, match=r"seed-001: no sample in the loaded window"):
        metrics.run_metrics(made([50.0]), window="loaded")


def test_confidence_interval() -> None:
    interval = metrics.confidence_interval([1.0, 2.0, 3.0])
    # t(0.975, 2) = 4.30265; standard error 1/sqrt(3)
    assert interval.mean == 2
    assert interval.high - interval.mean == pytest.approx(4.302653 / math.sqrt(3), rel=1e-6)
    assert interval.mean - interval.low == pytest.approx(interval.high - interval.mean)


def test_one_value_has_no_interval() -> None:
    interval = metrics.confidence_interval([7.0])
    assert (interval.mean, interval.n) == (7, 1)
    assert math.isnan(interval.low)
    assert math.isnan(interval.high)
    with pytest.raises(ValueError, match="no values"):
        metrics.confidence_interval([])


def test_means_of_groups_leave_out_what_is_not_there() -> None:
    columns = {"qdisc": ["pie", "codel", "pie"], "ms": [1.0, 5.0, 3.0], "s": [math.nan, 2.0, 4.0]}
    table = metrics.means(pd.DataFrame(columns), ["qdisc"], ["ms", "s"], more=["max"])
    assert table[["qdisc", "quantity", "n_seeds", "mean", "max"]].to_numpy().tolist() == [
        ["pie", "ms", 2, 2, 3], ["pie", "s", 1, 4, 4], ["codel", "ms", 1, 5, 5],
        ["codel", "s", 1, 2, 2],
    ]  # fmt: skip
    assert table["ci_low"].iloc[0] == pytest.approx(2 - 12.7062)  # Student's t, one degree
    assert table["ci_low"].isna().tolist() == [False, True, True, True]


def test_interval_covers_the_mean_as_often_as_it_says() -> None:
    random = np.random.default_rng(1)
    draws = random.normal(5, 2, (2000, 4))
    covered = [i.low <= 5 <= i.high for i in map(metrics.confidence_interval, draws)]
    assert np.mean(covered) == pytest.approx(0.95, abs=0.02)


def test_ellipse_of_known_covariance() -> None:
    # points at ±2 along (1, 1)/sqrt(2) and ±1 across: sample variances 8/3 and 2/3
    along, across = np.array([1, 1]) / math.sqrt(2), np.array([1, -1]) / math.sqrt(2)
    points = np.array([2 * along, -2 * along, across, -across]) + np.array([10, 20])
    ellipse = metrics.covariance_ellipse(points[:, 0], points[:, 1])
    assert ellipse is not None
    assert ellipse.center == pytest.approx((10, 20))
    assert ellipse.width == pytest.approx(2 * math.sqrt(8 / 3))
    assert ellipse.height == pytest.approx(2 * math.sqrt(2 / 3))
    assert ellipse.angle_deg % 180 == pytest.approx(45)


def test_two_points_have_no_ellipse() -> None:
    assert metrics.covariance_ellipse([1, 2], [3, 4]) is None


def test_pointwise_mean_over_runs() -> None:
    curve = transient.latency_over_time(made(RTT, seeds=(1, 2, 3)).samples, until_s=3)
    assert curve["time_s"].tolist() == [0, 1, 2, 3]
    assert curve["rtt_ms"].tolist() == pytest.approx([60, 110, 120, 130])
    assert set(curve["n_seeds"]) == {3}
    half = 4.302653 * 10 / math.sqrt(3)
    assert (curve["ci_high_ms"] - curve["rtt_ms"]).tolist() == pytest.approx([half] * 4, rel=1e-6)


def test_pointwise_mean_of_one_run_has_no_interval() -> None:
    curve = transient.latency_over_time(made(RTT).samples)
    assert curve["ci_low_ms"].isna().all()


def test_transient_peak_is_told_from_the_start_of_the_load() -> None:
    row = transient.transient_metrics(made(RTT, seeds=(1, 2)), until_s=3, tail_s=1).iloc[0]
    assert (row["peak_ms"], row["peak_after_s"], row["n_seeds"]) == (125, 2, 2)
    assert row["mean_ms"] == pytest.approx(115)
    assert row["tail_ms"] == pytest.approx(125)


def test_compare_puts_the_median_beside_the_published_value() -> None:
    cells = metrics.cell_metrics(metrics.run_metrics(made(RTT, seeds=(1, 2, 6))))
    table = metrics.compare(cells, read_published(FIGURE_2, "2c"))
    assert len(table) == 21
    row = table[(table["qdisc"] == "pie") & (table["metric"] == "induced_latency")].iloc[0]
    assert (row["published"], row["n_seeds"]) == (108, 3)
    assert row["ours"] == pytest.approx(46.4)
    assert row["difference"] == pytest.approx(46.4 - 108)
    assert row["ratio"] == pytest.approx(46.4 / 108)
    # t(0.975, 2) = 4.30265; 0, 10 and 50 are 10 from their median in the median
    reach = 4.302653 * 1.4826 * 10 * math.sqrt(1 / 3 + 1 / 30) * math.sqrt(math.pi / 2)
    assert row["allowed"] == pytest.approx(reach, rel=1e-4)
    assert not row["agrees"]
    assert row["ci_low"] < 56.4 < row["ci_high"]
    without = table[table["qdisc"] == "sfq"]
    assert without["n_seeds"].tolist() == [0, 0, 0]
    assert without[["ours", "ratio", "agrees"]].isna().all(axis=None)


def test_goodputs_have_their_distance_from_the_first_qdisc_beside() -> None:
    cell = {"era": "modern", "link": "10/1", "cc": "cubic", "metric": "goodput"}
    more = {"direction": "upload", "unit": "", "n_seeds": 3, "std": 0.0, "mad": 0.0, "mean": 0.0}
    edges = {"ci_low": math.nan, "ci_high": math.nan}
    ours = {"pfifo_fast": 0.7, "ared": 0.9}
    cells = pd.DataFrame(
        [{**cell, **more, **edges, "qdisc": name, "median": one} for name, one in ours.items()]
    )
    theirs = read_published(FIGURE_2, "2c", qdiscs=list(ours))
    table = metrics.compare(cells, theirs)
    uploads = table[(table["metric"] == "goodput") & (table["direction"] == "upload")]
    assert uploads["gap"].tolist() == pytest.approx([0, 0.2])
    assert uploads["published_gap"].tolist() == pytest.approx([0, 0.04])
    assert uploads["agrees"].tolist() == [True, False]  # 0.74 and 0.78, read to 0.05
    assert table.loc[table["metric"] == "induced_latency", "gap"].isna().all()


def test_values_of_a_curve_are_compared_at_their_peak_or_time() -> None:
    curve = transient.latency_over_time(made(RTT, seeds=(1, 2, 3)).samples)
    value = {"figure": "7c", "link": "10/1", "qdisc": "pie", "unit": "ms", "reading_error": 1.0}
    wanted = [("peak", 1.0, 130.0), ("time", 1.1, 200.0), ("time", 3.9, 62.0)]
    printed = pd.DataFrame(
        [{**value, "at": at, "time_s": time_s, "value": ms} for at, time_s, ms in wanted]
    )
    table = transient.compare_curves(curve, printed)
    assert table["ours"].tolist() == pytest.approx([130, 110, 62])
    assert table["agrees"].tolist() == [True, False, True]
    assert (table["n_seeds"] == 3).all()
    absent = transient.compare_curves(curve, printed.assign(qdisc="sfq"))
    assert absent["agrees"].isna().all()
    assert set(absent["n_seeds"]) == {0}


def test_synthetic_levels_come_back(tmp_path: Path) -> None:
    synthetic.write_tree(tmp_path, ("10-10",), seeds=2, length_s=40)
    data = read_runs(find_runs(tmp_path, "gbw2015", "rrul"))
    cells = metrics.cell_metrics(metrics.run_metrics(data))
    table = metrics.compare(cells, read_published(FIGURE_2, "2b"))
    goodput = table[table["metric"] == "goodput"]
    assert goodput["ratio"].between(0.98, 1.02).all()
    assert set(table["n_seeds"]) == {2}
