"""Captures, decoded to a table with one row per packet.

A capture is a gzipped pcap file or, where every packet of a run is followed, the frames of the
packet ring as the kernel filled it: 128 bytes each, the kernel's
header (struct tpacket2_hdr, linux/if_packet.h) and the first bytes of the packet.
"""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emulation.captures import pcap
from emulation.captures.places import FRAMES
from emulation.errors import GuestFailure

FRAME_BYTES = 128  # of a ring

ICMP, TCP, UDP = 1, 6, 17
FIN, SYN = 0x01, 0x02  # of the TCP header's flags
ECHO_REPLY, ECHO_REQUEST = 0, 8  # types of ICMP
CE = 0b11  # of the IP header's ECN field (RFC 3168)
PING = 0  # in place of a port

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_RING_HEADER = np.dtype(
    [
        ("status", "<u4"),
        ("length", "<u4"),
        ("captured", "<u4"),
        ("mac", "<u2"),
        ("net", "<u2"),
        ("seconds", "<u4"),
        ("nanoseconds", "<u4"),
    ]
)
#: Name -> format and offset in an Ethernet frame that holds an IPv4 packet without options.
_FIELDS = {
    "type": (">u2", 12),
    "version": ("u1", 14),
    "tos": ("u1", 15),
    "total": (">u2", 16),
    "id": (">u2", 18),
    "protocol": ("u1", 23),
    "source": (">u4", 26),
    "target": (">u4", 30),
    "source_port": (">u2", 34),
    "target_port": (">u2", 36),
    "seq": (">u4", 38),
    "ack": (">u4", 42),
    "header": ("u1", 46),
    "flags": ("u1", 47),
    "icmp_type": ("u1", 34),
    "icmp_seq": (">u2", 40),
    "udp_number": (">u4", 42),  # the first bytes behind UDP's header
}
#: Bytes of a packet that are read, as many as a ring has: all headers but TCP's last options.
LOOKED_AT = 62
_IDENTIFYING = (
    "protocol", "source", "target", "source_port", "target_port", "id", "length", "seq", "ack",
    "flags",
)  # fmt: skip
_ETHERTYPE_IPV4, _VERSION_4_WITHOUT_OPTIONS = 0x0800, 0x45
_UDP_HEADER, _ICMP_HEADER = 8, 8


@dataclass(frozen=True)
class Frames:
    """The packets of a capture, in its order: arrays of equal length."""

    path: Path
    time_ns: Ints  # since 1970
    length: Ints  # of the Ethernet frame, bytes
    captured: Ints  # bytes of the frame that the capture has
    content: NDArray[np.uint8]  # [packet, byte], `LOOKED_AT` of each, with zeros after its end

    def refuse(self, stray: Bools) -> None:
        """Raise `GuestFailure` if any packet is `stray`: only the qdisc would count it."""
        if stray.any():
            example = self.content[np.flatnonzero(stray)[0], :54].tobytes().hex()
            what = f"{int(stray.sum())} packets are of no flow, the first is {example}"
            raise GuestFailure(what, self.path.name, "look at what else the guest sends")


def read(path: Path) -> Frames:
    """Return the packets of a capture in either format; raise `EmulationError` if it is damaged."""
    return _read_ring(path) if path.name.endswith(FRAMES) else _read_pcap(path)


def _read_ring(path: Path) -> Frames:
    try:
        raw = np.frombuffer(gzip.decompress(path.read_bytes()), dtype=np.uint8)
    except (OSError, EOFError, zlib.error) as error:
        raise GuestFailure(f"is not a capture: {error}", path.name) from error
    if raw.size % FRAME_BYTES:
        raise GuestFailure(f"has {raw.size} bytes, which is not a number of frames", path.name)
    raw = raw.reshape(-1, FRAME_BYTES)
    header = raw[:, : _RING_HEADER.itemsize].copy().view(_RING_HEADER)[:, 0]
    start = FRAME_BYTES - LOOKED_AT
    if (header["mac"] != start).any():
        raise GuestFailure(f"has packets elsewhere than {start} bytes into a frame", path.name)
    return Frames(
        path,
        header["seconds"].astype(np.int64) * 10**9 + header["nanoseconds"],
        header["length"].astype(np.int64),
        np.minimum(header["captured"], LOOKED_AT).astype(np.int64),
        raw[:, start:].copy(),
    )


def _read_pcap(path: Path) -> Frames:
    packets = list(pcap.read(path))
    content = b"".join(packet.content[:LOOKED_AT].ljust(LOOKED_AT, b"\0") for packet in packets)
    numbers = [
        (packet.time_ns, packet.length, min(len(packet.content), LOOKED_AT)) for packet in packets
    ]
    time_ns, length, captured = np.array(numbers, dtype=np.int64).reshape(-1, 3).T
    matrix = np.frombuffer(content, dtype=np.uint8).reshape(-1, LOOKED_AT)
    return Frames(path, time_ns, length, captured, matrix)


def fields(content: NDArray[np.uint8]) -> NDArray[Any]:
    """Return the fields of headers by name, as a view of the bytes of packets where that can be."""
    packet = np.dtype(
        {
            "names": list(_FIELDS),
            "formats": [form for form, _ in _FIELDS.values()],
            "offsets": [offset for _, offset in _FIELDS.values()],
            "itemsize": content.shape[1],
        }
    )
    return np.ascontiguousarray(content).view(packet)[:, 0]


def decode(frames: Frames) -> pd.DataFrame:
    """Return a table with one row per packet, in the order of the capture.

    | column | |
    | --- | --- |
    | `time_ns` | since 1970 |
    | `length` | of the Ethernet frame, bytes |
    | `protocol` | of IPv4; 0 of anything but IPv4 without options, whose columns mean nothing |
    | `source`, `target` | addresses as numbers |
    | `source_port`, `target_port` | of TCP and UDP, else 0 |
    | `id` | identification of the IPv4 header |
    | `seq` | of TCP; of ICMP the number of an echo; of UDP the first four bytes behind the header,
      where senders that number their packets put the number |
    | `ack` | of TCP, else 0 |
    | `payload` | bytes above TCP, UDP or the echo |
    | `flags` | of TCP; of ICMP its type; else 0 |
    | `ce` | whether the packet is marked |
    | `packet` | a number made of all that identifies a packet within a run and that no hop changes:
      protocol, addresses, ports, `id`, `length`, `seq`, `ack` and `flags` |
    """
    field = fields(frames.content)
    plain = (field["type"] == _ETHERTYPE_IPV4) & (field["version"] == _VERSION_4_WITHOUT_OPTIONS)
    protocol = np.where(plain, field["protocol"], 0).astype(np.int64)
    of = [protocol == TCP, protocol == UDP, protocol == ICMP]
    has_ports = of[0] | of[1]
    tcp_header = 4 * (field["header"] >> 4).astype(np.int64)
    header = np.select(of, [tcp_header, np.int64(_UDP_HEADER), np.int64(_ICMP_HEADER)], np.int64(0))
    columns = {
        "time_ns": frames.time_ns,
        "length": frames.length,
        "protocol": protocol,
        "source": field["source"],
        "target": field["target"],
        "source_port": np.where(has_ports, field["source_port"], 0),
        "target_port": np.where(has_ports, field["target_port"], 0),
        "id": field["id"],
        "seq": np.select(of, [field["seq"], field["udp_number"], field["icmp_seq"]], 0),
        "ack": np.where(of[0], field["ack"], 0),
        "payload": field["total"].astype(np.int64) - 20 - header,
        "flags": np.select([of[0], of[2]], [field["flags"], field["icmp_type"]], 0),
    }
    columns = {name: values.astype(np.int64) for name, values in columns.items()}
    packet = hash_rows([columns[name] for name in _IDENTIFYING])
    return pd.DataFrame(columns).assign(ce=(field["tos"] & CE) == CE, packet=packet)


def hash_rows(columns: list[Ints]) -> NDArray[np.uint64]:
    """Return a hash of 64 bits of each row (FNV-1a, by words)."""
    total = np.full(len(columns[0]), 0xCBF29CE484222325, dtype=np.uint64)
    for column in columns:
        total = (total ^ column.astype(np.uint64)) * np.uint64(0x100000001B3)
        total ^= total >> np.uint64(29)
    return total


def read_flows(path: Path, service: int, pings: bool = False) -> pd.DataFrame:
    """Return the TCP packets of a capture and, with `pings`, its echoes, decoded as by `decode`.

    `service` is the port that the receivers listen on: packets to it are data, packets from it
    come back. Further columns: `forward` (whether a packet goes to a receiver), `sender` (address
    of the flow's sender) and `port` (of the flow's sender; `PING` of a ping, whose request goes
    forward). Raises `GuestFailure` for any other packet.
    """
    frames = read(path)
    table = decode(frames)
    icmp, kind = table["protocol"] == ICMP, table["flags"]
    forward = (table["target_port"] == service).where(~icmp, kind == ECHO_REQUEST)
    of_tcp = (table["protocol"] == TCP) & (forward != (table["source_port"] == service))
    of_ping = icmp & pings & kind.isin((ECHO_REPLY, ECHO_REQUEST))
    frames.refuse(~(of_tcp | of_ping).to_numpy())
    return table.assign(
        forward=forward,
        sender=table["source"].where(forward, table["target"]),
        port=table["source_port"].where(forward, table["target_port"]),
    )
