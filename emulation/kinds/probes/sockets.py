"""What `ss -ti` reports of each TCP connection of a node, as a series.

The kernel answers SOCK_DIAG_BY_FAMILY with it (linux/inet_diag.h).
"""

import socket
import struct
from typing import TYPE_CHECKING, Any

from qdisclab.emulation.kinds.netlink import attributes, fields, text
from qdisclab.emulation.kinds.probes.base import DEFAULT_INTERVAL, SOCKETS, ProbeKind, Where
from qdisclab.emulation.model.run import Run

if TYPE_CHECKING:
    from qdisclab.emulation.captures.samples import Rows

_DIAG = struct.Struct("<4BHH16s16s12x5I")  # struct inet_diag_msg
_DIAG_INFO, _DIAG_VEGAS, _DIAG_CONG, _DIAG_DCTCP, _DIAG_BBR = 2, 3, 4, 9, 16

STATES = {1: "ESTAB", 2: "SYN-SENT", 3: "SYN-RECV", 4: "FIN-WAIT-1", 5: "FIN-WAIT-2"} | {
    7: "CLOSE", 8: "CLOSE-WAIT", 9: "LAST-ACK", 11: "CLOSING"
}  # fmt: skip

#: struct tcp_info (linux/tcp.h), up to the last field that becomes a column.
_INFO = fields(
    ":u1 ca_state:u1 retransmits:u1 probes:u1 backoff:u1 :u1 :u1 flags:u1 rto_us ato_us "
    "snd_mss_bytes rcv_mss_bytes unacked_packets sacked_packets lost_packets retrans_packets :u4 "
    ":u4 :u4 :u4 :u4 pmtu_bytes rcv_ssthresh_bytes srtt_us rttvar_us ssthresh_packets cwnd_packets "
    ":u4 reordering_packets rcv_rtt_us rcv_space_bytes total_retrans_packets pacing_rate_bit_s:u8 "
    ":u8 bytes_acked:u8 bytes_received:u8 segs_out segs_in notsent_bytes min_rtt_us data_segs_in "
    "data_segs_out delivery_rate_bit_s:u8 busy_us:u8 rwnd_limited_us:u8 sndbuf_limited_us:u8 "
    "delivered_packets delivered_ce_packets bytes_sent:u8 bytes_retrans:u8 dsack_dups reord_seen "
    "rcv_out_of_order_packets snd_wnd_bytes rcv_wnd_bytes"
)
#: What follows it, after some fields that are left out, from 7.0 on: what AccECN counts.
_INFO_ECN_AT, _INFO_ECN_SIZE = 248, 32
_INFO_ECN = fields(
    "received_ce_packets delivered_ect1_bytes delivered_ect0_bytes delivered_ce_bytes "
    "received_ect1_bytes received_ect0_bytes received_ce_bytes ecn_mode"
)
_CONTROLS = {
    _DIAG_VEGAS: ("vegas", fields("enabled rtt_count rtt_us min_rtt_us")),
    _DIAG_DCTCP: (
        "dctcp",
        fields("enabled:u2 ce_state:u2 alpha_per_1024 acked_ecn_bytes acked_bytes"),
    ),
    _DIAG_BBR: ("bbr", fields("bw_bit_s:u8 min_rtt_us pacing_gain cwnd_gain")),
}
_GAINS = {"pacing_gain": 256, "cwnd_gain": 256}  # BBR_UNIT


_COLUMNS = (
    "time_ns", "node", "local", "local_port", "remote", "remote_port", "state",
    "congestion_control", "rcv_queue_bytes", "snd_queue_bytes", "inode",
)  # fmt: skip


def _add(rows: "Rows", place: tuple[Any, ...], body: bytes) -> None:
    """Add the row of a connection, which has no interface."""
    family, state, _, _, *rest = _DIAG.unpack_from(body)
    local_port, remote_port, local, remote, _, received, sent, _, inode = rest
    answer = dict(attributes(body[_DIAG.size :]))
    ends = []
    for address, port in ((local, local_port), (remote, remote_port)):
        ends += [_address(family, address), socket.ntohs(port)]
    control = text(answer.get(_DIAG_CONG, b""))
    rows.add((*place[:2], *ends, STATES.get(state, str(state)), control, received, sent, inode))
    info = answer[_DIAG_INFO]
    rows.add_struct("", _INFO, info)
    if len(info) >= _INFO_ECN_AT + _INFO_ECN_SIZE:
        rows.add_struct("", _INFO_ECN, info[_INFO_ECN_AT:])
    for number, (prefix, form) in _CONTROLS.items():
        if number in answer:
            rows.add_struct(f"{prefix}_", form, answer[number], _GAINS)


def _address(family: int, content: bytes) -> str:
    """Return an address as text; IPv4 as such even if an IPv6 socket has it."""
    if family == socket.AF_INET:
        return socket.inet_ntoa(content[:4])
    if content.startswith(b"\0" * 10 + b"\xff\xff"):
        return socket.inet_ntoa(content[12:])
    return socket.inet_ntop(socket.AF_INET6, content)


def _hosts(run: Run) -> list[Where]:
    """Return the nodes that neither route nor switch: each sends, if only acknowledgments."""
    nodes = run.topology.nodes
    return [(node.name, None) for node in nodes if not (node.forwards or node.switches)]


_FORM = "sockets[:INTERVAL][:NODE]"
KIND = ProbeKind("sockets", _FORM, SOCKETS, _hosts, 1, DEFAULT_INTERVAL, columns=_COLUMNS, add=_add)
