"""Two gateways with the bottleneck between them.

As in `codel.tcl`, the script that its authors published (v120513, in the ns-2 tree of
github.com/dtaht/ns2): senders on one side, receivers on the other, the queue under test in both
gateways. The round-trip times of the bulk senders differ a little there, as they do here.
"""

from collections.abc import Mapping
from math import gcd
from typing import Literal

from qdisclab.emulation.kernel.module import SOURCES, source
from qdisclab.emulation.kinds.rigs.base import RigSection, halves
from qdisclab.emulation.kinds.rigs.dumbbell import EDGE_BURST
from qdisclab.emulation.model.egress import DELAY_LIMIT, SHAPER_LIMIT, Delay, Hierarchy, Shaper
from qdisclab.emulation.model.qdisc import Qdisc
from qdisclab.emulation.model.topology import Link, Node, Port, Topology, Wire
from qdisclab.emulation.model.units import Duration, Rate, Size
from qdisclab.emulation.study.schema import LinkRate, Span

BULK_PAIRS = 4
#: A bulk pair's round trip is longer than the base RTT by its number, from 1, times this part of
#: it. codel.tcl: 2 ms more from sender to sender, at 100 ms.
RTT_STEP = 50
OTHERS = ("servers", "clients")  # the ends of web sessions, constant bit rate and uploads
PAIRS = (*((f"sender{number}", f"receiver{number}") for number in range(1, BULK_PAIRS + 1)), OTHERS)
LEAST_BURST = Size(64)  # a link of ns-2 has no bucket: it sends packet after packet
LEFT, RIGHT = ("left", "left-right"), ("right", "right-left")  # the queues under test


class Gateways(RigSection):
    """Five senders – left – right – five receivers."""

    kind: Literal["gateways"] = "gateways"
    edge_rate: LinkRate  # of every port but those of the bottleneck
    base_rtt: Span  # of the last pair; the others have a little more (`base_rtts`)

    def topology(self, link: Link | None, queues: Mapping[Rate, Qdisc]) -> Topology:
        """Build five senders – `left` – `right` – five receivers, each on a wire of its own.

        `left` sends to `right` at the link's `up` rate and `right` to `left` at its `down` rate,
        each with its qdisc. The round-trip time is added between `right` and the receivers, half in
        each direction. The n-th sender sends to the n-th receiver; the last pair are `OTHERS`.
        """
        assert link is not None
        edge = Shaper(self.edge_rate, EDGE_BURST, SHAPER_LIMIT)
        wires = [
            Wire(
                Port(*LEFT, "10.0.0.1/24", _limited(link.up, queues[link.up])),
                Port(*RIGHT, "10.0.0.2/24", _limited(link.down, queues[link.down])),
            )
        ]
        of_pairs = zip(PAIRS, base_rtts(self.base_rtt), strict=True)
        for number, ((sender, receiver), rtt) in enumerate(of_pairs, start=1):
            there, back = (
                Delay(half, self.edge_rate, DELAY_LIMIT) for half in halves(rtt, "symmetric")
            )
            wires += [
                Wire(
                    Port(sender, "eth0", f"10.1.{number}.2/24", edge),
                    Port("left", f"left-{number}", f"10.1.{number}.1/24", edge),
                ),
                Wire(
                    Port("right", f"right-{number}", f"10.2.{number}.1/24", there),
                    Port(receiver, "eth0", f"10.2.{number}.2/24", back),
                ),
            ]
        senders, receivers = zip(*PAIRS, strict=True)
        nodes = (
            Node(name, forwards=name in (LEFT[0], RIGHT[0]))
            for name in (*senders, LEFT[0], RIGHT[0], *receivers)
        )
        return Topology("gateways", tuple(nodes), tuple(wires), pairs=PAIRS)

    def counted(self, topology: Topology) -> tuple[Port, ...]:
        """Return the ports under test: no other drops anything."""
        return tuple(topology.queues())


def base_rtts(base_rtt: Duration) -> tuple[Duration, ...]:
    """Return the base RTT of each pair; that of the last pair is `base_rtt`."""
    bulk = (
        Duration(base_rtt.nanoseconds + number * base_rtt.nanoseconds // RTT_STEP)
        for number in range(1, BULK_PAIRS + 1)
    )
    return (*bulk, base_rtt)


def _limited(rate: Rate, qdisc: Qdisc) -> Hierarchy:
    """Limit `qdisc` to `rate`; without a qdisc between RED would never be idle (qdisc/src/idle)."""
    between = Qdisc("idle", "idle", module=source(SOURCES / "idle"))
    return Hierarchy(rate, burst(rate), qdisc, between if qdisc.kind == "red" else None)


def burst(rate: Rate) -> Size:
    """Return the smallest bucket of at least `LEAST_BURST` that is read back without rounding.

    The kernel keeps the time that it takes at `rate` in units of 64 ns (PSCHED_SHIFT), tc shows
    whole microseconds of it: both are whole for a multiple of 8 us.
    """
    step = rate.bits_per_second // gcd(rate.bits_per_second, 1_000_000)
    return Size(-(-LEAST_BURST.bytes // step) * step)
