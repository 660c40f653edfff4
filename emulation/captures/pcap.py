"""Read pcap files on the host, and describe a packet in one line."""

import gzip
import socket
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, cast

from qdisclab.emulation import datafile
from qdisclab.emulation.errors import ConfigError

_MAGIC = {0xA1B23C4D: 1, 0xA1B2C3D4: 1000}  # pcap(5): nanoseconds per unit of the second field
#: Largest number of bytes that a capture has of a packet: libpcap's MAXIMUM_SNAPLEN.
MOST_CAPTURED = 262144
_HEADER = struct.Struct("<IHHiIII")
_RECORD = struct.Struct("<IIII")
_ETHERNET = 1
_PCAPNG = 0x0A0D0D0A
_ETHERTYPE_IPV4 = 0x0800
_EPHEMERAL = 32768  # the first port of Linux' ip_local_port_range
_DNS = 53
_ACK = 0x10
_NOP, _SACK, _TIMESTAMPS = 1, 5, 8  # TCP's options
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
    try:
        with open(path, "rb", opener=datafile.regular) as file:
            stream = gzip.GzipFile(fileobj=file) if path.suffix == ".gz" else file
            yield from _packets(cast(BinaryIO, stream), path)
    except (OSError, EOFError, zlib.error) as error:
        what = f"cannot be read: {getattr(error, 'strerror', None) or error}"
        raise ConfigError(what, str(path), "name a whole capture") from error


def _packets(stream: BinaryIO, path: Path) -> Iterator[Packet]:
    header = stream.read(_HEADER.size)
    magic = struct.unpack_from("<I", header)[0] if len(header) == _HEADER.size else 0
    if magic not in _MAGIC:
        form = "is pcapng" if magic == _PCAPNG else "is not a little-endian capture"
        raise ConfigError(form, str(path), f"convert it: editcap -F pcap {path.name} NEW.pcap")
    if (link := _HEADER.unpack(header)[6]) != _ETHERNET:
        what = f"has the link type {link}, not Ethernet's, {_ETHERNET}"
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


class Chance:
    """Rewrites the packets of a capture without what Linux draws at random for each socket.

    That is an ephemeral port, the id and the checksums, TCP's initial numbers and clock, and the
    ids of a ping and of a DNS message. Packets of two captures that still differ do so for another
    reason.
    """

    def __init__(self) -> None:
        self._ports: dict[int, int] = {}
        self._numbers: dict[int, int] = {}
        self._first: dict[tuple[object, ...], int] = {}

    def without(self, packet: Packet) -> Packet:
        """Return `packet` with a port's place of appearance, and numbers since the first."""
        frame = bytearray(packet.content)
        if len(frame) < 34 or struct.unpack_from("!H", frame, 12)[0] != _ETHERTYPE_IPV4:
            return packet
        above = 14 + (frame[14] & 0xF) * 4
        frame[18:20] = frame[24:26] = bytes(2)  # id and checksum
        addresses, protocol = bytes(frame[26:34]), frame[23]
        if protocol == socket.IPPROTO_ICMP and len(frame) >= above + 8:
            frame[above + 2 : above + 4] = bytes(2)
            number = struct.unpack_from("!H", frame, above + 4)[0]  # of the process that pings
            place = self._numbers.setdefault(number, len(self._numbers))
            struct.pack_into("!H", frame, above + 4, place)
        if protocol not in (socket.IPPROTO_TCP, socket.IPPROTO_UDP) or len(frame) < above + 8:
            return replace(packet, content=bytes(frame))
        ports = struct.unpack_from("!HH", frame, above)
        named = [
            port if port < _EPHEMERAL else self._ports.setdefault(port, len(self._ports))
            for port in ports
        ]
        struct.pack_into("!HH", frame, above, *named)
        if protocol == socket.IPPROTO_UDP:
            frame[above + 6 : above + 8] = bytes(2)
            if _DNS in ports:
                frame[above + 8 : above + 10] = bytes(len(frame[above + 8 : above + 10]))
        elif len(frame) >= above + 20:
            flow = (addresses, *named)
            back = (addresses[4:] + addresses[:4], *reversed(named))
            self._since(frame, above + 4, ("seq", *flow))
            if frame[above + 13] & _ACK:
                self._since(frame, above + 8, ("seq", *back))
            frame[above + 16 : above + 18] = bytes(2)
            self._options(frame, above, flow, back)
        return replace(packet, content=bytes(frame))

    def _since(self, frame: bytearray, at: int, which: tuple[object, ...]) -> None:
        number = struct.unpack_from("!I", frame, at)[0]
        since = number - self._first.setdefault(which, number)
        struct.pack_into("!I", frame, at, since % 2**32)

    def _options(
        self, frame: bytearray, above: int, flow: tuple[object, ...], back: tuple[object, ...]
    ) -> None:
        at, end = above + 20, min(above + (frame[above + 12] >> 4) * 4, len(frame))
        while at + 1 < end:
            kind, size = frame[at], frame[at + 1]
            if kind == _NOP:
                size = 1
            elif kind == 0 or size < 2 or at + size > end:
                return
            elif kind == _TIMESTAMPS and size == 10:
                self._since(frame, at + 2, ("clock", *flow))
                if frame[above + 13] & _ACK:
                    self._since(frame, at + 6, ("clock", *back))
            elif kind == _SACK:
                for edge in range(at + 2, at + size - 3, 4):
                    self._since(frame, edge, ("seq", *back))
            at += size


def tcp_headers(packet: Packet) -> bytes:
    """Return the headers of a TCP segment, without a time and what a program sends; else b""."""
    frame = packet.content
    if len(frame) < 54 or struct.unpack_from("!H", frame, 12)[0] != _ETHERTYPE_IPV4:
        return b""
    above = 14 + (frame[14] & 0xF) * 4
    is_tcp = frame[23] == socket.IPPROTO_TCP and len(frame) >= above + 20
    return frame[: above + (frame[above + 12] >> 4) * 4] if is_tcp else b""


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
