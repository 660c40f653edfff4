"""The wireless testbed of gbw2015 (Sec. 7, Fig. 8): the daisy chain, whose client is on WiFi."""

from __future__ import annotations

from dataclasses import replace

from emulation.qdisc import Qdisc
from emulation.topology import Medium, Node, Port, Radio, Topology, Wire
from emulation.wifi import Wifi

#: The access point. Mininet makes a switch's number of the digit in its name.
ACCESS_POINT = "ap1"


def over_wifi(chain: Topology, wifi: Wifi, up_qdisc: Qdisc, down_qdisc: Qdisc) -> Topology:
    """`chain` with a WiFi link in place of the wire between the client and `router_up`.

    client (station) – access point – router_up: the access point is a bridge, as such devices are,
    so that addresses and routes stay. The qdisc under test is on both sides of the WiFi link, and
    at the bottleneck as before. `ValueError` unless `wifi` has just one station.
    """
    if len(wifi.stations) != 1:
        raise ValueError(f"{wifi.name} has {len(wifi.stations)} stations, the chain one client")
    cable, *wires = chain.wires
    client, router = cable.a, cable.b
    medium = Medium(
        Port(ACCESS_POINT, "ap1-client", "", Radio(down_qdisc, wifi.access_point)),
        (replace(client, interface="client-ap1", egress=Radio(up_qdisc, wifi.stations[0])),),
    )
    wire = Wire(Port(ACCESS_POINT, "ap1-r1", "", client.egress), router)
    host, *nodes = chain.nodes
    bridge = Node(ACCESS_POINT, forwards=False, switches=True)
    return replace(chain, nodes=(host, bridge, *nodes), wires=(wire, *wires), media=(medium,))
