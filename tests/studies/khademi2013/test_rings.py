"""Tests of what a guest leaves where every packet is followed: rings of packets, and counters."""

import gzip
import json
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from qdisclab.emulation.captures import frames
from qdisclab.emulation.captures.follow import Followed, follow
from qdisclab.emulation.errors import GuestFailure
from qdisclab.emulation.model.egress import HANDLE
from studies.khademi2013.captures import rings
from tests.emulation.captures.made import (
    RECEIVER,
    SENDER,
    SERVICE,
    datagram,
    echo,
    in_ring,
    length,
    ring,
    segment,
    table,
)

PORT = ("aqm", "aqm-delay")
PACKETS = [
    (3 * 10**9 + 7, segment(id=9, seq=5, ack=6, payload=100, ecn=3)),
    (4 * 10**9, segment(RECEIVER, SENDER, seq=6, ack=105)),
    (5 * 10**9, datagram(SENDER, ("10.0.3.1", 4001), 200, 77)),
    (6 * 10**9, echo(3)),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return ring(tmp_path / "one.frames.gz", PACKETS)


def test_a_frame_is_read_to_the_nanosecond(path: Path) -> None:
    data, back, numbered, ping = frames.decode(rings.read(path)).to_dict("records")
    assert (data["time_ns"], data["length"], data["ce"]) == (3_000_000_007, 166, True)
    assert (data["id"], data["seq"], data["ack"], data["payload"]) == (9, 5, 6, 100)
    assert (data["source"], data["target"]) == (
        int(IPv4Address(SENDER[0])),
        int(IPv4Address(RECEIVER[0])),
    )
    assert (back["source_port"], back["target_port"]) == (SERVICE, SENDER[1])
    assert (back["payload"], back["ce"], back["flags"]) == (0, False, 0x10)
    assert (numbered["protocol"], numbered["seq"], numbered["ack"]) == (frames.UDP, 77, 0)
    assert (numbered["target_port"], numbered["payload"]) == (4001, 200)
    assert (ping["protocol"], ping["seq"], ping["flags"]) == (frames.ICMP, 3, rings.ECHO_REQUEST)
    assert (ping["source_port"], ping["payload"]) == (0, 56)


def test_an_empty_capture_has_no_packets(tmp_path: Path) -> None:
    assert frames.decode(rings.read(ring(tmp_path / "none.frames.gz", []))).empty


def test_packets_are_told_apart_by_what_no_hop_changes(tmp_path: Path) -> None:
    same = [segment(ttl=64), segment(ttl=63), segment(ecn=3)]
    others = [segment(id=2), segment(seq=1), segment(ack=1), segment(payload=1), segment(flags=1)]
    others += [
        segment(("10.0.1.2", 40000)),
        segment(("10.0.1.1", 40001)),
        datagram(SENDER, RECEIVER, 24, 0),
    ]
    path = ring(tmp_path / "one.frames.gz", enumerate([*same, *others]))
    packet = frames.decode(rings.read(path))["packet"]
    assert packet[:3].nunique() == 1
    assert packet.nunique() == 1 + len(others)


def test_what_is_no_ipv4_has_no_protocol(tmp_path: Path) -> None:
    arp = segment().replace(b"\x08\x00\x45", b"\x08\x06\x45")
    options = segment().replace(b"\x08\x00\x45", b"\x08\x00\x46")
    path = ring(tmp_path / "one.frames.gz", [(1, arp), (2, options)])
    assert frames.decode(rings.read(path))["protocol"].tolist() == [0, 0]


def test_a_flow_has_a_sender_in_both_directions(tmp_path: Path) -> None:
    path = ring(tmp_path / "one.frames.gz", PACKETS[:2])
    there, back = rings.read_flows(path, SERVICE).to_dict("records")
    assert (there["forward"], back["forward"]) == (True, False)
    assert (there["sender"], there["port"]) == (back["sender"], back["port"])
    assert there["port"] == SENDER[1]


def test_pings_are_read_where_they_are_asked_for(tmp_path: Path) -> None:
    kept = [(5, echo(3)), (9, echo(3, answer=True)), (12, segment())]
    path = ring(tmp_path / "a.frames.gz", kept)
    there, back, other = rings.read_flows(path, SERVICE, pings=True).to_dict("records")
    assert (there["forward"], there["port"], there["seq"], there["payload"]) == (True, 0, 3, 56)
    assert (back["forward"], back["sender"]) == (False, there["sender"])
    assert other["port"] == 40000
    with pytest.raises(GuestFailure, match="2 packets are of no flow"):
        rings.read_flows(path, SERVICE)


def test_a_packet_of_no_flow_is_an_error_that_shows_it(tmp_path: Path) -> None:
    arp = segment().replace(b"\x08\x00\x45", b"\x08\x06\x45")
    path = ring(tmp_path / "one.frames.gz", [(1, segment()), (2, arp)])
    with pytest.raises(GuestFailure, match=r"1 packets are of no flow, the first is 0{24}0806"):
        rings.read_flows(path, SERVICE)
    others = ring(tmp_path / "two.frames.gz", [(1, segment(target=("10.0.3.1", 80)))])
    with pytest.raises(GuestFailure, match="1 packets are of no flow"):
        rings.read_flows(others, SERVICE)


def test_a_damaged_ring_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "one.frames.gz"
    for content, what in (
        (b"no gzip", "is not a capture"),
        (gzip.compress(bytes(100), mtime=0), "has 100 bytes, which is not a number of frames"),
        (gzip.compress(bytes(128), mtime=0), "elsewhere than 66 bytes into a frame"),
    ):
        path.write_bytes(content)
        with pytest.raises(GuestFailure, match=what):
            rings.read(path)


def test_a_frame_has_the_length_of_the_packet() -> None:
    packet = segment(payload=1448)
    assert length(packet) == 1514
    assert len(in_ring(0, packet)) == rings.FRAME_BYTES


@pytest.fixture
def queue() -> Followed:
    """Two packets that leave, of which one is marked, and one that does not."""
    before = table((1, 1), (2, 2), (3, 3), length=[1514, 66, 66])
    return follow(before, table((11, 1), (12, 2), length=[1514, 66], ce=[True, False]), "")


BEFORE = {"kind": "codel", "packets": 5, "bytes": 100, "drops": 1, "ecn_mark": 0, "qlen": 0}
AFTER = BEFORE | {"packets": 7, "bytes": 1680, "drops": 2, "ecn_mark": 1}


def test_counters_that_agree_pass(queue: Followed) -> None:
    rings.check([BEFORE, AFTER], queue, PORT)


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ({"packets": 8}, "3 packets, captured 2"),
        ({"bytes": 1681}, "1581 bytes, captured 1580"),
        ({"drops": 3}, "2 drops, captured 1"),
        ({"drops": 1}, "0 drops, captured 1"),
        ({"ecn_mark": 2}, "2 marks, captured 1"),
        ({"qlen": 1}, "0 packets in the queue before and 1 afterwards"),
    ],
)
def test_what_the_qdisc_counted_otherwise_is_an_error(
    queue: Followed, wrong: dict[str, int], what: str
) -> None:
    with pytest.raises(GuestFailure, match=f"codel counted {what}") as raised:
        rings.check([BEFORE, AFTER | wrong], queue, PORT)
    assert raised.value.where == "aqm aqm-delay"


def test_counters_are_those_of_the_qdisc_under_test(tmp_path: Path) -> None:
    qdiscs = [{"handle": "1:", "packets": 9}, {"handle": HANDLE, "packets": 5}]
    sample = {"time_ns": 7, "qdiscs": {"aqm aqm-delay": qdiscs}}
    (tmp_path / "counters.json").write_text(json.dumps([sample]))
    (counted,) = rings.counters(tmp_path, PORT)
    assert (counted["packets"], counted["time_ns"]) == (5, 7)
