"""Marks and drops: of each queue, by its own counters, and of each flow, by what its ends count.

Exact are a queue's counters and, where the kernel has it (7.0 on), the receiver's count of packets
that came with CE. What a sender counts as delivered with CE is exact with AccECN (`ecn_mode` 2);
with ECN of RFC 3168 (1) it is what was acknowledged while its receiver echoed, which is more, and
with DCTCP about right. Without any of them, captures tell (`emulation.captures.follow`).
"""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pandas as pd

from emulation.captures.counters import marks

FLOW: Final = ["node", "local", "local_port", "remote", "remote_port"]
"""What identifies an end of a connection in the table of the probe `sockets`."""


def per_queue(ports: Mapping[str, Any]) -> pd.DataFrame:
    """One row per qdisc of a run: port, handle, kind, packets sent, dropped and marked.

    `ports` are the counters of a run's provenance (`qdiscs`). `drops_percent` and `marks_percent`
    are parts of all packets that were sent or dropped; NaN where there were none.
    """
    rows = [
        (port, qdisc["handle"], qdisc["kind"], qdisc["packets"], qdisc["drops"], marks(qdisc))
        for port, found in ports.items()
        for qdisc in found["qdiscs"]
    ]
    table = pd.DataFrame(rows, columns=["port", "handle", "kind", "packets", "drops", "marks"])
    came = (table["packets"] + table["drops"]).replace(0, np.nan)
    return table.assign(
        drops_percent=100 * table["drops"] / came, marks_percent=100 * table["marks"] / came
    )


def per_flow(sockets: pd.DataFrame) -> pd.DataFrame:
    """One row per sender of data: what it had delivered at its last sample, and what of it with CE.

    `sockets` is the table of the probe of that name. Columns: FLOW, congestion_control, delivered,
    retransmitted (packets), ce_sender, ce_receiver (packets; the latter NaN before Linux 7.0) and
    ecn_mode (NaN before 7.0). Senders are ends that have sent more bytes than they received.
    """
    last = sockets.sort_values("time_ns").groupby(FLOW, as_index=False).last()
    for column in ("received_ce_packets", "ecn_mode"):
        if column not in last:
            last[column] = np.nan
    senders = last[last["bytes_sent"] > last["bytes_received"]]
    back = ["remote", "remote_port", "local", "local_port"]
    receivers = last.set_index(FLOW[1:])["received_ce_packets"]
    ends = pd.MultiIndex.from_frame(senders[back])
    return pd.DataFrame(
        {
            **{column: senders[column] for column in (*FLOW, "congestion_control")},
            "delivered": senders["delivered_packets"],
            "retransmitted": senders["total_retrans_packets"],
            "ce_sender": senders["delivered_ce_packets"],
            "ce_receiver": receivers.reindex(ends).to_numpy(),
            "ecn_mode": senders["ecn_mode"],
        }
    ).reset_index(drop=True)
