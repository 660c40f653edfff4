"""Turn the samples of probes, as a guest leaves them, into tables.

A sample is a record: time, number of the place, length, and the netlink messages with which the
kernel answers `tc -s qdisc` (RTM_NEWQDISC) or `ss -ti` (SOCK_DIAG_BY_FAMILY). docs/probes.md has
the columns and units.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from emulation.errors import ConfigError
from emulation.kinds.probes.probe import QDISC, SOCKETS

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

#: Kind of qdisc -> struct of its statistics (linux/pkt_sched.h): (column, type); "" is left out.
XSTATS: dict[str, tuple[tuple[str, str], ...]] = {
    "codel": (
        ("max_packet_bytes", "u4"), ("count", "u4"), ("last_count", "u4"), ("delay_us", "u4"),
        ("drop_next_us", "i4"), ("drop_overlimit", "u4"), ("ecn_mark", "u4"), ("dropping", "u4"),
        ("ce_mark", "u4"),
    ),
    "fq_codel": (
        ("", "u4"), ("max_packet_bytes", "u4"), ("drop_overlimit", "u4"), ("ecn_mark", "u4"),
        ("new_flow_count", "u4"), ("new_flows", "u4"), ("old_flows", "u4"), ("ce_mark", "u4"),
        ("memory_bytes", "u4"), ("drop_overmemory", "u4"),
    ),
    "pie": (
        ("probability", "u8"), ("delay_us", "u4"), ("dequeue_rate_bytes_per_s", "u4"),
        ("dequeue_rate_estimating", "u4"), ("packets_in", "u4"), ("dropped", "u4"),
        ("overlimit", "u4"), ("max_queue_packets", "u4"), ("ecn_mark", "u4"),
    ),
    "fq_pie": (
        ("packets_in", "u4"), ("dropped", "u4"), ("overlimit", "u4"), ("overmemory", "u4"),
        ("ecn_mark", "u4"), ("new_flow_count", "u4"), ("new_flows", "u4"), ("old_flows", "u4"),
        ("memory_bytes", "u4"),
    ),
    "red": (("early", "u4"), ("queue_limit", "u4"), ("other", "u4"), ("marked", "u4")),
    "choke": (
        ("early", "u4"), ("queue_limit", "u4"), ("other", "u4"), ("marked", "u4"),
        ("matched", "u4"),
    ),
    "sfb": (
        ("early", "u4"), ("penalty", "u4"), ("bucket", "u4"), ("queue", "u4"), ("child", "u4"),
        ("marked", "u4"), ("max_queue_packets", "u4"), ("max_probability", "u4"),
        ("average_probability", "u4"),
    ),
    "fq": (
        ("gc_flows", "u8"), ("", "u8"), ("", "u8"), ("throttled", "u8"), ("flows_limit", "u8"),
        ("too_long", "u8"), ("allocation_errors", "u8"), ("next_delayed_flow_ns", "i8"),
        ("flows", "u4"), ("inactive_flows", "u4"), ("throttled_flows", "u4"),
        ("unthrottle_latency_ns", "u4"), ("ce_mark", "u8"), ("horizon_drops", "u8"),
        ("horizon_caps", "u8"), ("fastpath_packets", "u8"), ("band0_drops", "u8"),
        ("band1_drops", "u8"), ("band2_drops", "u8"), ("band0_packets", "u4"),
        ("band1_packets", "u4"), ("band2_packets", "u4"),
    ),
    "dualpi2": (
        ("base_probability", "u4"), ("delay_c_us", "u4"), ("delay_l_us", "u4"),
        ("packets_in_c", "u4"), ("packets_in_l", "u4"), ("max_queue_packets", "u4"),
        ("ecn_mark", "u4"), ("step_mark", "u4"), ("credit", "i4"), ("memory_bytes", "u4"),
        ("max_memory_bytes", "u4"), ("memory_limit_bytes", "u4"),
    ),
    "hhf": (
        ("drop_overlimit", "u4"), ("heavy_overlimit", "u4"), ("heavy_total", "u4"),
        ("heavy_now", "u4"),
    ),
}  # fmt: skip
#: Columns that the kernel gives as parts of a whole -> number of parts.
_SCALES = {"probability": 2.0**64, "base_probability": 2.0**32 - 1} | dict.fromkeys(
    ("max_probability", "average_probability"), 0xFFFF
)

#: Attributes of CAKE (linux/pkt_sched.h): number -> column.
_CAKE = {2: "capacity_estimate_bytes_per_s", 3: "memory_limit_bytes", 4: "memory_used_bytes"}
_CAKE_TINS = 10
_CAKE_TIN = {
    2: "sent_packets", 3: "sent_bytes", 4: "dropped_packets", 6: "acks_dropped_packets",
    8: "ecn_marked_packets", 11: "backlog_bytes", 12: "threshold_rate_bytes_per_s",
    13: "target_us", 14: "interval_us", 15: "way_indirect_hits", 16: "way_misses",
    17: "way_collisions", 18: "peak_delay_us", 19: "average_delay_us", 20: "base_delay_us",
    21: "sparse_flows", 22: "bulk_flows", 23: "unresponsive_flows", 24: "max_packet_bytes",
    25: "flow_quantum_bytes",
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

    def add(self, row: tuple[Any, ...]) -> None:
        self._rows.append(row)

    def add_struct(self, prefix: str, fields: tuple[tuple[str, str], ...], content: bytes) -> None:
        """Add the struct `content` to the last row; fields that an older kernel lacks are 0."""
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
                    new[prefix + name] = _column(name, array[name], rows, len(table))
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


def _column(name: str, values: Any, rows: Any, length: int) -> Any:
    """Return a column with `values`, in its unit, at `rows` and NaN elsewhere.

    Integers stay integers if every row has a value.
    """
    scaled = values
    if name in _SCALES:
        scaled = values / _SCALES[name]
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
    attributes = dict(_attributes(body[_TCMSG.size :]))
    kind = _text(attributes[_TCA_KIND])
    counted = dict(_attributes(attributes[_TCA_STATS2]))
    sent_bytes, packets = struct.unpack_from("<QI", counted[_BASIC])
    if _PACKETS64 in counted:
        (packets,) = struct.unpack("<Q", counted[_PACKETS64])
    queue = _QUEUE.unpack_from(counted[_QUEUED])
    names = (f"{handle >> 16:x}:", "root" if parent == 0xFFFFFFFF else _classid(parent))
    rows.add((*place, kind, *names, sent_bytes, packets, *queue))
    if kind == "cake" and _APP in counted:
        _cake(rows, counted[_APP])
    elif kind in XSTATS and _APP in counted:
        rows.add_struct(f"{kind}_", XSTATS[kind], counted[_APP])


def _cake(rows: _Rows, stats: bytes) -> None:
    for number, content in _attributes(stats):
        if number in _CAKE:
            rows.add_value(f"cake_{_CAKE[number]}", int.from_bytes(content, "little"))
        elif number == _CAKE_TINS:
            for tin, within in _attributes(content):
                for statistic, value in _attributes(within):
                    if statistic in _CAKE_TIN:
                        column = f"cake_tin{tin - 1}_{_CAKE_TIN[statistic]}"
                        rows.add_value(column, int.from_bytes(value, "little"))


def _socket(rows: _Rows, place: tuple[Any, ...], body: bytes) -> None:
    family, state, _, _, *rest = _DIAG.unpack_from(body)
    local_port, remote_port, local, remote, _, received, sent, _, inode = rest
    attributes = dict(_attributes(body[_DIAG.size :]))
    ends = []
    for address, port in ((local, local_port), (remote, remote_port)):
        ends += [_address(family, address), socket.ntohs(port)]
    control = _text(attributes.get(_DIAG_CONG, b""))
    rows.add((*place, *ends, STATES.get(state, str(state)), control, received, sent, inode))
    info = attributes[_DIAG_INFO]
    rows.add_struct("", _INFO, info)
    if len(info) >= _INFO_ECN_AT + _dtype(_INFO_ECN).itemsize:
        rows.add_struct("", _INFO_ECN, info[_INFO_ECN_AT:])
    for number, (prefix, fields) in _CONTROLS.items():
        if number in attributes:
            rows.add_struct(f"{prefix}_", fields, attributes[number])


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


def _attributes(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield (number, content) of each attribute."""
    at = 0
    while at + 4 <= len(content):
        length, number = struct.unpack_from("<HH", content, at)
        yield number & 0x3FFF, content[at + 4 : at + length]  # without NLA_F_NESTED
        at += -(-length // 4) * 4
