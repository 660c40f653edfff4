"""Read pcap files on the host, and describe a packet in one line."""

from __future__ import annotations

import gzip
import socket
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from qdisclab.emulation.errors import ConfigError

_MAGIC = {0xA1B23C4D: 1, 0xA1B2C3D4: 1000}  # pcap(5): nanoseconds per unit of the second field
#: Largest number of bytes that a capture has of a packet: libpcap's MAXIMUM_SNAPLEN.
MOST_CAPTURED = 262144
_HEADER = struct.Struct("<IHHiIII")
_RECORD = struct.Struct("<IIII")
_ETHERNET = 1
_PCAPNG = 0x0A0D0D0A
_ETHERTYPE_IPV4 = 0x0800
_TCP_FLAGS = ((0x02, "S"), (0x01, "F"), (0x04, "R"), (0x08, "P"), (0x10, "."), (0x40, "E"))


@dataclass(frozen=True)
class Packet:
    """A captured packet. `time_ns` since 1970; `length` on the wire; `content` may be cut short."""

    time_ns: int
    length: int
    content: bytes

    def __str__(self) -> str:
        return decode(self.content, self.length)


def read(path: Path) -> Iterator[Packet]:
    """Yield the packets of a capture, gzipped or not, with one in memory at a time."""
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rb") as stream:
            yield from _packets(stream, path)  # type: ignore[arg-type]
    except (OSError, EOFError, zlib.error) as error:
        raise ConfigError(f"cannot be read: {error}", str(path), "name a whole capture") from error


def _packets(stream: BinaryIO, path: Path) -> Iterator[Packet]:
    header = stream.read(_HEADER.size)
    magic = struct.unpack_from("<I", header)[0] if len(header) == _HEADER.size else 0
    if magic not in _MAGIC:
        form = "is pcapng" if magic == _PCAPNG else "is not a little-endian capture"
        raise ConfigError(form, str(path), f"convert it: editcap -F pcap {path.name} NEW.pcap")
    if (link := _HEADER.unpack(header)[6]) != _ETHERNET:
        what = f"has the link type {link}, not that of Ethernet, {_ETHERNET}"
        raise ConfigError(what, str(path), "capture at one interface: tcpdump -i DEVICE")
    while record := stream.read(_RECORD.size):
        seconds, part, captured, length = _RECORD.unpack(record.ljust(_RECORD.size, b"\0"))
        if captured > MOST_CAPTURED:
            what = f"has a packet of {captured} bytes"
            raise ConfigError(what, str(path), "name a whole capture")
        content = stream.read(captured)
        if len(record) < _RECORD.size or len(content) < captured:
            todo = f"make it again, or keep the rest: editcap {path.name} WHOLE.pcap"
            raise ConfigError("ends within a packet", str(path), todo)
        yield Packet(seconds * 10**9 + part * _MAGIC[magic], length, content)


def decode(frame: bytes, length: int) -> str:
    """Describe an Ethernet frame in one line, much as tcpdump does."""
    if len(frame) < 34 or struct.unpack_from("!H", frame, 12)[0] != _ETHERTYPE_IPV4:
        return f"type 0x{frame[12:14].hex()}, {length} bytes: {frame[14:46].hex()}"
    ip = frame[14:]
    start = (ip[0] & 0xF) * 4
    protocol, mark = ip[9], ip[1] & 3
    source, target = (socket.inet_ntoa(ip[at : at + 4]) for at in (12, 16))
    above = ip[start:]
    text = f"protocol {protocol}"
    if protocol in (socket.IPPROTO_TCP, socket.IPPROTO_UDP) and len(above) >= 8:
        ports = struct.unpack_from("!HH", above)
        source, target = f"{source}.{ports[0]}", f"{target}.{ports[1]}"
        text = "UDP"
    if protocol == socket.IPPROTO_TCP and len(above) >= 16:
        seq, ack, _, bits, window = struct.unpack_from("!IIBBH", above, 4)
        flags = "".join(letter for bit, letter in _TCP_FLAGS if bits & bit)
        text = f"TCP [{flags}] seq {seq} ack {ack} win {window}"
    elif protocol == socket.IPPROTO_ICMP and len(above) >= 8:
        kind, _, _, number, seq = struct.unpack_from("!BBHHH", above)
        text = f"ICMP type {kind} id {number} seq {seq}"
    ident = struct.unpack_from("!H", ip, 4)[0]
    ecn = f" ecn {mark}" if mark else ""
    return f"{source} > {target} {text}, {length} bytes, id {ident} ttl {ip[8]}{ecn}"
