"""What boots the kernel: a link whose rate changes, small packets, and a probe more."""

import json
from pathlib import Path

import pandas as pd
import pytest

from qdisclab.analysis.runs.dataset import find_runs
from qdisclab.emulation import kernel
from qdisclab.emulation.config.catalogue import experiment, select
from qdisclab.emulation.kinds.probes.probe import Probe
from qdisclab.emulation.machine import rootfs
from qdisclab.emulation.model.run import Run
from qdisclab.emulation.model.units import Duration
from qdisclab.emulation.runs.run import execute
from studies.codel2012.measures.gateways import changes, read_run

pytestmark = pytest.mark.kernel


def changing() -> Run:
    """The consumer edge at 1.5 Mbit/s for 6 s, of which 3 s with 1 Mbit/s."""
    (run,) = select(
        experiment("codel2012/edge"),
        link="1.5/1.5",
        qdisc="codel",
        cc="cubic",
        seed=1,
        length=Duration.parse("6 s"),
        settings={"traffic.words.changes": ["3=1"]},
    )
    return run


def test_the_rate_changes_at_its_moment_and_every_packet_is_counted(tmp_path: Path) -> None:
    run = changing()
    execute(run, kernel.build(), rootfs.build(), tmp_path)
    (file,) = find_runs(tmp_path, "codel2012", run.point.label, length=run.other_length)
    assert changes(file) == [(0.0, 1.5), (3.0, 1.0)]
    forward, reverse = read_run(file)
    assert (forward["direction"], reverse["direction"]) == ("forward", "reverse")
    table = pd.read_csv(file.provenance.with_suffix(".queues.csv"))
    rows = table.set_index(["direction", "source"])
    assert {"bulk 0", "cbr 0", "web"} < set(rows.loc["forward"].index)
    # 80 packets a second for 6 s, less what is still on its way at the end.
    calls = rows.loc[("forward", "cbr 0")]
    assert 460 <= calls["sent"] + calls["dropped"] <= 480
    assert rows.loc[("reverse", "upload"), "sent"] > 0
    assert 50 < forward["utilisation_percent"] <= 100.5  # of 3 s of 1.5 and 3 s of 1 Mbit/s


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


def test_another_probe_changes_no_byte(tmp_path: Path) -> None:
    run = select(experiment("codel2012/window_25"), seed=1, era="2014c-host_noise")[0]
    for folder, probes in (("one", ()), ("other", (Probe.parse("qdisc"), Probe.parse("sockets")))):
        execute(run, kernel.build(), rootfs.build(), tmp_path / folder, probes=probes)
    one, other = (next((tmp_path / name).rglob("*.json")) for name in ("one", "other"))
    for name in ("data_sha256", "qdiscs", "virtual_s"):
        assert json.loads(one.read_text())[name] == json.loads(other.read_text())[name]
