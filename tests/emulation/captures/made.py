"""Packets made by hand, as a guest keeps them and as they are decoded."""

import gzip
import struct
from collections.abc import Iterable
from ipaddress import IPv4Address
from pathlib import Path

import numpy as np
import pandas as pd

from qdisclab.emulation.captures import pcap

MAC_AT = 66  # where the kernel puts a packet into the frame of a ring
SERVICE = 5001
SENDER, RECEIVER = ("10.0.1.1", 40000), ("10.0.3.1", SERVICE)
ACK = 0x10

End = tuple[str, int]  # address, port


def write_pcap(packets: Iterable[pcap.Packet], path: Path) -> None:
    """Write `packets` to a gzipped capture with times in nanoseconds (pcap(5))."""
    parts = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 128, 1)]
    for packet in packets:
        times = divmod(packet.time_ns, 10**9)
        parts += [struct.pack("<IIII", *times, len(packet.content), packet.length), packet.content]
    path.write_bytes(gzip.compress(b"".join(parts), mtime=0))


def segment(source: End = SENDER, target: End = RECEIVER, *, ecn: int = 0, **fields: int) -> bytes:
    """An Ethernet frame with a TCP segment that has the option of time stamps, without its data."""
    about = {"id": 1, "seq": 0, "ack": 0, "payload": 0, "flags": ACK, "ttl": 64} | fields
    tcp = struct.pack(
        "!HHIIBBHHH", source[1], target[1], about["seq"], about["ack"], 8 << 4, about["flags"],
        500, 0, 0,
    )  # fmt: skip
    return _ethernet(source, target, 6, tcp, 32 + about["payload"], ecn, about["id"], about["ttl"])


def datagram(source: End, target: End, payload: int, number: int) -> bytes:
    """An Ethernet frame with a packet of UDP whose data begin with `number`."""
    udp = struct.pack("!HHHHI", source[1], target[1], 8 + payload, 0, number)
    return _ethernet(source, target, 17, udp, 8 + payload, 0, 1, 64)


def echo(number: int, answer: bool = False) -> bytes:
    """An Ethernet frame with a ping of `SENDER`, or its answer."""
    ends = (RECEIVER, SENDER) if answer else (SENDER, RECEIVER)
    icmp = struct.pack("!BBHHH", 0 if answer else 8, 0, 0, 700, number)
    return _ethernet(*ends, 1, icmp, 64, 0, 11, 64)


def _ethernet(
    source: End, target: End, protocol: int, above: bytes, size: int, ecn: int, id_: int, ttl: int
) -> bytes:
    ends = (IPv4Address(address).packed for address, _ in (source, target))
    fixed = (0x45, ecn, 20 + size, id_, 0, ttl, protocol, ttl)
    return bytes(12) + b"\x08\x00" + struct.pack("!BBHHHBBH4s4s", *fixed, *ends) + above


def length(packet: bytes) -> int:
    """Bytes of the whole frame, as its IPv4 header has it."""
    return 14 + int(struct.unpack_from("!H", packet, 16)[0])


def in_ring(time_ns: int, packet: bytes) -> bytes:
    """`packet` in the frame of a ring."""
    head = struct.pack("<IIIHHII", 1, length(packet), 62, MAC_AT, 80, *divmod(time_ns, 10**9))
    return (head.ljust(MAC_AT, b"\0") + packet).ljust(128, b"\0")[:128]


def ring(path: Path, packets: Iterable[tuple[int, bytes]]) -> Path:
    """A capture of `packets` with their times, as the guest leaves it."""
    raw = b"".join(in_ring(*packet) for packet in packets)
    path.write_bytes(gzip.compress(raw))
    return path


def table(*packets: tuple[int, int], **columns: object) -> pd.DataFrame:
    """Packets of one flow as they are decoded, from the time and the number of each."""
    base = {"sender": 1, "port": 2, "seq": 0, "ack": 0, "payload": 1448, "flags": ACK}
    made = pd.DataFrame(packets, columns=["time_ns", "packet"])
    return made.assign(**{"length": 1514, "ce": False, **base, **columns}).astype(
        {"packet": np.uint64}
    )
