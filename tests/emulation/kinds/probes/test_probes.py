"""emulation.kinds.probes: where probes are, and what they record."""

import gzip
import json
import struct
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from qdisclab.emulation import kernel
from qdisclab.emulation.captures import samples
from qdisclab.emulation.captures.packets import read as read_packets
from qdisclab.emulation.config.catalogue import experiment, select
from qdisclab.emulation.config.job import job_of
from qdisclab.emulation.errors import ConfigError, GuestFailure
from qdisclab.emulation.kinds.probes import probe
from qdisclab.emulation.kinds.probes.probe import Probe
from qdisclab.emulation.machine import rootfs
from qdisclab.emulation.model.run import Experiment, Run
from qdisclab.emulation.model.topology import Topology
from qdisclab.emulation.model.units import Duration
from qdisclab.emulation.runs.run import execute
from tests import ROOT

SAMPLES = ROOT / "tests" / "data" / "samples.gz"  # of RRUL with PIE, 7 s into the run


@pytest.fixture
def pie(rrul: Experiment) -> Run:
    length = Duration.parse("5 s")
    (one,) = select(rrul, link="10/10", qdisc="pie", cc="cubic", seed=1, length=length)
    return one


def test_what_is_written_is_what_is_meant() -> None:
    assert Probe.parse("qdisc") == Probe("qdisc", Duration.parse("10 ms"))
    assert str(Probe.parse("qdisc:1 ms:router_up r1-delay")) == "qdisc:1ms:router_up r1-delay"
    assert Probe.parse("sockets:client").node == "client"
    assert Probe.parse("capture:client client-r1").interval is None


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("qdsc", "did you mean 'qdisc'"),
        ("qdisc:10", "a bare number has no unit"),
        ("qdisc:0ms", "never ends"),
        ("sockets:client client-r1", "is not a probe of kind 'sockets'"),
        ("capture:1ms:a b", "is not a probe of kind 'capture'"),
        ("drops:1ms", "is not a probe of kind 'drops'"),
    ],
)
def test_bad_text_is_refused(text: str, what: str) -> None:
    with pytest.raises(ConfigError, match=what):
        Probe.parse(text)


def test_places(pie: Run) -> None:
    places = Probe.parse("qdisc").places(pie)
    assert [place["interface"] for place in places] == ["r1-delay", "r2-delay"]
    assert {place["interval_ns"] for place in places} == {10_000_000}
    hosts = Probe.parse("sockets").places(pie)
    assert [place["node"] for place in hosts] == ["client", "server"]
    for text in ("qdisc:nowhere r1-delay", "qdisc:client eth0", "sockets:nobody"):
        with pytest.raises(ConfigError, match=r"no (node|interface)"):
            probe.places((Probe.parse(text),), pie)
    with pytest.raises(ConfigError, match="two intervals of sockets at client"):
        probe.places((Probe.parse("sockets"), Probe.parse("sockets:1ms:client")), pie)
    assert len(probe.places((Probe.parse("sockets"), Probe.parse("sockets:client")), pie)) == 2
    assert "probes" not in job_of(pie)


def recorded() -> tuple[list[dict[str, Any]], bytes]:
    """The places and samples of a run: a line of JSON, and what the module wrote."""
    places, _, content = gzip.decompress(SAMPLES.read_bytes()).partition(b"\n")
    return json.loads(places), content


def test_recorded_samples() -> None:
    places, content = recorded()
    tables = samples.tables(places, probe.sampled_kinds(places), content)
    queues = tables["qdisc"]
    assert list(queues.kind) == ["tbf", "pie", "tbf", "pie"]
    assert list(queues.handle) == ["1:", "10:", "1:", "10:"]
    assert list(queues.parent) == ["root", "1:1", "root", "1:1"]
    under_test = queues[queues.kind == "pie"]
    assert (under_test.pie_packets_in >= under_test.sent_packets).all()
    assert queues[queues.kind == "tbf"].pie_delay_us.isna().all()
    flows = tables["sockets"]
    assert set(flows.congestion_control) == {"cubic"}
    assert {"10.0.1.1", "10.0.4.2"} == set(flows.local)
    assert flows.min_rtt_us.dropna().between(50_000, 51_000).all()  # the path takes 50.002 ms


def test_a_record_cut_short_is_refused() -> None:
    places = [{"kind": "qdisc"}]
    with pytest.raises(ConfigError, match="end within a record"):
        samples.tables(
            places, probe.sampled_kinds(places), (1).to_bytes(8, "little") + b"\0\0\0\0\x09\0\0\0"
        )


def test_what_the_module_is_told(pie: Run) -> None:
    wanted = tuple(map(Probe.parse, ("sockets:1ms:server", "capture:router_up r1-delay")))
    told = struct.iter_unpack("<QII16s", probe.for_module(wanted, pie))
    names = [node.name for node in pie.topology.nodes]
    assert [(place[0], place[1], names[place[2] - 1]) for place in told] == [
        (1_000_000, 1, "server"),
        (0, 2, "router_up"),
    ]


@pytest.mark.parametrize("text", ["qdisc", "qdisc:1ms", "capture"])
def test_a_probe_without_a_place_is_refused(
    pie: Run, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(Topology, "queues", lambda topology: ())
    with pytest.raises(ConfigError, match=f"--probe {text}.*has no default place.*name a place: "):
        probe.check((Probe.parse("sockets"), Probe.parse(text)), pie)


def test_a_guest_that_recorded_nothing_is_refused(pie: Run, tmp_path: Path) -> None:
    with pytest.raises(GuestFailure, match="no probe could start"):
        probe.reduce((Probe.parse("qdisc"),), pie, tmp_path)


def test_a_series_that_was_sampled_otherwise_is_not_taken_for_it(pie: Run, tmp_path: Path) -> None:
    table = pd.DataFrame({"time_s": [0.0]})
    table.attrs["places"] = probe.places((Probe.parse("qdisc:1ms"),), pie)
    path = tmp_path / f"{pie.id}.qdisc.parquet"
    path.parent.mkdir(parents=True)
    table.to_parquet(path)
    probe.check_there((Probe.parse("qdisc:1ms"), Probe.parse("sockets")), pie, tmp_path)
    for text in ("qdisc", "qdisc:1ms:router_up r1-delay"):
        with pytest.raises(ConfigError, match="the existing series is of qdisc:1 ms:"):
            probe.check_there((Probe.parse(text),), pie, tmp_path)


def runs() -> dict[str, Run]:
    """Loads that differ in who sleeps and who starts what."""
    asked: dict[str, tuple[str, dict[str, Any]]] = {
        "rrul": ("gbw2015/rrul", {"link": "10/10", "qdisc": "pie", "cc": "cubic"}),
        "voip": ("gbw2015/call_rrul", {"link": "10/10", "qdisc": "pie", "cc": "cubic"}),
        "iperf": ("khademi2013/flows_4", {"link": "10/10", "qdisc": "codel_5ms", "era": "2013"}),
        "window": ("codel2012/window", {}),
    }
    length = Duration.parse("5 s")
    return {
        name: select(experiment(ref), seed=1, **options, length=length)[0]
        for name, (ref, options) in asked.items()
    }


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("name", "interval"),
    [("rrul", "10ms"), ("rrul", "1ms"), ("voip", "10ms"), ("iperf", "1ms"), ("window", "10ms")],
)
def test_a_run_with_probes_is_the_run_without(name: str, interval: str, tmp_path: Path) -> None:
    run = runs()[name]
    wanted = tuple(
        map(Probe.parse, (f"qdisc:{interval}", f"sockets:{interval}", "capture", "packets"))
    )
    root, built = rootfs.build(), kernel.build()
    plain = execute(run, built, root, tmp_path / "without")
    result = execute(run, built, root, tmp_path / "with", probes=wanted)
    assert plain.data.read_bytes() == result.data.read_bytes()
    told = [json.loads(one.provenance.read_text()) for one in (plain, result)]
    for key in ("identity", "qdiscs", "virtual_s", "kernel_log_sha256"):
        assert told[0][key] == told[1][key]
    stem = result.data.name.removesuffix(".flent.gz")
    place = run.topology.queues()[0]
    queues = pd.read_parquet(result.data.with_name(f"{stem}.qdisc.parquet"))
    here = queues[(queues.node == place.node) & (queues.interface == place.interface)]
    counted = told[1]["qdiscs"][f"{place.node} {place.interface}"]["qdiscs"][-1]
    last = here[here.handle == counted["handle"]].iloc[-1]
    # The window's connection ends with its run: its last ACK may pass after the last look.
    after = counted["packets"] - last.sent_packets
    assert 0 <= after <= (name == "window")
    assert (last.sent_bytes + 54 * after, last.drops) == (counted["bytes"], counted["drops"])
    probe.check_there(wanted, run, tmp_path / "with")
    flows = pd.read_parquet(result.data.with_name(f"{stem}.sockets.parquet"))
    assert flows.bytes_acked.max() > 100_000
    packets = result.data.with_name(f"{stem}.{place.node}.{place.interface}.pcap.gz")
    assert len(gzip.decompress(packets.read_bytes())) > 100_000
    followed = read_packets(packets.with_name(packets.name.replace("pcap.gz", "packets.parquet")))
    fates = followed["fate"].value_counts()
    assert counted["packets"] - 20 < fates["sent"] + fates["marked"] <= counted["packets"]
    assert fates["dropped"] == counted["drops"]
    waited = followed["sojourn_ns"].dropna()
    assert (waited >= 0).all() and waited.max() > 0
