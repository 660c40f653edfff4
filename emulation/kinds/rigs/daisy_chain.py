"""A daisy chain: five computers in a row, the client wired or on WiFi.

```yaml
rig:
  kind: daisy_chain
  base_rtt: 50 ms        # or a list: the server has an address for each
  edge_rate: 1 Gbit/s
  split: symmetric       # or forward, backward: all of the delay on the way to or from the server
  noise: 1               # by how many packet times of the bottleneck a delay varies; 0 in no era
  wifi: nanostation      # the link between client and router_up, in place of the wire
  air: {station: {retries: 7}}   # what is different about it (docs/wifi.md); or access_point
```
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from qdisclab.emulation.kinds.rigs.base import BottleneckRig, halves
from qdisclab.emulation.model import egress
from qdisclab.emulation.model.qdisc import Qdisc
from qdisclab.emulation.model.topology import Link, Medium, Node, Port, Topology, Wire
from qdisclab.emulation.model.units import Duration, Rate
from qdisclab.emulation.model.wifi import Wifi, changed, flaws
from qdisclab.emulation.study.schema import Flaws, Spans, refuse

NODES = ("client", "router_up", "delay", "router_down", "server")
ROUTERS = NODES[1:-1]
#: The access point. Mininet takes a switch's number from the digit in its name.
ACCESS_POINT = "ap1"


class DaisyChain(BottleneckRig):
    """client – router_up – delay – router_down – server."""

    kind: Literal["daisy_chain"] = "daisy_chain"
    base_rtt: Spans  # to each address of the server
    air: Mapping[Literal["access_point", "station"], dict[str, Any]] = Field(default_factory=dict)

    @field_validator("wifi")
    @classmethod
    def _one_station(cls, wifi: Wifi | None) -> Wifi | None:
        if wifi is not None and len(wifi.stations) != 1:
            what = f"'{wifi.name}' has {len(wifi.stations)} stations, a daisy chain has one client"
            raise Flaws(((), what, "write 1"))
        return wifi

    @model_validator(mode="after")
    def _right_options(self) -> Self:
        if not self.air:
            return self
        if self.wifi is None:
            raise Flaws((("air",), "has no link to differ from", "name one: wifi"))
        access_point, station = changed(self.wifi, self.air)
        names = {"stations": "station"}
        refuse(
            (("air", *(names.get(str(step), step) for step in path if step != 0)), what, todo)
            for path, what, todo in flaws(access_point, [station])
        )
        return self

    @property
    def radio(self) -> Wifi | None:
        """Return the WiFi link with the differences of `air`."""
        if self.wifi is None or not self.air:
            return self.wifi
        access_point, station = changed(self.wifi, self.air)
        return Wifi(self.wifi.name, access_point, (station,))

    def topology(self, link: Link | None, queues: Mapping[Rate, Qdisc]) -> Topology:
        """Build the chain around `link`: client – router_up – delay – router_down – server.

        `router_up` limits the way to the server and `router_down` the way back, each with a token
        bucket around the qdisc under test; `delay` adds the base round-trip time, divided as
        `split` says; everything else has `edge_rate`. The server has an address for each base RTT.
        """
        assert link is not None
        up, down = queues[link.up], queues[link.down]
        edge = egress.Shaper(self.edge_rate, egress.EDGE_BURST, egress.SHAPER_LIMIT)
        first, *more = (f"10.0.4.{host}/24" for host in range(2, 2 + len(self.base_rtt)))
        server = Port("server", "server-r2", first, edge, tuple(more))
        there, back = zip(*(halves(rtt, self.split) for rtt in self.base_rtt), strict=True)
        to_client = self._delay(server, back, "src", link.down)
        to_server = self._delay(server, there, "dst", link.up)
        ports = (
            Port("client", "client-r1", "10.0.1.1/24", edge),
            Port("router_up", "r1-client", "10.0.1.2/24", edge),
            Port("router_up", "r1-delay", "10.0.2.1/24", _limited(link.up, up)),
            Port("delay", "delay-r1", "10.0.2.2/24", to_client),
            Port("delay", "delay-r2", "10.0.3.1/24", to_server),
            Port("router_down", "r2-delay", "10.0.3.2/24", _limited(link.down, down)),
            Port("router_down", "r2-server", "10.0.4.1/24", edge),
            server,
        )
        wires = tuple(map(Wire, ports[::2], ports[1::2]))
        nodes = tuple(Node(name, forwards=name in ROUTERS) for name in NODES)
        chain = Topology("daisy_chain", nodes, wires)
        radio = self.radio
        return chain if radio is None else _over_wifi(chain, radio, up, down)

    def _delay(
        self, server: Port, delays: Sequence[Duration], match: str, bottleneck: Rate
    ) -> egress.Delay | egress.Delays:
        """Return the delay of packets that cross `bottleneck`, for each address of `server`."""
        if len(delays) == 1:
            return egress.Delay(delays[0], self.edge_rate, egress.DELAY_LIMIT, bottleneck)
        of_addresses = tuple(zip(server.ips, delays, strict=True))
        return egress.Delays(of_addresses, match, self.edge_rate, egress.DELAY_LIMIT, bottleneck)


def _limited(rate: Rate, qdisc: Qdisc) -> egress.Shaper:
    return egress.Shaper(rate, egress.BURST, egress.SHAPER_LIMIT, qdisc)


def _over_wifi(chain: Topology, wifi: Wifi, up: Qdisc, down: Qdisc) -> Topology:
    """Replace the wire between the client and `router_up` of `chain` by a WiFi link.

    client (station) – access point – router_up: the access point is a bridge, as such devices are,
    so that addresses and routes stay. The qdisc under test is on both sides of the WiFi link, and
    at the bottleneck as before.
    """
    cable, *wires = chain.wires
    client, router = cable.a, cable.b
    (station,) = wifi.stations
    medium = Medium(
        Port(ACCESS_POINT, "ap1-client", "", egress.Radio(down, wifi.access_point)),
        (replace(client, interface="client-ap1", egress=egress.Radio(up, station)),),
    )
    wire = Wire(Port(ACCESS_POINT, "ap1-r1", "", client.egress), router)
    host, *nodes = chain.nodes
    bridge = Node(ACCESS_POINT, forwards=False, switches=True)
    return replace(chain, nodes=(host, bridge, *nodes), wires=(wire, *wires), media=(medium,))
