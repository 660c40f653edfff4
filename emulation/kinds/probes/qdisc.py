"""What `tc -s qdisc` reports of each qdisc of a port, as a series; columns of a kind by its module.

The kernel answers RTM_GETQDISC with it (linux/rtnetlink.h, linux/gen_stats.h).
"""

import struct
from typing import TYPE_CHECKING, Any

from qdisclab.emulation.kinds.netlink import attributes, fields, text
from qdisclab.emulation.kinds.probes import base, capture
from qdisclab.emulation.kinds.qdiscs import KINDS

if TYPE_CHECKING:
    from qdisclab.emulation.captures.samples import Rows

_TCMSG = struct.Struct("<BxxxiIII")  # struct tcmsg
_QUEUE = struct.Struct("<5I")  # struct gnet_stats_queue
_TCA_KIND, _TCA_STATS2 = 1, 7
_BASIC, _QUEUED, _APP, _PACKETS64 = 1, 3, 4, 8  # TCA_STATS_*
_COLUMNS = (
    "time_ns", "node", "interface", "kind", "handle", "parent", "sent_bytes", "sent_packets",
    "backlog_packets", "backlog_bytes", "drops", "requeues", "overlimits",
)  # fmt: skip


def _add(rows: "Rows", place: tuple[Any, ...], body: bytes) -> None:
    """Add the row of a qdisc."""
    _, _, handle, parent, _ = _TCMSG.unpack_from(body)
    answer = dict(attributes(body[_TCMSG.size :]))
    kind = text(answer[_TCA_KIND])
    counted = dict(attributes(answer[_TCA_STATS2]))
    sent_bytes, packets = struct.unpack_from("<QI", counted[_BASIC])
    if _PACKETS64 in counted:
        (packets,) = struct.unpack("<Q", counted[_PACKETS64])
    queue = _QUEUE.unpack_from(counted[_QUEUED])
    above = "root" if parent == 0xFFFFFFFF else f"{parent >> 16:x}:{parent & 0xFFFF:x}"
    names = (f"{handle >> 16:x}:", above)
    rows.add((*place, kind, *names, sent_bytes, packets, *queue))
    about = KINDS.get(kind)
    if about is None or _APP not in counted:
        return
    if about.decode is not None:
        for column, value in about.decode(counted[_APP]):
            rows.add_value(f"{kind}_{column}", value)
    elif about.counters:
        rows.add_struct(f"{kind}_", fields(about.counters), counted[_APP], about.parts)


_FORM = "qdisc[:INTERVAL][:NODE [INTERFACE]]"
KIND = base.ProbeKind(
    "qdisc", _FORM, base.QDISC, capture.places, 2, base.DEFAULT_INTERVAL, columns=_COLUMNS, add=_add
)
