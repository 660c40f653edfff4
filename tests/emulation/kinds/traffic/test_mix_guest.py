"""What boots the kernel: a load between gateways whose rate changes, and small packets."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from analysis.measures.gateways import read_run, steps
from analysis.runs.dataset import find_runs
from emulation import kernel
from emulation.config.catalogue import experiment, select
from emulation.kinds.traffic.mix import Change
from emulation.machine import rootfs
from emulation.model.run import Run
from emulation.model.units import Duration, Rate
from emulation.runs.run import execute

pytestmark = pytest.mark.kernel


def changing(length: str) -> Run:
    """The consumer edge at 1.5 Mbit/s, which after 3 s becomes one of 0.3 Mbit/s."""
    (run,) = select(
        experiment("codel2012/edge"),
        link="1.5/1.5",
        qdisc="codel",
        cc="cubic",
        seed=1,
        length=Duration.parse(length),
    )
    change = Change(Duration.parse("3 s"), Rate.parse("300 kbit/s"))
    rig = run.rig.model_copy(update={"schedule": (change,)})
    traffic = run.traffic.model_copy(update={"step": Duration.parse("500 ms")})
    return replace(run, point=replace(run.point, rig=rig, traffic=traffic))


def test_the_rate_changes_at_its_moment_and_every_packet_is_counted(tmp_path: Path) -> None:
    run = changing("6 s")
    execute(run, kernel.build(), rootfs.build(), tmp_path)
    (file,) = find_runs(tmp_path, "codel2012", run.point.label, length=run.other_length)
    told = json.loads(file.provenance.read_text())
    assert [one["rate_bit_s"] for one in told["changes"]] == [300_000, 300_000]
    assert all(abs(late) < 10_000 for one in told["changes"] for late in one["late_ns"])
    forward, reverse = read_run(file)
    assert (forward["direction"], reverse["direction"]) == ("forward", "reverse")
    sources = told["queues"]["forward"]["sources"]
    assert {"cbr 0", "web"} < set(sources)
    # 80 packets a second for 6 s, less what is still on its way at the end.
    assert 460 <= sources["cbr 0"]["packets"] <= 480
    assert told["queues"]["reverse"]["sources"]["upload"]["packets"] > 0
    table = steps(file)
    # A packet of 1514 bytes is 0.024 Mbit/s of a step; the one on its way still has the old rate.
    assert table["mbit_s"].max() < 1.5 + 0.05
    after = table[table["time_s"] > 3.6]
    assert after["mbit_s"].max() < 0.3 + 0.05
    assert after["mbit_s"].mean() > 0.25
    assert table["kilobytes"].iloc[-1] == pytest.approx(forward["kilobytes"], rel=0.01)


def test_small_packets_go_through_queues_that_know_of_them(tmp_path: Path) -> None:
    about = experiment("codel2012/low_500_rtt_30ms")
    (run,) = select(
        about, link="0.512/0.512", qdisc="codel_mtu500", cc="cubic", seed=1,
        length=Duration.parse("4 s"),
    )  # fmt: skip
    execute(run, kernel.build(), rootfs.build(), tmp_path)
    (file,) = find_runs(tmp_path, "codel2012", run.point.label, length=run.other_length)
    (forward,) = read_run(file)
    assert forward["kilobytes"] * 1000 / forward["sent"] == pytest.approx(514, rel=0.03)
    assert forward["utilisation_percent"] > 50
