"""Frames of packet rings, as the guest keeps them, to tables with a row a packet.

`emulation.guest.iperf_frames` has the form: 128 bytes a frame, the kernel's header (struct
tpacket2_hdr, linux/if_packet.h) and the first bytes of the packet.
"""

from __future__ import annotations

import gzip
import struct
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emulation.errors import GuestFailure

FRAME_BYTES = 128
SUFFIX = ".frames.gz"

PING = 0  # in place of a port
FIN, SYN = 0x01, 0x02  # of the TCP header's flags
CE = 0b11  # of the IP header's ECN field (RFC 3168)
KEY = ("sender", "port", "id", "seq", "ack", "payload", "flags")
"""What tells a packet of one direction from all others of a run."""

_HEADER = np.dtype(
    [
        ("status", "<u4"),
        ("length", "<u4"),
        ("kept", "<u4"),
        ("mac", "<u2"),
        ("net", "<u2"),
        ("seconds", "<u4"),
        ("nanoseconds", "<u4"),
    ]
)
_ETHERTYPE_IPV4, _PROTOCOL_ICMP, _PROTOCOL_TCP = 0x0800, 1, 6
_ECHO_REPLY, _ECHO_REQUEST = 0, 8  # types of ICMP
_PCAP = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, FRAME_BYTES, 1)  # pcap(5), ns, Ethernet


def read(path: Path, service: int, pings: bool = False) -> pd.DataFrame:
    """The TCP packets of a capture, and its `pings`, in its order, both directions.

    `service` is the port that the receivers listen on: packets to it are data, packets from it
    come back. Columns: time_ns (since 1970), length (of the Ethernet frame, bytes), forward
    (whether it goes to a receiver), sender (IPv4 address as a number) and port of the flow's
    sender, those of `KEY`, and ce (whether it is marked). A ping has the port `PING`, its own
    number as seq and its type as flags. Raises `GuestFailure` where a packet is none of these: it
    would be counted by the qdisc and by nobody else.
    """
    header, packet = read_frames(path)
    source, target = number(packet, 26, 4), number(packet, 30, 4)
    ports = number(packet, 34, 2), number(packet, 36, 2)
    icmp, kind = packet[:, 23] == _PROTOCOL_ICMP, packet[:, 34].astype(np.int64)
    forward = np.where(icmp, kind == _ECHO_REQUEST, ports[1] == service)
    of_flow = np.where(
        icmp,
        pings & ((kind == _ECHO_REQUEST) | (kind == _ECHO_REPLY)),
        (packet[:, 23] == _PROTOCOL_TCP) & (forward != (ports[0] == service)),
    )
    stray = (number(packet, 12, 2) != _ETHERTYPE_IPV4) | (packet[:, 14] != 0x45) | ~of_flow
    if stray.any():
        example = packet[np.flatnonzero(stray)[0], :54].tobytes().hex()
        what = f"{int(stray.sum())} packets are of no flow, the first is {example}"
        raise GuestFailure(what, path.name, "look at what else the guest sends")
    above = number(packet, 16, 2) - 20
    return pd.DataFrame(
        {
            "time_ns": header["seconds"].astype(np.int64) * 10**9 + header["nanoseconds"],
            "length": header["length"].astype(np.int64),
            "forward": forward,
            "sender": np.where(forward, source, target),
            "port": np.where(icmp, PING, np.where(forward, *ports)),
            "id": number(packet, 18, 2),
            "seq": np.where(icmp, number(packet, 40, 2), number(packet, 38, 4)),
            "ack": np.where(icmp, 0, number(packet, 42, 4)),
            "payload": above - np.where(icmp, 8, 4 * (packet[:, 46] >> 4).astype(np.int64)),
            "flags": np.where(icmp, kind, packet[:, 47].astype(np.int64)),
            "ce": (packet[:, 15] & CE) == CE,
        }
    )


def to_pcap(path: Path) -> bytes:
    """The capture as a gzipped pcap file of the bytes that were kept."""
    header, packet = read_frames(path)
    parts = [_PCAP]
    for about, content in zip(header, packet, strict=True):
        kept = int(min(about["kept"], packet.shape[1]))
        times = (int(about["seconds"]), int(about["nanoseconds"]))
        parts += [
            struct.pack("<IIII", *times, kept, int(about["length"])),
            content[:kept].tobytes(),
        ]
    return gzip.compress(b"".join(parts), mtime=0)


def read_frames(path: Path) -> tuple[NDArray[np.void], NDArray[np.uint8]]:
    """The kernel's headers and the kept bytes of all packets; raises `GuestFailure`."""
    try:
        raw = np.frombuffer(gzip.decompress(path.read_bytes()), dtype=np.uint8)
    except (OSError, EOFError, zlib.error) as error:
        raise GuestFailure(f"is no capture: {error}", path.name) from error
    if raw.size % FRAME_BYTES:
        raise GuestFailure(f"has {raw.size} bytes, no whole frames", path.name)
    raw = raw.reshape(-1, FRAME_BYTES)
    header = raw[:, : _HEADER.itemsize].copy().view(_HEADER)[:, 0]
    start = int(header["mac"][0]) if raw.size else _HEADER.itemsize
    if (header["mac"] != start).any():
        raise GuestFailure("has packets at several offsets of their frames", path.name)
    return header, raw[:, start:]


def number(packet: NDArray[np.uint8], at: int, size: int) -> NDArray[np.int64]:
    """The big-endian number of `size` bytes at offset `at` of every packet."""
    bytes_ = packet[:, at : at + size].astype(np.int64)
    return np.asarray(bytes_ @ (256 ** np.arange(size - 1, -1, -1)), dtype=np.int64)
