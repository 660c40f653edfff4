"""Tests of emulation.captures.pcap: files, read and written, and packets in words."""

import gzip
import struct
from pathlib import Path

import pytest

from qdisclab.emulation.captures import pcap
from qdisclab.emulation.errors import ConfigError

HEADER = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 128, 1)


def test_nanoseconds_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(HEADER + struct.pack("<IIII", 5, 123_456_789, 3, 1514) + b"abc")
    assert list(pcap.read(path)) == [pcap.Packet(5_123_456_789, 1514, b"abc")]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "is not a little-endian capture"),
        (b"x" * 24, "is not a little-endian capture"),
        (HEADER + b"12", "ends within a packet"),
        (HEADER + struct.pack("<IIII", 1, 1, 9, 9) + b"abc", "ends within a packet"),
    ],
)
def test_a_damaged_capture_is_refused(tmp_path: Path, content: bytes, what: str) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=what):
        list(pcap.read(path))


def test_packets_in_a_line() -> None:
    ethernet = bytes(12) + b"\x08\x00"
    ip = bytes.fromhex("45010054000140003f%02x0000 0a000101 0a000402".replace("%02x", "01"))
    echo = struct.pack("!BBHHH", 8, 0, 0, 77, 3)
    assert pcap.decode(ethernet + ip + echo, 98) == (
        "10.0.1.1 > 10.0.4.2 ICMP type 8 id 77 seq 3, 98 bytes, id 1 ttl 63 ecn 1"
    )
    udp = ip[:9] + b"\x11" + ip[10:] + struct.pack("!HHHH", 5, 2112, 8, 0)
    assert "10.0.1.1.5 > 10.0.4.2.2112 UDP" in pcap.decode(ethernet + udp, 60)
    assert pcap.decode(bytes(12) + b"\x08\x06" + b"\1", 42) == "type 0x0806, 42 bytes: 01"


def test_a_capture_of_several_gzip_members_is_one(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap.gz"
    packets = [struct.pack("<IIII", second, 7, 1, 60) + b"a" for second in (1, 2)]
    path.write_bytes(b"".join(gzip.compress(part) for part in (HEADER, *packets)))
    assert [packet.time_ns for packet in pcap.read(path)] == [1_000_000_007, 2_000_000_007]
