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

from collections.abc import Iterable, Mapping
from typing import Literal, Self

from pydantic import Field, model_validator

from qdisclab.emulation.kinds.rigs.base import BottleneckRig, halves
from qdisclab.emulation.model import egress
from qdisclab.emulation.model.qdisc import Qdisc
from qdisclab.emulation.model.topology import Link, Medium, Node, Port, Topology, Wire
from qdisclab.emulation.model.units import Duration, Packets, Rate, Size
from qdisclab.emulation.model.wifi import Wifi
from qdisclab.emulation.study.schema import Flaws, Span

MOST_PAIRS = 128  # as many hosts as are measured
PAIRS = 4  # Sec. 4.1.1: senders, and as many receivers
EDGE_BURST = Size(1514)  # of a network card: one frame
HTB_BURST = Size(1600)  # tc's default, about one frame
ROUTERS = ("aqm", "delay")

#: Linux's default on a station's device: a FIFO of `txqueuelen` packets.
STATION_QDISC = Qdisc("pfifo_fast", "pfifo_fast", (), Packets(1000))


class Dumbbell(BottleneckRig):
    """Senders – switch – aqm – delay – switch – receivers."""

    kind: Literal["dumbbell"] = "dumbbell"
    base_rtt: Span  # of all pairs
    pairs: int = Field(default=PAIRS, ge=1, le=MOST_PAIRS, strict=True)

    @model_validator(mode="after")
    def _one_station_per_receiver(self) -> Self:
        if self.wifi is not None and len(self.wifi.stations) != self.pairs:
            what = f"'{self.wifi.name}' has {len(self.wifi.stations)} stations"
            what += f", a dumbbell has {self.pairs} receivers"
            raise Flaws((("wifi",), what, f"write {self.pairs}"))
        return self

    def topology(self, link: Link | None, queues: Mapping[Rate, Qdisc]) -> Topology:
        """Build the dumbbell around `link`; over WiFi the access point has the qdisc for `down`.

        `delay` adds the base round-trip time, divided as `split` says; what is not the bottleneck
        has `edge_rate`. The n-th sender sends to the n-th receiver and, where traffic goes both
        ways, the n-th receiver to the n-th sender.
        """
        assert link is not None
        there, back = halves(self.base_rtt, self.split)
        if self.wifi is not None:
            return self._over_wifi(link, queues[link.down], self.wifi, there, back)
        # The way back crosses the same link at its `down` rate, without a queue under test.
        before = Port("aqm", "aqm-senders", "10.0.1.254/24", self._edge)
        shaped = egress.Hierarchy(link.up, HTB_BURST, queues[link.up])
        behind = Port("aqm", "aqm-delay", "10.0.2.1/24", shaped)
        to_aqm = egress.Delay(back, link.down, egress.DELAY_LIMIT, link.down)
        on = egress.Delay(there, self.edge_rate, egress.DELAY_LIMIT, link.up)
        last = Port("delay", "delay-recv", "10.0.3.254/24", on)
        wires = (
            *self._star("switch1", "sender", "10.0.1", before),
            Wire(behind, Port("delay", "delay-aqm", "10.0.2.2/24", to_aqm)),
            *self._star("switch2", "receiver", "10.0.3", last),
        )
        middle = ("switch1", "aqm", "delay", "switch2")
        return self._whole("dumbbell", middle, wires, (before, behind))

    def _over_wifi(
        self, link: Link, qdisc: Qdisc, wifi: Wifi, there: Duration, back: Duration
    ) -> Topology:
        """Build senders – switch – delay – aqm – receivers, the stations of `wifi`.

        `aqm` is the access point, a router as in the wired testbed, and has the qdisc under test on
        its WiFi interface; a station has Linux's default. `link` has its rates on the wired side.
        """
        before = Port("aqm", "aqm-delay", "10.0.2.1/24", self._edge)
        on_air = Port("aqm", "aqm-air", "10.0.3.254/24", egress.Radio(qdisc, wifi.access_point))
        stations = tuple(
            Port(host, "wlan0", f"10.0.3.{number}/24", egress.Radio(STATION_QDISC, options))
            for (number, host), options in zip(self._hosts("receiver"), wifi.stations, strict=True)
        )
        to_senders = egress.Delay(back, link.up, egress.DELAY_LIMIT, wifi.rate("up"))
        to_aqm = egress.Delay(there, link.down, egress.DELAY_LIMIT, wifi.rate("down"))
        first = Port("delay", "delay-senders", "10.0.1.254/24", to_senders)
        wires = (
            *self._star("switch1", "sender", "10.0.1", first),
            Wire(Port("delay", "delay-aqm", "10.0.2.2/24", to_aqm), before),
        )
        middle = ("switch1", "delay", "aqm")
        media = (Medium(on_air, stations),)
        return self._whole("wifi_dumbbell", middle, wires, (before, on_air), "wlan0", media)

    @property
    def _edge(self) -> egress.Shaper:
        return egress.Shaper(self.edge_rate, EDGE_BURST, egress.SHAPER_LIMIT)

    def _hosts(self, kind: str) -> list[tuple[int, str]]:
        """Return the numbers and names of senders or receivers."""
        return [(number, f"{kind}{number}") for number in range(1, self.pairs + 1)]

    def _star(self, switch: str, kind: str, subnet: str, router: Port) -> list[Wire]:
        """Return a wire from each host of a kind to `switch`, and one from that to `router`."""
        edge = self._edge
        wires = [
            Wire(
                Port(host, "eth0", f"{subnet}.{number}/24", edge),
                Port(switch, f"{switch}-{number}", "", edge),
            )
            for number, host in self._hosts(kind)
        ]
        return [*wires, Wire(Port(switch, f"{switch}-0", "", edge), router)]

    def _whole(
        self,
        name: str,
        middle: tuple[str, ...],
        wires: tuple[Wire, ...],
        observed: Iterable[Port],
        device: str = "eth0",
        media: tuple[Medium, ...] = (),
    ) -> Topology:
        """Return the rig with its hosts around `middle`, receivers on `device`."""
        senders, receivers = ([n for _, n in self._hosts(of)] for of in ("sender", "receiver"))
        ends = [*((host, "eth0") for host in senders), *((host, device) for host in receivers)]
        names = (*senders, *middle, *receivers)
        nodes = (Node(node, node in ROUTERS, node.startswith("switch")) for node in names)
        places = (*((port.node, port.interface) for port in observed), *ends)
        pairs = tuple(zip(senders, receivers, strict=True))
        return Topology(name, tuple(nodes), wires, pairs, places, media)
