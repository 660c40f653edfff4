"""The wired testbed of khademi2013 (Sec. 3.1.1): senders and receivers around one bottleneck."""

from __future__ import annotations

from emulation.qdisc import Qdisc
from emulation.topology import (
    DELAY_LIMIT,
    SHAPER_LIMIT,
    Delay,
    Hierarchy,
    Link,
    Node,
    Port,
    Shaper,
    Topology,
    Wire,
)
from emulation.units import Duration, Rate, Size

PAIRS = 4  # Sec. 4.1.1: senders, and as many receivers
EDGE_BURST = Size(1514)  # of a network card: one frame
HTB_BURST = Size(1600)  # tc's own where nothing is said, about one frame


def dumbbell(
    link: Link, qdisc: Qdisc, base_rtt: Duration, edge_rate: Rate, pairs: int = PAIRS
) -> Topology:
    """`pairs` senders – switch – `aqm` – `delay` – switch – as many receivers.

    `aqm` limits what goes to the receivers with an HTB around the qdisc under test; `delay` adds
    the base round-trip time, half in each direction; what comes back crosses the same link at its
    `down` rate without a queue under test. Everything else has `edge_rate`. The n-th sender sends
    to the n-th receiver.
    """
    edge = Shaper(edge_rate, EDGE_BURST, SHAPER_LIMIT)
    there = Duration(base_rtt.nanoseconds // 2)
    back = Duration(base_rtt.nanoseconds - there.nanoseconds)
    senders = [f"sender{number}" for number in range(1, pairs + 1)]
    receivers = [f"receiver{number}" for number in range(1, pairs + 1)]
    before = Port("aqm", "aqm-senders", "10.0.1.254/24", edge)
    behind = Port("aqm", "aqm-delay", "10.0.2.1/24", Hierarchy(link.up, HTB_BURST, qdisc))
    wires = (
        *star("switch1", senders, "10.0.1", before, edge),
        Wire(
            behind,
            Port("delay", "delay-aqm", "10.0.2.2/24", Delay(back, link.down, DELAY_LIMIT)),
        ),
        *star(
            "switch2",
            receivers,
            "10.0.3",
            Port("delay", "delay-recv", "10.0.3.254/24", Delay(there, edge_rate, DELAY_LIMIT)),
            edge,
        ),
    )
    nodes = (
        *(Node(name, forwards=False) for name in senders),
        Node("switch1", forwards=False, switches=True),
        Node("aqm", forwards=True),
        Node("delay", forwards=True),
        Node("switch2", forwards=False, switches=True),
        *(Node(name, forwards=False) for name in receivers),
    )
    ends = [(name, "eth0") for name in (*senders, *receivers)]
    return Topology(
        "dumbbell",
        nodes,
        wires,
        pairs=tuple(zip(senders, receivers, strict=True)),
        observed=(("aqm", before.interface), ("aqm", behind.interface), *ends),
    )


def star(switch: str, hosts: list[str], subnet: str, router: Port, edge: Shaper) -> list[Wire]:
    """A wire from each of `hosts` to `switch`, and one from it to `router`."""
    wires = [
        Wire(
            Port(host, "eth0", f"{subnet}.{number}/24", edge),
            Port(switch, f"{switch}-{number}", "", edge),
        )
        for number, host in enumerate(hosts, start=1)
    ]
    return [*wires, Wire(Port(switch, f"{switch}-0", "", edge), router)]
