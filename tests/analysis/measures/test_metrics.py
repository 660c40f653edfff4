"""Metrics against hand-made tables and values worked out by hand."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.errors import DataError
from analysis.measures import metrics
from analysis.runs.dataset import Dataset, find_runs, read_runs
from analysis.runs.published import read_published
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


def test_induced_latency_is_the_loaded_mean_minus_the_base() -> None:
    row = metrics.run_metrics(made(RTT)).iloc[0]
    assert row["mean_rtt_ms"] == pytest.approx(110)
    assert row["induced_latency_ms"] == pytest.approx(60)


def test_other_definitions_of_latency() -> None:
    full = metrics.run_metrics(made(RTT), window="full").iloc[0]
    assert full["induced_latency_ms"] == pytest.approx(432 / 5 - 50)
    late = made([51.0, *RTT[1:]])
    span = metrics.run_metrics(late, latency="mean_span").iloc[0]
    assert span["induced_latency_ms"] == pytest.approx(110 - 51)


def test_goodput_is_the_sum_of_a_direction() -> None:
    moved = metrics.run_metrics(made(RTT)).iloc[0]
    assert moved["goodput_download_mbit_s"] == pytest.approx(5)
    assert moved["goodput_upload_mbit_s"] == pytest.approx(0.75)
    stepped = metrics.run_metrics(made(RTT), goodput="step_mean").iloc[0]
    assert stepped["goodput_download_mbit_s"] == pytest.approx(7.5)


def test_no_sample_in_the_window_is_refused() -> None:
    with pytest.raises(DataError, match=r"seed-001: no sample in the loaded window"):
        metrics.run_metrics(made([50.0]))


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
    curve = metrics.latency_over_time(made(RTT, seeds=(1, 2, 3)).samples, until_s=3)
    assert curve["time_s"].tolist() == [0, 1, 2, 3]
    assert curve["rtt_ms"].tolist() == pytest.approx([60, 110, 120, 130])
    assert set(curve["n_seeds"]) == {3}
    half = 4.302653 * 10 / math.sqrt(3)
    assert (curve["ci_high_ms"] - curve["rtt_ms"]).tolist() == pytest.approx([half] * 4, rel=1e-6)


def test_pointwise_mean_of_one_run_has_no_interval() -> None:
    curve = metrics.latency_over_time(made(RTT).samples)
    assert curve["ci_low_ms"].isna().all()


def test_transient_peak_is_told_from_the_start_of_the_load() -> None:
    row = metrics.transient_metrics(made(RTT, seeds=(1, 2)), until_s=3, tail_s=1).iloc[0]
    assert (row["peak_ms"], row["peak_after_s"], row["n_seeds"]) == (125, 2, 2)
    assert row["mean_ms"] == pytest.approx(115)
    assert row["tail_ms"] == pytest.approx(125)


def test_compare_puts_the_median_beside_the_published_value() -> None:
    cells = metrics.cell_metrics(metrics.run_metrics(made(RTT, seeds=(1, 2, 6))))
    table = metrics.compare(cells, read_published(FIGURE_2, "2c"))
    assert len(table) == 21
    row = table[(table["qdisc"] == "pie") & (table["metric"] == "induced_latency")].iloc[0]
    assert (row["published"], row["ours"], row["n_seeds"]) == (108, 70, 3)
    assert row["difference"] == pytest.approx(-38)
    assert row["ratio"] == pytest.approx(70 / 108)
    assert not row["agrees"]
    assert row["ci_low"] < 80 < row["ci_high"]
    without = table[table["qdisc"] == "sfq"]
    assert without["n_seeds"].tolist() == [0, 0, 0]
    assert without[["ours", "ratio", "agrees"]].isna().all(axis=None)


def test_agreement_takes_the_widest_tolerance() -> None:
    def verdict(published: float, error: float, ours: float, metric: str) -> bool:
        direction = "round_trip" if metric == "induced_latency" else "download"
        cell = {"era": "modern", "link": "10/1", "qdisc": "pie", "cc": "cubic", "metric": metric}
        more = {"direction": direction, "unit": "", "n_seeds": 1, "median": ours, "mean": ours}
        cells = pd.DataFrame([{**cell, **more, "ci_low": math.nan, "ci_high": math.nan}])
        value = {"figure": "2c", **cell, "direction": direction, "value": published, "unit": ""}
        theirs = pd.DataFrame([{**value, "reading_error": error}]).drop(columns=["era", "cc"])
        return bool(metrics.compare(cells, theirs)["agrees"].iloc[0])

    assert verdict(100, 1, 114.9, "induced_latency")
    assert not verdict(100, 1, 115.1, "induced_latency")
    assert verdict(1, 1, 3.9, "induced_latency")
    assert verdict(10, 0.01, 9.71, "goodput")
    assert not verdict(10, 0.01, 9.69, "goodput")
    assert verdict(0.74, 0.05, 0.70, "goodput")


def test_synthetic_levels_come_back(tmp_path: Path) -> None:
    synthetic.write_tree(tmp_path, ("10-10",), seeds=2, length_s=40)
    data = read_runs(find_runs(tmp_path, "gbw2015", "rrul"))
    cells = metrics.cell_metrics(metrics.run_metrics(data))
    table = metrics.compare(cells, read_published(FIGURE_2, "2b"))
    goodput = table[table["metric"] == "goodput"]
    assert goodput["ratio"].between(0.98, 1.02).all()
    assert set(table["n_seeds"]) == {2}
