"""The rig: nodes, the wires between them and what each end of a wire does to what it sends."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Interface, IPv4Network

from emulation.qdisc import Qdisc
from emulation.units import Duration, Packets, Rate, Size

BURST = Size(1514)  # of the bottleneck's tbf: one full Ethernet frame (gbw2015 batch file)
EDGE_BURST = Size(64 * 1024)  # of the edges' tbf
SHAPER_LIMIT = Size(12_500_000)  # never reached: a child holds the queue, or the edge is faster
DELAY_LIMIT = Packets(100_000)  # never reached: 25 ms at 1 Gbit/s are 2 065 full packets
TXQUEUELEN = Packets(100)  # `ip link set qlen 100` of the gbw2015 batch file


@dataclass(frozen=True)
class Link:
    """The rates of the bottleneck, as the client sees them."""

    name: str  # download/upload in Mbit/s: `10/1`
    down: Rate  # from the server to the client
    up: Rate  # from the client to the server

    @property
    def slug(self) -> str:
        """The name in a path: `10-1`."""
        return self.name.replace("/", "-")


@dataclass(frozen=True)
class Shaper:
    """A token bucket (`tbf`), around the queue under test or around its own FIFO."""

    rate: Rate  # what leaves
    burst: Size  # the bucket
    limit: Size  # the FIFO's, where there is no qdisc
    qdisc: Qdisc | None = None  # the queue inside

    def qdiscs(self) -> tuple[Qdisc, ...]:
        """The root qdisc and, where there is one, its child."""
        options = (("rate", self.rate), ("burst", self.burst), ("limit", self.limit))
        root = Qdisc("tbf", "tbf", options)
        return (root,) if self.qdisc is None else (root, self.qdisc)


@dataclass(frozen=True)
class Delay:
    """A constant delay (`netem`) with a finite rate."""

    delay: Duration  # of one direction
    rate: Rate  # what leaves
    limit: Packets  # how many may be under way

    def qdiscs(self) -> tuple[Qdisc, ...]:
        """The one qdisc that delays."""
        options = (("delay", self.delay), ("rate", self.rate), ("limit", self.limit))
        return (Qdisc("netem", "netem", options),)


@dataclass(frozen=True)
class Port:
    """One end of a wire."""

    node: str  # whose interface it is
    interface: str  # at most 15 characters (the kernel's IFNAMSIZ)
    address: str  # with its prefix: `10.0.1.1/24`
    egress: Shaper | Delay  # what it does to the packets that it sends; always a finite rate

    def __post_init__(self) -> None:
        if not 0 < len(self.interface) <= 15:
            raise ValueError(f"interface name {self.interface!r} must have 1 to 15 characters")
        if not self.egress.rate.bits_per_second:
            raise ValueError(f"{self.node} {self.interface}: a port needs a rate above zero")

    @property
    def ip(self) -> str:
        """The address without its prefix."""
        return str(IPv4Interface(self.address).ip)

    @property
    def network(self) -> IPv4Network:
        """The subnet of the wire."""
        return IPv4Interface(self.address).network

    @property
    def txqueuelen(self) -> Packets:
        """What the queue under test asks for, else the rig's own."""
        lengths = [qdisc.txqueuelen for qdisc in self.egress.qdiscs() if qdisc.txqueuelen]
        return lengths[-1] if lengths else TXQUEUELEN


@dataclass(frozen=True)
class Wire:
    """Two ports that face each other."""

    a: Port
    b: Port

    def ends(self) -> tuple[tuple[Port, Port], tuple[Port, Port]]:
        """Each port with the one that it faces."""
        return (self.a, self.b), (self.b, self.a)


@dataclass(frozen=True)
class Node:
    """A computer of the rig."""

    name: str
    forwards: bool  # whether it is a router


@dataclass(frozen=True)
class Route:
    """One line of a routing table."""

    node: str  # whose table
    to: str  # `default` or a subnet: `10.0.1.0/24`
    via: str  # the next router's address


@dataclass(frozen=True)
class Topology:
    """Nodes and the wires between them."""

    name: str
    nodes: tuple[Node, ...]
    wires: tuple[Wire, ...]

    def ports(self) -> Iterator[Port]:
        """Every port, wire by wire."""
        for wire in self.wires:
            yield from (wire.a, wire.b)

    def port(self, node: str) -> Port:
        """The only port of a host; a node with several has no one port (`ValueError`)."""
        found = [port for port in self.ports() if port.node == node]
        if len(found) != 1:
            raise ValueError(f"{node} has {len(found)} ports, a host has one")
        return found[0]

    def routes(self) -> tuple[Route, ...]:
        """The routes over the fewest wires to every subnet that is not a node's own.

        A node whose routes all leave by one neighbour gets a single default route.
        """
        found: list[Route] = []
        for node in self.nodes:
            gateways = self._gateways(node.name)
            if len(set(gateways.values())) == 1:
                found.append(Route(node.name, "default", next(iter(gateways.values()))))
            else:
                found += [Route(node.name, str(to), via) for to, via in sorted(gateways.items())]
        return tuple(found)

    def _gateways(self, start: str) -> dict[IPv4Network, str]:
        """Subnet -> address of the next router, breadth first from `start`."""
        forwards = {node.name for node in self.nodes if node.forwards}
        own = {port.network for port in self.ports() if port.node == start}
        gateways: dict[IPv4Network, str] = {}
        visited = {start}
        frontier: deque[tuple[str, str]] = deque([(start, "")])
        while frontier:
            name, via = frontier.popleft()
            for near, far in (ends for wire in self.wires for ends in wire.ends()):
                if near.node != name:
                    continue
                if near.network not in own:
                    gateways.setdefault(near.network, via)
                if far.node not in visited and far.node in forwards:
                    visited.add(far.node)
                    frontier.append((far.node, via or far.ip))
        return gateways


def daisy_chain(
    link: Link, up_qdisc: Qdisc, down_qdisc: Qdisc, base_rtt: Duration, edge_rate: Rate
) -> Topology:
    """The wired testbed of gbw2015 (Fig. 1, Sec. 3): five computers in a row.

    client – router_up – delay – router_down – server. `router_up` limits what goes to the server
    and `router_down` what comes back, each with a token bucket around the qdisc under test;
    `delay` adds the base round-trip time, half in each direction; everything else has `edge_rate`.
    """
    edge = Shaper(edge_rate, EDGE_BURST, SHAPER_LIMIT)
    there = Duration(base_rtt.nanoseconds // 2)
    back = Duration(base_rtt.nanoseconds - there.nanoseconds)
    nodes = (
        Node("client", forwards=False),
        Node("router_up", forwards=True),
        Node("delay", forwards=True),
        Node("router_down", forwards=True),
        Node("server", forwards=False),
    )
    wires = (
        Wire(
            Port("client", "client-r1", "10.0.1.1/24", edge),
            Port("router_up", "r1-client", "10.0.1.2/24", edge),
        ),
        Wire(
            Port(
                "router_up",
                "r1-delay",
                "10.0.2.1/24",
                Shaper(link.up, BURST, SHAPER_LIMIT, up_qdisc),
            ),
            Port("delay", "delay-r1", "10.0.2.2/24", Delay(back, edge_rate, DELAY_LIMIT)),
        ),
        Wire(
            Port("delay", "delay-r2", "10.0.3.1/24", Delay(there, edge_rate, DELAY_LIMIT)),
            Port(
                "router_down",
                "r2-delay",
                "10.0.3.2/24",
                Shaper(link.down, BURST, SHAPER_LIMIT, down_qdisc),
            ),
        ),
        Wire(
            Port("router_down", "r2-server", "10.0.4.1/24", edge),
            Port("server", "server-r2", "10.0.4.2/24", edge),
        ),
    )
    return Topology("daisy_chain", nodes, wires)
