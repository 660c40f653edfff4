"""Tests of emulation.kinds.probes.upload: what probes follow, where, and the tables they leave."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from emulation.captures import frames, pcap
from emulation.config.catalogue import experiment, select
from emulation.errors import ConfigError, GuestFailure
from emulation.kinds.probes import drops, probe, startup, upload
from emulation.kinds.probes.base import Where
from emulation.kinds.probes.probe import Probe
from emulation.model.run import Run
from tests.emulation.captures.made import length, segment

MS = 10**6
HOST, QUEUE = ("client", "client-r1"), ("router_up", "r1-delay")
UPLOAD = (("10.0.1.1", 5000), ("10.0.4.2", 12865))


def run(name: str = "gbw2015/rrul", **chosen: str) -> Run:
    return select(experiment(name), **{"link": "10/1", "qdisc": "codel", **chosen}, seed=1)[0]


def captures(folder: Path) -> dict[Where, Path]:
    """Two hundred segments of an upload before and behind the queue, which drops the tenth."""
    both = folder / "host.pcap.gz", folder / "queue.pcap.gz"
    for path, later_ms in zip(both, (0, 20), strict=True):
        sent = [
            (number + later_ms, segment(*UPLOAD, seq=1448 * number, payload=1448, id=number))
            for number in range(200)
            if not (later_ms and number == 10)
        ]
        kept = (pcap.Packet(at * MS, length(data), data) for at, data in sent)
        pcap.write(kept, path, frames.FRAME_BYTES)
    return dict(zip((HOST, QUEUE), both, strict=True))


def count(folder: Path, dropped: int) -> None:
    told = {" ".join(QUEUE): {"qdiscs": [{"kind": "tbf"}, {"kind": "codel", "drops": dropped}]}}
    (folder / "qdiscs.json").write_text(json.dumps(told))


def test_the_sender_and_the_first_queue_on_its_way() -> None:
    assert upload.places(run()) == [HOST, QUEUE]


@pytest.mark.parametrize(
    ("kind", "refused", "why"),
    [
        ("startup", run(qdisc="sfq"), "'sfq' has no target"),
        (
            "drops",
            run("khademi2013/flows_4", link="10/10", qdisc="codel_5ms"),
            "only if flent sends",
        ),
        ("drops", run("gbw2015/wifi_rrul", link="100/100"), "no queue under test behind the port"),
    ],
)
def test_what_cannot_be_followed_is_refused(kind: str, refused: Run, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        probe.check((Probe.parse(kind),), refused)


def test_probes_that_follow_share_their_captures() -> None:
    both = Probe.parse("drops"), Probe.parse("startup")
    places = probe.places((*both, Probe.parse("capture:client client-r1")), run())
    assert [(one["kind"], one["node"], one["interface"]) for one in places] == [
        ("capture", *HOST),
        ("capture", *QUEUE),
    ]
    assert probe.files(both, run()) == {
        "probe.drops.csv": ".drops.csv",
        "probe.startup.csv": ".startup.csv",
    }


def test_tables(tmp_path: Path) -> None:
    count(tmp_path, dropped=1)
    followed = captures(tmp_path)
    drops.write(run(), tmp_path, followed, tmp_path / "drops.csv")
    (row,) = csv.DictReader((tmp_path / "drops.csv").read_text().splitlines())
    assert (row["kind"], row["packets"], row["dropped"]) == ("upload", "200", "1")
    assert float(row["wait_ms"]) == 20.0
    startup.write(run(), tmp_path, followed, tmp_path / "startup.csv")
    first, *_ = csv.DictReader((tmp_path / "startup.csv").read_text().splitlines())
    assert float(first["target_ms"]) == 13.0  # Table 1, for 1 Mbit/s
    assert first["dropped"] == "1"


def test_captures_that_miss_drops_are_an_error(tmp_path: Path) -> None:
    count(tmp_path, dropped=50)
    with pytest.raises(GuestFailure):
        drops.write(run(), tmp_path, captures(tmp_path), tmp_path / "drops.csv")
