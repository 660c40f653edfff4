"""A watched run: what its tools print becomes readings, and it can be stopped."""

import importlib
import json
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from qdisclab.analysis.live import explorer, readings
from qdisclab.analysis.measures import metrics
from qdisclab.analysis.plots import style
from qdisclab.analysis.runs import dataset
from qdisclab.emulation.config.explore import Choice
from qdisclab.emulation.errors import Interrupted
from qdisclab.emulation.model.units import Duration
from qdisclab.emulation.runs.live import Live

START = 1420070410.0


def fping(count: int) -> str:
    lines = [
        f"[{START + 0.2 * n + 0.05:.5f}] 10.0.4.2 : [{n}], 64 bytes, {rtt:.1f} ms (50 avg, 0% loss)"
        for n, rtt in enumerate([50.0] * 25 + [80.0] * (count - 25))
    ]
    return "/usr/bin/fping -D -p 200 -c 150 -t 60000 10.0.4.2 \n" + "\n".join(lines) + "\n"


def netperf(test: str, rates: list[float], ended: bool = False) -> str:
    text = f"/usr/bin/netperf -P 0 -D -0.20 -H 10.0.4.2 -t {test} -l 20 -- -H 10.0.4.2\n"
    for n, rate in enumerate(rates):
        text += (
            f"NETPERF_INTERIM_RESULT[{n}]={rate:.2f}\nNETPERF_UNITS[{n}]=10^6bits/s\n"
            f"NETPERF_INTERVAL[{n}]=0.500\nNETPERF_ENDING[{n}]={START + 5 + (n + 1) / 2:.3f}\n"
        )
    if ended:
        text += "ELAPSED_TIME=4.00\nLOCAL_BYTES_SENT=0\nLOCAL_BYTES_RECVD=1500000\n"
    return text


def test_readings_and_numbers_of_what_was_printed() -> None:
    outputs = {
        "7": fping(50),
        "8": netperf("TCP_MAERTS", [2, 4, 4]),
        "9": netperf("TCP_MAERTS", [1, 1], ended=True),
        "10": netperf("TCP_STREAM", [5]) + "NETPERF_INTERIM_RESULT[1]=9.9",  # cut off
        "11": "/usr/bin/fping -c 1 localhost \n",
    }
    found = readings.readings(outputs)
    assert [flow.direction for flow in found.flows] == ["download", "download", "upload"]
    assert found.ping_s[:2] == pytest.approx([0.05, 0.25], abs=1e-5)
    assert found.flows[0].ends_s == pytest.approx([5.5, 6.0, 6.5], abs=1e-5)
    chosen = Choice("a/b", base_rtt=Duration.parse("50 ms"), length=Duration.parse("20 s"))
    now = readings.numbers(found, chosen)
    assert now.latency_ms == pytest.approx(30)
    assert now.download_mbit_s == pytest.approx((2 + 4 + 4) / 3 + 1.5e6 * 8e-6 / 4)
    assert now.upload_mbit_s == pytest.approx(5)


def test_the_sum_of_flows_ends_with_the_one_that_reported_least() -> None:
    outputs = {
        "7": fping(30),
        "8": netperf("TCP_MAERTS", [4] * 8),
        "9": netperf("TCP_MAERTS", [1] * 4),
    }
    time_s, rate = readings.goodput(readings.readings(outputs).flows, "download")
    assert time_s[-1] < 7.0
    assert rate[-1] == pytest.approx(5)
    assert rate[0] == pytest.approx(0)
    nothing, _ = readings.goodput([], "upload")
    assert nothing.size == 0


def test_what_waits_in_the_queue_under_test_and_was_dropped() -> None:
    shaper = {"dev": "r1-delay", "kind": "htb", "root": True, "qlen": 9, "drops": 9}
    tested = {"dev": "r1-delay", "kind": "codel", "parent": "1:1", "qlen": 4, "drops": 2}
    other = {"dev": "r1-lan", "kind": "pfifo", "root": True, "qlen": 1, "drops": 1}
    lines = [[START + 7, "router_up", [shaper, tested, other]], [START + 8, "client", [shaper]],
             [START + 8, "router_up", [other, {**tested, "qlen": 5}]]]  # fmt: skip
    text = "".join(f"{json.dumps(line)}\n" for line in lines) + "[1, "  # being written
    outputs = {"7": fping(50), "qdiscs": text}
    queues = readings.readings(outputs, [("router_up", "r1-delay")]).queues
    assert list(queues) == ["router_up r1-delay"]
    queue = queues["router_up r1-delay"]
    assert queue.time_s == pytest.approx([7, 8], abs=1e-5)
    assert (list(queue.packets), list(queue.drops)) == ([4, 5], [2, 2])
    assert readings.readings(outputs).queues == {}


def test_nothing_yet_is_drawn_as_well(tmp_path: Path) -> None:
    found = readings.readings({})
    chosen = Choice("a/b", qdisc="codel", length=Duration.parse("20 s"))
    assert np.isnan(readings.numbers(found, chosen)).all()
    with style.styled() as palette:
        drawn = readings.figure(found, palette, chosen, [], None)
        assert readings.png(drawn).startswith(b"\x89PNG")


def test_the_paper_and_the_shipped_runs_are_beside_a_cell(root: Path) -> None:
    printed_values = root / "studies/gbw2015/published/fig2.csv"
    cell = Choice("gbw2015/rrul", qdisc="codel").published()
    assert cell is not None
    printed = explorer.published(cell, printed_values)
    assert printed == {"latency": 35, "upload": 9.04}
    number, medians = explorer.shipped("gbw2015", cell, "2014", root / "data")
    assert number >= 3
    assert 30 < medians["latency"] < 60
    reno = Choice("gbw2015/rrul", qdisc="codel", cc="reno").published()
    assert reno is not None
    assert explorer.published(reno, printed_values) == {}


def test_options_with_several_values(
    guest_modules: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a watched run an option is given once a word."""
    sys.modules.pop("live", None)
    guest = importlib.import_module("live")
    asked: list[dict[str, Any]] = []
    monkeypatch.setattr(guest, "PLACE", str(tmp_path / "live"))
    monkeypatch.setattr(guest, "run_flent", lambda rig, traffic, status: asked.append(traffic))
    guest.run(
        SimpleNamespace(ports={}),
        {"options": {"test-parameter": "a=1 b=2", "x": "y"}},
        lambda step: None,
    )
    assert asked == [{"options": {"test-parameter": ["a=1", "b=2"], "x": ["y"]}}]
    sys.modules.pop("live")


@pytest.mark.kernel
def test_a_run_is_watched_to_its_end(tmp_path: Path) -> None:
    """What was read off the tools is what flent makes of it in the end."""
    chosen = Choice("gbw2015/rrul", qdisc="fq_codel", length=Duration(8 * 10**9))
    run = Live(chosen.run(), tmp_path).start()
    amounts = []
    while not run.finished:
        amounts.append(readings.readings(dict(run.outputs)).ping_s.size)
        time.sleep(0.05)
    assert run.error is None
    assert len(set(amounts)) > 3  # it grew
    now = readings.numbers(readings.readings(run.outputs), chosen)
    files = dataset.find_runs(tmp_path, "gbw2015", "rrul", eras="2014", length="8s")
    (row,) = metrics.run_metrics(
        dataset.read_runs(files), window="loaded", probe="ping_icmp"
    ).to_dict("records")
    assert now.latency_ms == pytest.approx(row["induced_latency_ms"], abs=0.2)
    assert now.download_mbit_s == pytest.approx(row["goodput_download_mbit_s"], rel=1e-3)
    assert now.upload_mbit_s == pytest.approx(row["goodput_upload_mbit_s"], rel=1e-3)


@pytest.mark.kernel
def test_a_run_can_be_stopped(tmp_path: Path) -> None:
    run = Live(Choice("gbw2015/rrul", length=Duration(60 * 10**9)).run(), tmp_path).start()
    while not run.outputs and not run.finished:
        time.sleep(0.05)
    run.stop()
    run.wait()
    assert isinstance(run.error, Interrupted)
    assert not list(tmp_path.rglob("*.json"))
