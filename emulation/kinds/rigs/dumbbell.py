"""A dumbbell: senders and receivers around one bottleneck, wired or WiFi.

```yaml
rig:
  kind: dumbbell
  base_rtt: 100 ms
  edge_rate: 100 Mbit/s
  pairs: 4               # senders, and as many receivers
  split: symmetric       # or forward, backward: all of the delay on the way to or from receivers
  noise: 1               # by how many packet times of the bottleneck a delay varies; 0 in no era
  wifi: public           # the receivers are its stations, and its access point is the bottleneck
```
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Self

from pydantic import Field, model_validator

from emulation.kinds.rigs.base import Noise, RigSection, WifiLink, halves
from emulation.model.egress import DELAY_LIMIT, SHAPER_LIMIT, Delay, Hierarchy, Radio, Shaper
from emulation.model.qdisc import Qdisc
from emulation.model.topology import Link, Medium, Node, Port, Topology, Wire
from emulation.model.units import Duration, Packets, Rate, Size
from emulation.model.wifi import Wifi
from emulation.study.schema import Flaws, LinkRate, Span

MOST_PAIRS = 64  # which Mininet's switch and a guest's memory can easily take
PAIRS = 4  # Sec. 4.1.1: senders, and as many receivers
EDGE_BURST = Size(1514)  # of a network card: one frame
HTB_BURST = Size(1600)  # tc's default, about one frame

#: Linux's default on a station's device: a FIFO of `txqueuelen` packets.
STATION_QDISC = Qdisc("pfifo_fast", "pfifo_fast", (), Packets(1000))


class Dumbbell(RigSection):
    """Senders – switch – aqm – delay – switch – receivers."""

    kind: Literal["dumbbell"] = "dumbbell"
    edge_rate: LinkRate  # of every port but those of the bottleneck
    base_rtt: Span
    pairs: int = Field(default=PAIRS, ge=1, le=MOST_PAIRS, strict=True)
    split: Literal["symmetric", "forward", "backward"] = "symmetric"
    noise: Noise = None
    wifi: WifiLink | None = None

    @model_validator(mode="after")
    def _one_station_per_receiver(self) -> Self:
        if self.wifi is not None and len(self.wifi.stations) != self.pairs:
            what = f"'{self.wifi.name}' has {len(self.wifi.stations)} stations"
            what += f", a dumbbell has {self.pairs} receivers"
            raise Flaws((("wifi",), what, f"write {self.pairs}"))
        return self

    @property
    def host_noise(self) -> float | None:
        """Return the noise of the delays."""
        return self.noise

    @property
    def base_rtts(self) -> tuple[Duration, ...]:
        """Return the base RTT, which all pairs have."""
        return (self.base_rtt,)

    def topology(self, link: Link | None, queues: Mapping[Rate, Qdisc]) -> Topology:
        """Build the dumbbell around `link`; over WiFi the access point has the qdisc for `down`."""
        assert link is not None
        if self.wifi is not None:
            parts = (self.wifi, self.base_rtt, self.edge_rate, self.split)
            return wifi_dumbbell(link, queues[link.down], *parts)
        return dumbbell(
            link, queues[link.up], self.base_rtt, self.edge_rate, self.pairs, self.split
        )


def dumbbell(
    link: Link,
    qdisc: Qdisc,
    base_rtt: Duration,
    edge_rate: Rate,
    pairs: int = PAIRS,
    split: str = "symmetric",
) -> Topology:
    """Build `pairs` senders – switch – `aqm` – `delay` – switch – as many receivers.

    `aqm` limits the way to the receivers with an HTB around the qdisc under test; `delay` adds the
    base round-trip time, divided as `split` says; the way back crosses the same link at its `down`
    rate without a queue under test. Everything else has `edge_rate`. The n-th sender sends
    to the n-th receiver.
    """
    edge = Shaper(edge_rate, EDGE_BURST, SHAPER_LIMIT)
    there, back = halves(base_rtt, split)
    senders = [f"sender{number}" for number in range(1, pairs + 1)]
    receivers = [f"receiver{number}" for number in range(1, pairs + 1)]
    before = Port("aqm", "aqm-senders", "10.0.1.254/24", edge)
    behind = Port("aqm", "aqm-delay", "10.0.2.1/24", Hierarchy(link.up, HTB_BURST, qdisc))
    wires = (
        *star("switch1", senders, "10.0.1", before, edge),
        Wire(
            behind,
            Port(
                "delay", "delay-aqm", "10.0.2.2/24", Delay(back, link.down, DELAY_LIMIT, link.down)
            ),
        ),
        *star(
            "switch2",
            receivers,
            "10.0.3",
            Port(
                "delay",
                "delay-recv",
                "10.0.3.254/24",
                Delay(there, edge_rate, DELAY_LIMIT, link.up),
            ),
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
    """Return a wire from each of `hosts` to `switch`, and one from the switch to `router`."""
    wires = [
        Wire(
            Port(host, "eth0", f"{subnet}.{number}/24", edge),
            Port(switch, f"{switch}-{number}", "", edge),
        )
        for number, host in enumerate(hosts, start=1)
    ]
    return [*wires, Wire(Port(switch, f"{switch}-0", "", edge), router)]


def wifi_dumbbell(
    link: Link,
    qdisc: Qdisc,
    wifi: Wifi,
    base_rtt: Duration,
    edge_rate: Rate,
    split: str = "symmetric",
) -> Topology:
    """Build senders – switch – `delay` – `aqm` – as many receivers as `wifi` has stations.

    `aqm` is the access point, a router as in the wired testbed, and has the qdisc under test on
    its WiFi interface; a station has Linux's default. `delay` adds the base round-trip time,
    divided as `split` says, on the wired side, where `link` has its rates. The n-th sender sends
    to the n-th receiver and, where traffic goes both ways, the n-th receiver to the n-th sender.
    """
    edge = Shaper(edge_rate, EDGE_BURST, SHAPER_LIMIT)
    there, back = halves(base_rtt, split)
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
            Port(
                "delay",
                "delay-senders",
                "10.0.1.254/24",
                Delay(back, link.up, DELAY_LIMIT, wifi.rate("up")),
            ),
            edge,
        ),
        Wire(
            Port(
                "delay",
                "delay-aqm",
                "10.0.2.2/24",
                Delay(there, link.down, DELAY_LIMIT, wifi.rate("down")),
            ),
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
