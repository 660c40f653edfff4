"""Tests of emulation.captures.places: where captures are taken, and how a run keeps them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from emulation import kernel
from emulation.captures import pcap, places
from emulation.config.catalogue import select
from emulation.config.job import job_of
from emulation.machine import rootfs
from emulation.model.run import Experiment, Run
from emulation.model.units import Duration
from emulation.runs.run import execute, paths


@pytest.fixture
def codel(rrul: Experiment) -> Run:
    length = Duration.parse("5 s")
    (one,) = select(rrul, link="10/1", qdisc="codel", cc="reno", seed=3, length=length)
    return one


def test_both_queues_under_test_are_captured(codel: Run) -> None:
    assert places.under_test(codel.topology) == [
        {"node": "router_up", "interface": "r1-delay"},
        {"node": "router_down", "interface": "r2-delay"},
    ]
    assert job_of(codel)["queues"] == places.under_test(codel.topology)
    assert "capture" not in job_of(codel)
    target, _ = paths(codel, Path("data"))
    names = {node: path.name for node, path in places.pcaps(codel.topology, target).items()}
    assert names["router_up"] == "seed-003.router_up.pcap.gz"


@pytest.mark.kernel
def test_a_captured_run(codel: Run, tmp_path: Path) -> None:
    result = execute(codel, kernel.build(), rootfs.build(), tmp_path / "with", captures=True)
    captured = places.pcaps(codel.topology, result.data)
    assert sorted(path.name for path in result.data.parent.iterdir()) == sorted(
        [result.data.name, result.provenance.name, *(path.name for path in captured.values())]
    )
    for path in captured.values():
        times = [packet.time_ns for packet in pcap.read(path)]
        assert len(times) > 1000
        assert times == sorted(times)
    plain = execute(codel, kernel.build(), rootfs.build(), tmp_path / "without")
    assert plain.data.read_bytes() == result.data.read_bytes()
    told = [json.loads(one.provenance.read_text()) for one in (plain, result)]
    for name in ("identity", "qdiscs", "virtual_s"):
        assert told[0][name] == told[1][name]
