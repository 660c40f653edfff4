"""Turn the samples of probes, as a guest leaves them, into tables.

A sample is a record: time, number of the place, length, and the netlink messages with which the
kernel answers `tc -s qdisc` (RTM_NEWQDISC) or `ss -ti` (SOCK_DIAG_BY_FAMILY). docs/probes.md has
the columns and units.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from emulation.errors import ConfigError
from emulation.kinds.probes.probe import QDISC, SOCKETS
from emulation.kinds.qdiscs import KINDS
from emulation.kinds.qdiscs.base import attributes

_RECORD = struct.Struct("<QII")
_HEADER = struct.Struct("<IHHII")  # struct nlmsghdr
_TCMSG = struct.Struct("<BxxxiIII")  # struct tcmsg
_QUEUE = struct.Struct("<5I")  # struct gnet_stats_queue
_TCA_KIND, _TCA_STATS2 = 1, 7  # linux/rtnetlink.h
_BASIC, _QUEUED, _APP, _PACKETS64 = 1, 3, 4, 8  # TCA_STATS_*, linux/gen_stats.h
_DIAG = struct.Struct("<4BHH16s16s12x5I")  # struct inet_diag_msg
_DIAG_INFO, _DIAG_VEGAS, _DIAG_CONG, _DIAG_DCTCP, _DIAG_BBR = 2, 3, 4, 9, 16  # linux/inet_diag.h

STATES = {1: "ESTAB", 2: "SYN-SENT", 3: "SYN-RECV", 4: "FIN-WAIT-1", 5: "FIN-WAIT-2"} | {
    7: "CLOSE", 8: "CLOSE-WAIT", 9: "LAST-ACK", 11: "CLOSING"
}  # fmt: skip

#: struct tcp_info (linux/tcp.h), up to the last field that becomes a column.
_INFO = (
    ("", "u1"), ("ca_state", "u1"), ("retransmits", "u1"), ("probes", "u1"), ("backoff", "u1"),
    ("", "u1"), ("", "u1"), ("flags", "u1"), ("rto_us", "u4"), ("ato_us", "u4"),
    ("snd_mss_bytes", "u4"), ("rcv_mss_bytes", "u4"), ("unacked_packets", "u4"),
    ("sacked_packets", "u4"), ("lost_packets", "u4"), ("retrans_packets", "u4"), ("", "u4"),
    ("", "u4"), ("", "u4"), ("", "u4"), ("", "u4"), ("pmtu_bytes", "u4"),
    ("rcv_ssthresh_bytes", "u4"), ("srtt_us", "u4"), ("rttvar_us", "u4"),
    ("ssthresh_packets", "u4"), ("cwnd_packets", "u4"), ("", "u4"),
    ("reordering_packets", "u4"), ("rcv_rtt_us", "u4"), ("rcv_space_bytes", "u4"),
    ("total_retrans_packets", "u4"), ("pacing_rate_bit_s", "u8"), ("", "u8"),
    ("bytes_acked", "u8"), ("bytes_received", "u8"), ("segs_out", "u4"), ("segs_in", "u4"),
    ("notsent_bytes", "u4"), ("min_rtt_us", "u4"), ("data_segs_in", "u4"),
    ("data_segs_out", "u4"), ("delivery_rate_bit_s", "u8"), ("busy_us", "u8"),
    ("rwnd_limited_us", "u8"), ("sndbuf_limited_us", "u8"), ("delivered_packets", "u4"),
    ("delivered_ce_packets", "u4"), ("bytes_sent", "u8"), ("bytes_retrans", "u8"),
    ("dsack_dups", "u4"), ("reord_seen", "u4"), ("rcv_out_of_order_packets", "u4"),
    ("snd_wnd_bytes", "u4"), ("rcv_wnd_bytes", "u4"),
)  # fmt: skip
#: What follows it, after some fields that are left out, from 7.0 on: what AccECN counts.
_INFO_ECN_AT = 248
_INFO_ECN = (
    ("received_ce_packets", "u4"), ("delivered_ect1_bytes", "u4"), ("delivered_ect0_bytes", "u4"),
    ("delivered_ce_bytes", "u4"), ("received_ect1_bytes", "u4"), ("received_ect0_bytes", "u4"),
    ("received_ce_bytes", "u4"), ("ecn_mode", "u4"),
)  # fmt: skip
#: Column -> value by which the kernel says that there is none yet: all ones, or
#: TCP_INFINITE_SSTHRESH.
_NONE = {"ssthresh_packets": 0x7FFFFFFF, "min_rtt_us": 2**32 - 1, "pacing_rate_bit_s": 2**64 - 1}

_CONTROLS = {
    _DIAG_VEGAS: ("vegas", (("enabled", "u4"), ("rtt_count", "u4"), ("rtt_us", "u4"),
                            ("min_rtt_us", "u4"))),
    _DIAG_DCTCP: ("dctcp", (("enabled", "u2"), ("ce_state", "u2"), ("alpha_per_1024", "u4"),
                            ("acked_ecn_bytes", "u4"), ("acked_bytes", "u4"))),
    _DIAG_BBR: ("bbr", (("bw_bit_s", "u8"), ("min_rtt_us", "u4"), ("pacing_gain", "u4"),
                        ("cwnd_gain", "u4"))),
}  # fmt: skip
_GAIN = 256  # BBR_UNIT


def tables(places: list[dict[str, Any]], samples: bytes) -> dict[str, pd.DataFrame]:
    """Return the tables of `samples`, taken at `places` (`probe.places`), by kind of probe.

    A kind that was not asked for is absent. Raises `ConfigError` if the samples are damaged.
    """
    qdiscs, sockets = _Rows(), _Rows()
    at = 0
    while at < len(samples):
        time_ns, number, length = _RECORD.unpack_from(samples, at)
        at += _RECORD.size
        if at + length > len(samples):
            raise ConfigError("samples end within a record", "", "do the run again")
        place = places[number]
        for body in _messages(samples[at : at + length]):
            if place["kind"] == QDISC:
                _qdisc(qdiscs, (time_ns, place["node"], place["interface"]), body)
            else:
                _socket(sockets, (time_ns, place["node"]), body)
        at += length
    kinds = {place["kind"] for place in places}
    rows = {QDISC: (qdiscs, _QDISC_COLUMNS), SOCKETS: (sockets, _SOCKET_COLUMNS)}
    return {kind: added.table(columns) for kind, (added, columns) in rows.items() if kind in kinds}


class _Rows:
    """Rows of a table: each is a tuple and, in further columns, structs of the kernel."""

    def __init__(self) -> None:
        self._rows: list[tuple[Any, ...]] = []
        self._structs: dict[tuple[str, tuple[tuple[str, str], ...]], dict[int, bytes]] = {}
        self._values: dict[str, dict[int, int]] = {}
        self._parts: dict[str, float] = {}

    def add(self, row: tuple[Any, ...]) -> None:
        self._rows.append(row)

    def add_struct(
        self,
        prefix: str,
        fields: tuple[tuple[str, str], ...],
        content: bytes,
        parts: Mapping[str, float] = MappingProxyType({}),
    ) -> None:
        """Add the struct `content` to the last row; fields that an older kernel lacks are 0.

        `parts` has the fields that the kernel gives as parts of a whole, and how many.
        """
        self._parts |= {prefix + name: number for name, number in parts.items()}
        size = _dtype(fields).itemsize
        whole = content[:size].ljust(size, b"\0")
        self._structs.setdefault((prefix, fields), {})[len(self._rows) - 1] = whole

    def add_value(self, column: str, value: int) -> None:
        self._values.setdefault(column, {})[len(self._rows) - 1] = value

    def table(self, columns: tuple[str, ...]) -> pd.DataFrame:
        table = pd.DataFrame(self._rows, columns=list(columns))
        new: dict[str, Any] = {}
        for (prefix, fields), structs in self._structs.items():
            array = np.frombuffer(b"".join(structs.values()), _dtype(fields))
            rows = np.fromiter(structs, np.int64)
            for name, _ in fields:
                if name:
                    parts = self._parts.get(prefix + name, 0)
                    new[prefix + name] = _column(name, array[name], rows, len(table), parts)
        for column, values in self._values.items():
            rows = np.fromiter(values, np.int64)
            array = np.fromiter(values.values(), np.float64)
            new[column] = _column(column, array, rows, len(table))
        return pd.concat([table, pd.DataFrame(new, index=table.index)], axis=1)


def _dtype(fields: tuple[tuple[str, str], ...]) -> np.dtype[Any]:
    """Return the type of a packed struct of `fields`."""
    return np.dtype(
        [(name or f"_{number}", f"<{kind}") for number, (name, kind) in enumerate(fields)]
    )


def _column(name: str, values: Any, rows: Any, length: int, parts: float = 0) -> Any:
    """Return a column with `values`, in its unit, at `rows` and NaN elsewhere.

    Integers stay integers if every row has a value.
    """
    scaled = values
    if parts:
        scaled = values / parts
    elif name.endswith("_gain"):
        scaled = values / _GAIN
    elif name == "ecn_mode":  # other bits are about options
        scaled = values & 3
    elif name.endswith("_bit_s"):
        scaled = values.astype(np.float64) * 8
    if name in _NONE:
        scaled = np.where(values == _NONE[name], np.nan, scaled)
    if len(rows) == length:
        return scaled
    column = np.full(length, np.nan)
    column[rows] = scaled
    return column


_QDISC_COLUMNS = (
    "time_ns", "node", "interface", "kind", "handle", "parent", "sent_bytes", "sent_packets",
    "backlog_packets", "backlog_bytes", "drops", "requeues", "overlimits",
)  # fmt: skip
_SOCKET_COLUMNS = (
    "time_ns", "node", "local", "local_port", "remote", "remote_port", "state",
    "congestion_control", "rcv_queue_bytes", "snd_queue_bytes", "inode",
)  # fmt: skip


def _qdisc(rows: _Rows, place: tuple[Any, ...], body: bytes) -> None:
    _, _, handle, parent, _ = _TCMSG.unpack_from(body)
    answer = dict(attributes(body[_TCMSG.size :]))
    kind = _text(answer[_TCA_KIND])
    counted = dict(attributes(answer[_TCA_STATS2]))
    sent_bytes, packets = struct.unpack_from("<QI", counted[_BASIC])
    if _PACKETS64 in counted:
        (packets,) = struct.unpack("<Q", counted[_PACKETS64])
    queue = _QUEUE.unpack_from(counted[_QUEUED])
    names = (f"{handle >> 16:x}:", "root" if parent == 0xFFFFFFFF else _classid(parent))
    rows.add((*place, kind, *names, sent_bytes, packets, *queue))
    about = KINDS.get(kind)
    if about is None or _APP not in counted:
        return
    if about.decode is not None:
        for column, value in about.decode(counted[_APP]):
            rows.add_value(f"{kind}_{column}", value)
    elif about.counters:
        rows.add_struct(f"{kind}_", about.counters, counted[_APP], about.parts)


def _socket(rows: _Rows, place: tuple[Any, ...], body: bytes) -> None:
    family, state, _, _, *rest = _DIAG.unpack_from(body)
    local_port, remote_port, local, remote, _, received, sent, _, inode = rest
    answer = dict(attributes(body[_DIAG.size :]))
    ends = []
    for address, port in ((local, local_port), (remote, remote_port)):
        ends += [_address(family, address), socket.ntohs(port)]
    control = _text(answer.get(_DIAG_CONG, b""))
    rows.add((*place, *ends, STATES.get(state, str(state)), control, received, sent, inode))
    info = answer[_DIAG_INFO]
    rows.add_struct("", _INFO, info)
    if len(info) >= _INFO_ECN_AT + _dtype(_INFO_ECN).itemsize:
        rows.add_struct("", _INFO_ECN, info[_INFO_ECN_AT:])
    for number, (prefix, fields) in _CONTROLS.items():
        if number in answer:
            rows.add_struct(f"{prefix}_", fields, answer[number])


def _address(family: int, content: bytes) -> str:
    """Return an address as text; IPv4 as such even if an IPv6 socket has it."""
    if family == socket.AF_INET:
        return socket.inet_ntoa(content[:4])
    if content.startswith(b"\0" * 10 + b"\xff\xff"):
        return socket.inet_ntoa(content[12:])
    return socket.inet_ntop(socket.AF_INET6, content)


def _classid(number: int) -> str:
    return f"{number >> 16:x}:{number & 0xFFFF:x}"


def _text(content: bytes) -> str:
    return content.split(b"\0")[0].decode()


def _messages(content: bytes) -> Iterator[bytes]:
    """Yield the body of each netlink message."""
    at = 0
    while at + _HEADER.size <= len(content):
        (length,) = struct.unpack_from("<I", content, at)
        yield content[at + _HEADER.size : at + length]
        at += -(-length // 4) * 4
