"""The wireless testbed of khademi2013 (Sec. 3.1.2): the receivers of the dumbbell are on WiFi."""

from __future__ import annotations

from emulation.dumbbell import EDGE_BURST, star
from emulation.qdisc import Qdisc
from emulation.topology import (
    DELAY_LIMIT,
    SHAPER_LIMIT,
    Delay,
    Link,
    Medium,
    Node,
    Port,
    Radio,
    Shaper,
    Topology,
    Wire,
)
from emulation.units import Duration, Packets, Rate
from emulation.wifi import Wifi

#: What Linux puts on a station's device: a FIFO of as many packets as `txqueuelen` says.
STATION_QDISC = Qdisc("pfifo_fast", "pfifo_fast", (), Packets(1000))


def wifi_dumbbell(
    link: Link, qdisc: Qdisc, wifi: Wifi, base_rtt: Duration, edge_rate: Rate
) -> Topology:
    """Senders – switch – `delay` – `aqm` – as many receivers as `wifi` has stations.

    `aqm` is the access point, a router as in the wired testbed, and has the qdisc under test on
    its WiFi interface; a station has Linux's default. `delay` adds the base round-trip time, half
    in each direction, on the wired side, where `link` has its rates. The n-th sender sends to the
    n-th receiver and, where traffic goes both ways, the n-th receiver to the n-th sender.
    """
    edge = Shaper(edge_rate, EDGE_BURST, SHAPER_LIMIT)
    there = Duration(base_rtt.nanoseconds // 2)
    back = Duration(base_rtt.nanoseconds - there.nanoseconds)
    numbers = range(1, len(wifi.stations) + 1)
    senders = [f"sender{number}" for number in numbers]
    receivers = [f"receiver{number}" for number in numbers]
    before = Port("aqm", "aqm-delay", "10.0.2.1/24", edge)
    on_air = Port("aqm", "aqm-air", "10.0.3.254/24", Radio(qdisc, wifi.access_point))
    stations = tuple(
        Port(host, "wlan0", f"10.0.3.{number}/24", Radio(STATION_QDISC, options))
        for number, host, options in zip(numbers, receivers, wifi.stations, strict=True)
    )
    wires = (
        *star(
            "switch1",
            senders,
            "10.0.1",
            Port("delay", "delay-senders", "10.0.1.254/24", Delay(back, link.up, DELAY_LIMIT)),
            edge,
        ),
        Wire(
            Port("delay", "delay-aqm", "10.0.2.2/24", Delay(there, link.down, DELAY_LIMIT)),
            before,
        ),
    )
    nodes = (
        *(Node(name, forwards=False) for name in senders),
        Node("switch1", forwards=False, switches=True),
        Node("delay", forwards=True),
        Node("aqm", forwards=True),
        *(Node(name, forwards=False) for name in receivers),
    )
    ends = [*((name, "eth0") for name in senders), *((name, "wlan0") for name in receivers)]
    return Topology(
        "wifi_dumbbell",
        nodes,
        wires,
        pairs=tuple(zip(senders, receivers, strict=True)),
        observed=(("aqm", before.interface), ("aqm", on_air.interface), *ends),
        media=(Medium(on_air, stations),),
    )
