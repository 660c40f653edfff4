"""Tests of emulation.kinds.probes.queue: where packets are recorded, and what is made of them."""

import csv
import json
from pathlib import Path

import pandas as pd
import pytest

from qdisclab.emulation.captures import packets as captured, samples
from qdisclab.emulation.captures.packets import CAME, ENTERED, LEFT, REFUSED
from qdisclab.emulation.config.catalogue import experiment, select
from qdisclab.emulation.errors import ConfigError, GuestFailure
from qdisclab.emulation.kinds.probes import probe, queue
from qdisclab.emulation.kinds.probes.probe import Probe
from qdisclab.emulation.model.run import Run
from qdisclab.emulation.model.units import Duration
from tests.emulation.captures.made import segment
from tests.emulation.captures.passages import Passage, records, sampled

UP, DOWN = ("router_up", "r1-delay"), ("router_down", "r2-delay")
UPLOAD = (("10.0.1.1", 5000), ("10.0.4.2", 12865))


def run(name: str = "gbw2015/rrul", length: str = "", **chosen: str) -> Run:
    more = {"length": Duration.parse(length)} if length else {}
    return select(experiment(name), **{"link": "10/1", "qdisc": "codel", **chosen}, **more, seed=1)[
        0
    ]


@pytest.fixture
def sampled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counters were sampled as the records begin."""
    none = {"sent_packets": 0, "drops": 0, "backlog_packets": 0, "codel_ecn_mark": 0.0}
    where = {"time_ns": 0, "node": UP[0], "interface": UP[1], **none}
    rows = [("tbf", "1:", "root"), ("codel", "10:", "1:1")]
    names = ("kind", "handle", "parent")
    table = pd.DataFrame([where | dict(zip(names, row, strict=True)) for row in rows])
    monkeypatch.setattr(samples, "tables", lambda places, kinds, content: {"queue": table})


def leave(folder: Path, probes: tuple[Probe, ...], dropped: int = 1) -> None:
    """What a guest leaves of two hundred segments of an upload, of which the tenth is refused."""
    passages: list[Passage] = [sampled(0)]
    for number in range(200):
        data = segment(*UPLOAD, seq=1448 * number, payload=1448, id=number)
        passages.append((ENTERED, number, data, 0 if number == 0 else 20))
        fate = (REFUSED, number) if number == 10 else (LEFT, number + 20)
        passages.append((*fate, data, 0))
    passages.append((CAME, 250, segment(*UPLOAD[::-1], ack=1448 * 200), 0))
    records(folder / "probe.0.queue", sorted(passages, key=lambda passage: passage[1]))
    counters = {"qlen": 0, "packets": 199, "drops": dropped}
    tbf = {"kind": "tbf", "handle": "1:", "root": True, **counters}
    codel = {"kind": "codel", "handle": "10:", "parent": "1:1", "ecn_mark": 0, **counters}
    (folder / "qdiscs.json").write_text(json.dumps({" ".join(UP): {"qdiscs": [tbf, codel]}}))
    (folder / probe.SAMPLES).write_bytes(b"")


def test_places() -> None:
    all_queues = Probe.parse("packets").places(run())
    assert [(place["node"], place["interface"]) for place in all_queues] == [UP, DOWN]
    assert queue.first_place(run()) == [UP]
    (place,) = Probe.parse("packets:client client-r1").places(run())
    assert place == {
        "kind": "queue", "interval_ns": 10**8, "node": "client", "interface": "client-r1"
    }  # fmt: skip
    over_wifi = run("gbw2015/wifi_rrul", link="100/100")
    assert queue.first_place(over_wifi) == [("client", "client-ap1")]
    flows = run("khademi2013/flows_4", link="10/10", qdisc="codel_5ms")
    probe.check((Probe.parse("drops"),), flows)  # whatever sends
    assert set(map(str, queue.rtts(flows).values())) == {"100 ms"}


def test_a_queue_without_a_target_has_no_start() -> None:
    with pytest.raises(ConfigError, match="'sfq' has no target"):
        probe.check((Probe.parse("startup"),), run(qdisc="sfq"))
    with pytest.raises(ConfigError, match="no queue under test at client client-r1"):
        probe.check((Probe.parse("startup:client client-r1"),), run())


def test_a_table_that_would_not_fit_is_refused() -> None:
    probe.check((Probe.parse("packets"),), run(link="100/100"))
    with pytest.raises(ConfigError, match="packets would pass, at most 15,000,000 can be"):
        probe.check((Probe.parse("packets"),), run(link="1000/1000", length="1000 s"))


def test_what_is_made_of_a_queue_is_recorded_once() -> None:
    texts = ("packets", "drops", "startup", "drops:router_down r2-delay")
    probes = tuple(map(Probe.parse, texts[:3]))
    places = probe.places(probes, run())
    assert [(place["kind"], place["node"]) for place in places] == [
        ("queue", UP[0]),
        ("queue", DOWN[0]),
    ]
    assert probe.files(probes, run()) == {
        "probe.router_up.r1-delay.packets.parquet": ".router_up.r1-delay.packets.parquet",
        "probe.router_down.r2-delay.packets.parquet": ".router_down.r2-delay.packets.parquet",
        "probe.drops.csv": ".drops.csv",
        "probe.startup.csv": ".startup.csv",
    }
    twice = (Probe.parse("packets"), Probe.parse("packets:router_up r1-delay"))
    assert len(probe.places(twice, run())) == 2


def test_a_node_stands_for_its_queues_under_test() -> None:
    (place,) = Probe.parse("packets:router_up").places(run())
    assert (place["node"], place["interface"]) == UP
    with pytest.raises(ConfigError, match="no queue under test at 'client'; name an interface: cl"):
        Probe.parse("packets:client").places(run())
    (sockets,) = Probe.parse("sockets:client").places(run())
    assert "interface" not in sockets


@pytest.mark.usefixtures("sampled_once")
def test_tables(tmp_path: Path) -> None:
    probes = tuple(map(Probe.parse, ("packets:router_up r1-delay", "drops", "startup")))
    leave(tmp_path, probes)
    probe.reduce(probes, run(), tmp_path)
    table = captured.read(tmp_path / "probe.router_up.r1-delay.packets.parquet")
    assert table.attrs == {
        "node": "router_up", "interface": "r1-delay", "rate_bit_s": "1000000"
    }  # fmt: skip
    assert (len(table), (table["fate"] == "dropped").sum()) == (200, 1)
    (row,) = csv.DictReader((tmp_path / "probe.drops.csv").read_text().splitlines())
    assert (row["kind"], row["packets"], row["dropped"]) == ("upload", "200", "1")
    assert float(row["wait_ms"]) == 20.0
    first, *_ = csv.DictReader((tmp_path / "probe.startup.csv").read_text().splitlines())
    assert float(first["target_ms"]) == 13.0  # Table 1, for 1 Mbit/s
    assert first["dropped"] == "1"
    assert not list(tmp_path.glob("*.queue"))


@pytest.mark.usefixtures("sampled_once")
def test_records_that_miss_drops_are_an_error(tmp_path: Path) -> None:
    probes = (Probe.parse("drops"),)
    leave(tmp_path, probes, dropped=50)
    with pytest.raises(GuestFailure, match="counted 50 drops, 1 were recorded"):
        probe.reduce(probes, run(), tmp_path)
