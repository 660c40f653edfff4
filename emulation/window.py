"""One TCP connection with a fixed window: the job of it, and where its packets are seen.

The connection of codel2012's Figs 1 to 4, between the last pair of the gateways' rig.
"""

from __future__ import annotations

from typing import Any

from emulation.gateways import BULK_PAIRS, LEFT
from emulation.topology import Topology
from emulation.units import Duration, Size

ABSENT_HOST = 9  # of the receiver's subnet: the address that the receiver of our own answers for


def window_job(
    topology: Topology,
    *,
    window: int,
    ack_every: int,
    base_rtt: Duration,
    length: Duration,
    mtu: Size,
) -> dict[str, Any]:
    """What the guest's module `window` gets, ready for JSON."""
    sender, receiver = topology.pairs[-1]
    address = topology.port(receiver).ip
    return {
        "tool": "window",
        "servers": ["iperf", "mix"],  # whose code it uses
        "window": window,
        "ack_every": ack_every,
        "length_s": length.seconds,
        "mtu": mtu.bytes,
        "pair": {
            "sender": sender,
            "receiver": receiver,
            "address": address,
            "base_rtt_ms": base_rtt.ms,
        },
        "absent": {
            "address": f"{address.rpartition('.')[0]}.{ABSENT_HOST}",
            "node": "right",
            "interface": f"right-{BULK_PAIRS + 1}",
        },
        "captures": [
            {"node": node, "interface": interface} for node, interface in places(topology)
        ],
    }


def places(topology: Topology) -> list[tuple[str, str]]:
    """Where a packet is seen on its way: sender, before the queue, behind it, receiver."""
    sender, receiver = topology.pairs[-1]
    return [(sender, "eth0"), ("left", f"left-{BULK_PAIRS + 1}"), LEFT, (receiver, "eth0")]
