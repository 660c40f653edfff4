"""Runs of campaigns on real computers: windows of flent's time, queues and connections."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.measures import bench
from qdisclab.analysis.runs.dataset import RunFile
from tests.data import provenances

STEP_S = 0.5
RUN = "bbr2016/mixed/20-20/pie/cubic/seed-001"
ZERO = pd.Timestamp("2015-01-01T00:00:10Z")


def content(length_s: float = 60.0, idle_ms: float = 50.0) -> dict[str, Any]:
    """A test whose pings take 10 ms more under load and 30 in its last 5 s, with two uploads."""
    steps = np.arange(0.0, length_s + 10, STEP_S)
    loaded = (steps >= 5) & (steps < length_s + 5)
    late = loaded & (steps >= length_s)
    rtts = np.where(loaded, idle_ms + 10, idle_ms) + np.where(late, 20, 0)
    flow = [
        float(rate) if inside else None for rate, inside in zip(8 + 4 * late, loaded, strict=True)
    ]
    meta = {"BYTES_SENT": 1, "BYTES_RECVD": 1, "ELAPSED_TIME": 1}
    names = ("TCP upload Cubic BE", "TCP upload BBR BE")
    return {
        "version": 4,
        "x_values": list(steps),
        "results": {
            "Ping (ms) ICMP": list(rtts),
            names[0]: flow,
            names[1]: [None if rate is None else rate / 2 for rate in flow],
        },
        "raw_values": {},
        "metadata": {
            "NAME": "cubic_bbr", "LENGTH": length_s, "TOTAL_LENGTH": length_s + 10,
            "STEP_SIZE": STEP_S, "FLENT_VERSION": "2", "T0": ZERO.isoformat(),
            "SERIES_META": dict.fromkeys(("Ping (ms) ICMP", *names), meta),
        },
    }  # fmt: skip


def run_of(folder: Path, told: dict[str, Any]) -> RunFile:
    run = provenances.made_up(
        folder, "bbr2016", "mixed", link="20/20", qdisc="pie", measured_base_rtts_ms=[50.0]
    )
    with gzip.open(run.data, "wt") as stream:
        json.dump(told, stream)
    return run


def test_flows_to_several_addresses_have_numbers_and_no_common_latency(tmp_path: Path) -> None:
    told = content()
    results, about = told["results"], told["metadata"]["SERIES_META"]
    for old, new in (("Cubic BE", "BE1 10.0.4.2"), ("BBR BE", "BE2 10.0.4.3")):
        results[f"TCP upload {new}"] = results.pop(f"TCP upload {old}")
        about[f"TCP upload {new}"] = about.pop(f"TCP upload {old}")
    for address in ("10.0.4.2", "10.0.4.3"):
        results[f"Ping (ms) ICMP {address}"] = results["Ping (ms) ICMP"]
        about[f"Ping (ms) ICMP {address}"] = about["Ping (ms) ICMP"]
    del results["Ping (ms) ICMP"], about["Ping (ms) ICMP"]
    found = bench.measure(run_of(tmp_path, told))
    assert found["up_flow_1_mbit_s"] == pytest.approx(2 * found["up_flow_2_mbit_s"])
    assert found["up_jain"] == pytest.approx(0.9)
    assert not [name for name in found if name.startswith("icmp_")]


def series(run: RunFile, probe: str, rows: list[dict[str, Any]]) -> None:
    path = run.provenance.with_name(f"{run.provenance.stem}.{probe}.parquet")
    pd.DataFrame(rows).to_parquet(path, index=False)


def at(second: float) -> int:
    return int(ZERO.value + second * 1e9)


def test_windows_are_those_of_flents_time(tmp_path: Path) -> None:
    """The window ends 5 s before the load, whose last 5 s are 20 ms longer, and twice as fast."""
    found = bench.measure(run_of(tmp_path, content()))
    assert found["icmp_idle_median_ms"] == 50
    assert found["icmp_induced_mean_ms"] == 10
    assert found["icmp_induced_p99_ms"] == 10
    assert found["icmp_induced_mean_load_ms"] == pytest.approx(10 + 20 * 5 / 60)
    assert found["icmp_mean_minus_min_ms"] == 10
    assert found["icmp_loss_percent"] == 0
    assert (found["up_cubic_be_mbit_s"], found["up_bbr_be_mbit_s"]) == (8, 4)
    assert found["up_goodput_mbit_s"] == 12
    assert found["up_goodput_load_mbit_s"] == pytest.approx(12 + 6 * 5 / 60)
    assert found["up_jain"] == pytest.approx((8 + 4) ** 2 / (2 * (64 + 16)))
    assert not any(name.startswith("down") for name in found)


def test_pings_without_an_answer_are_losses(tmp_path: Path) -> None:
    told = content()
    told["results"]["Ping (ms) ICMP"][40:49] = [None] * 9  # 20 s to 24 s, of 45 s in the window
    found = bench.measure(run_of(tmp_path, told))
    assert found["icmp_loss_percent"] == pytest.approx(100 * 9 / 90)


def test_a_length_without_a_window_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="a load of 30 s, and windows for 60, 40, 20, 10 s alone"):
        bench.measure(run_of(tmp_path, content(30.0)))


@pytest.mark.parametrize(
    ("kind", "marked", "parent"),
    [("pie", "pie_ecn_mark", "1:10"), ("cake", "cake_tin0_ecn_marked_packets", "root"),
     ("red", "red_marked", "1:10")],
)  # fmt: skip
def test_queues(tmp_path: Path, kind: str, marked: str, parent: str) -> None:
    """Events of the window are counted there; shares are of all packets of the run."""
    run = run_of(tmp_path, content())
    rows = []
    for second, drops, marks, backlog in (
        (6, 1, 2, 99_000),
        (20, 3, 10, 10_000),
        (59, 8, 30, 20_000),
        (64, 20, 50, 0),
    ):
        queue = {
            "time_ns": at(second),
            "node": "box",
            "interface": "box-delay",
            "parent": parent,
            "sent_packets": 1000,
            "drops": drops,
            "backlog_bytes": backlog,
            marked: marks,
        }
        shaper = {**queue, "parent": "root", "drops": 999, marked: np.nan}
        rows += [queue] if parent == "root" else [shaper, queue]
        rows.append({**queue, "node": "client", "interface": "client-box", "drops": 777})
    series(run, "qdisc", rows)
    found = bench.measure(run)
    assert (found["up_drops"], found["up_marks"]) == (5, 20)
    assert found["up_backlog_kb"] == 15
    assert found["up_drop_percent"] == pytest.approx(100 * 20 / 1020)
    assert found["up_mark_percent"] == pytest.approx(100 * 50 / 1000)


def test_one_connection(tmp_path: Path) -> None:
    run = run_of(tmp_path, content())
    rows = [
        {"time_ns": at(second), "node": node, "local_port": 1, "remote_port": 2,
         "bytes_sent": 5_000_000, "srtt_us": srtt, "cwnd_packets": 40,
         "total_retrans_packets": sent}
        for second, srtt, sent in ((6, 99_000, 1), (20, 60_000, 4), (50, 80_000, 9))
        for node in ("client", "server")
    ]  # fmt: skip
    series(run, "sockets", rows)
    found = bench.measure(run)
    assert found["tcp_rtt_mean_ms"] == 20  # less the idle path's 50 ms
    assert found["tcp_rtt_p99_ms"] == pytest.approx(30, abs=0.3)
    assert (found["cwnd_mean_segments"], found["retransmits"]) == (40, 5)
    series(run, "sockets", [*rows, {**rows[0], "local_port": 3}])
    assert "tcp_rtt_mean_ms" not in bench.measure(run)
