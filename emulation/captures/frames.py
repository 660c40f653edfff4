"""Packets as the guest's kernel records them, decoded to a table with one row per packet."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

ICMP, TCP, UDP = 1, 6, 17
FIN, SYN = 0x01, 0x02  # of the TCP header's flags
CE = 0b11  # of the IP header's ECN field (RFC 3168)

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

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

    time_ns: Ints  # since 1970
    length: Ints  # of the Ethernet frame, bytes
    content: NDArray[np.uint8]  # [packet, byte], `LOOKED_AT` of each, with zeros after its end


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
