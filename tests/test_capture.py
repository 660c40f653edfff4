"""Tests of emulation.capture: where captures are taken, how they are kept and read."""

from __future__ import annotations

import gzip
import json
import struct
from pathlib import Path

import pytest

from emulation import capture, kernel, rootfs
from emulation.config import select
from emulation.errors import ConfigError
from emulation.model import Experiment, Run
from emulation.run import execute, paths
from emulation.units import Duration

HEADER = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 128, 1)


@pytest.fixture
def codel(rrul: Experiment) -> Run:
    length = Duration.parse("5 s")
    (one,) = select(rrul, link="10/1", qdisc="codel", cc="reno", seed=3, length=length)
    return one


def test_both_queues_under_test_are_captured(codel: Run) -> None:
    assert capture.places(codel.topology) == [
        {"node": "router_up", "interface": "r1-delay"},
        {"node": "router_down", "interface": "r2-delay"},
    ]
    assert codel.job()["queues"] == capture.places(codel.topology)
    assert "capture" not in codel.job()
    target, _ = paths(codel, Path("data"))
    names = {node: path.name for node, path in capture.files(codel.topology, target).items()}
    assert names["router_up"] == "seed-003.router_up.pcap.gz"


def test_nanoseconds_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(HEADER + struct.pack("<IIII", 5, 123_456_789, 3, 1514) + b"abc")
    assert list(capture.read(path)) == [capture.Packet(5_123_456_789, 1514, b"abc")]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "is no capture"),
        (b"x" * 24, "is no capture"),
        (HEADER + b"12", "ends within a packet"),
        (HEADER + struct.pack("<IIII", 1, 1, 9, 9) + b"abc", "ends within a packet"),
    ],
)
def test_a_damaged_capture_is_refused(tmp_path: Path, content: bytes, what: str) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=what):
        list(capture.read(path))


def test_packets_in_a_line() -> None:
    ethernet = bytes(12) + b"\x08\x00"
    ip = bytes.fromhex("45010054000140003f%02x0000 0a000101 0a000402".replace("%02x", "01"))
    echo = struct.pack("!BBHHH", 8, 0, 0, 77, 3)
    assert capture.decode(ethernet + ip + echo, 98) == (
        "10.0.1.1 > 10.0.4.2 ICMP type 8 id 77 seq 3, 98 bytes, id 1 ttl 63 ecn 1"
    )
    udp = ip[:9] + b"\x11" + ip[10:] + struct.pack("!HHHH", 5, 2112, 8, 0)
    assert "10.0.1.1.5 > 10.0.4.2.2112 UDP" in capture.decode(ethernet + udp, 60)
    assert capture.decode(bytes(12) + b"\x08\x06" + b"\1", 42) == "type 0x0806, 42 bytes: 01"


@pytest.mark.kernel
def test_a_captured_run(codel: Run, tmp_path: Path) -> None:
    result = execute(codel, kernel.build(), rootfs.build(), tmp_path / "with", captures=True)
    captured = capture.files(codel.topology, result.data)
    assert sorted(path.name for path in result.data.parent.iterdir()) == sorted(
        [result.data.name, result.provenance.name, *(path.name for path in captured.values())]
    )
    for path in captured.values():
        times = [packet.time_ns for packet in capture.read(path)]
        assert len(times) > 1000
        assert times == sorted(times)
    plain = execute(codel, kernel.build(), rootfs.build(), tmp_path / "without")
    assert plain.data.read_bytes() == result.data.read_bytes()
    told = [json.loads(one.provenance.read_text()) for one in (plain, result)]
    for name in ("identity", "qdiscs", "virtual_s"):
        assert told[0][name] == told[1][name]


def test_a_capture_of_several_gzip_members_is_one(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap.gz"
    packets = [struct.pack("<IIII", second, 7, 1, 60) + b"a" for second in (1, 2)]
    path.write_bytes(b"".join(gzip.compress(part) for part in (HEADER, *packets)))
    assert [packet.time_ns for packet in capture.read(path)] == [1_000_000_007, 2_000_000_007]
