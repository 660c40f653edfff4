"""What is sent over the network of codel2012, and the part of a job that says so."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from emulation.gateways import LEFT, OTHERS, RIGHT, base_rtts
from emulation.packmime import sessions
from emulation.topology import Topology
from emulation.units import Duration, Rate

CBR_BYTES, CBR_BIT_S = 100, 64_000  # IP packets (codel2012, Simulator Configuration)
UPLOAD_BYTES = 1_000_000  # Consumer Edge
UPLOAD_IDLE_S = (5.0, 15.0)  # uniform (Consumer Edge)


@dataclass(frozen=True)
class Load:
    """Senders to receivers is forward, the direction of downloads."""

    name: str  # `bulk_4_web_5`
    bulk: int = 0  # TCP flows without end, forward
    web: int = 0  # connections a second that fetch forward, in the mean
    cbr: int = 0  # flows of constant bit rate, forward
    cbr_back: int = 0  # and the other way
    uploads: int = 0  # who send a file, pause and send again, the other way

    @property
    def both_ways(self) -> bool:
        """Whether more than acknowledgments and requests goes the other way."""
        return bool(self.cbr_back or self.uploads)


@dataclass(frozen=True)
class Change:
    """From `at` on, counted from the beginning of the load, both directions have `rate`."""

    at: Duration
    rate: Rate


def traffic_job(
    load: Load,
    topology: Topology,
    *,
    draw: str,
    base_rtt: Duration,
    length: Duration,
    start_jitter: Duration,
    mtu: int | None,
    schedule: tuple[Change, ...],
) -> dict[str, Any]:
    """What the guest's module `mix` gets, ready for JSON.

    Sessions and pauses are drawn here, so that they can be looked at, from the text `draw`.
    """
    return {
        "tool": "mix",
        "servers": ["iperf"],
        "load": {
            "bulk": load.bulk,
            "sessions": _sessions(load, length, f"{draw} web"),
            "cbr": load.cbr,
            "cbr_back": load.cbr_back,
            "cbr_bytes": CBR_BYTES,
            "cbr_gap_us": 8 * CBR_BYTES * 10**6 // CBR_BIT_S,
            "uploads": _uploads(load, length, f"{draw} uploads"),
            "upload_bytes": UPLOAD_BYTES,
        },
        "length_s": length.seconds,
        "start_jitter_us": round(start_jitter.us),
        "mtu": mtu,
        "pairs": [
            {
                "sender": sender,
                "receiver": receiver,
                "address": topology.port(receiver).ip,
                "base_rtt_ms": rtt.ms,
            }
            for (sender, receiver), rtt in zip(topology.pairs, base_rtts(base_rtt), strict=True)
        ],
        "others": {name: topology.port(name).ip for name in OTHERS},
        "changes": [
            {
                "at_s": change.at.seconds,
                "node": node,
                "interface": interface,
                "rate_bit_s": change.rate.bits_per_second,
            }
            for change in schedule
            if change.at < length
            for node, interface in (LEFT, RIGHT)
        ],
        "captures": [
            {"node": node, "interface": interface}
            for queue in queues(load).values()
            for node, interface in ports_of(queue, topology)
        ],
    }


def queues(load: Load) -> dict[str, tuple[str, str]]:
    """Direction -> (node, interface) of each queue whose packets are followed."""
    return {"forward": LEFT, **({"reverse": RIGHT} if load.both_ways else {})}


def ports_of(queue: tuple[str, str], topology: Topology) -> list[tuple[str, str]]:
    """Where what goes through `queue` can be seen: at itself first, and where it comes from."""
    ports = [(port.node, port.interface) for port in topology.ports() if port.node == queue[0]]
    return [queue, *(port for port in ports if port != queue)]


def _sessions(load: Load, length: Duration, draw: str) -> list[Any]:
    """[start, [[pause, request bytes, response bytes, server's delay], ...]] each, times in us."""
    if not load.web:
        return []
    return [
        [
            round(1e6 * one.start_s),
            [
                [
                    round(1e6 * exchange.pause_s),
                    exchange.request_bytes,
                    exchange.response_bytes,
                    round(1e6 * exchange.server_delay_s),
                ]
                for exchange in one.exchanges
            ],
        ]
        for one in sessions(load.web, length.seconds, _seed(draw))
    ]


def _uploads(load: Load, length: Duration, draw: str) -> list[list[int]]:
    """The pauses of each uploader in us, more than it can get to."""
    rng = np.random.RandomState(_seed(draw))
    count = int(length.seconds / UPLOAD_IDLE_S[0]) + 1
    return [
        [round(1e6 * pause) for pause in rng.uniform(*UPLOAD_IDLE_S, count)]
        for _ in range(load.uploads)
    ]


def _seed(draw: str) -> int:
    return int.from_bytes(hashlib.sha256(draw.encode()).digest()[:4], "big")
