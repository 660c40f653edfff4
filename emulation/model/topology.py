"""The rig: nodes, the wires between them and what each end of a wire does to packets it sends."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from ipaddress import IPv4Interface, IPv4Network
from types import UnionType
from typing import Any, get_origin, get_type_hints

from qdisclab.emulation.model.addresses import by_name
from qdisclab.emulation.model.egress import BURST, Delay, Delays, Egress, Hierarchy, Radio, Shaper
from qdisclab.emulation.model.qdisc import Qdisc
from qdisclab.emulation.model.tree import Tree
from qdisclab.emulation.model.units import Duration, Packets, Rate, Size

LONGEST_NAME = 15  # of a node and of an interface (the kernel's IFNAMSIZ)
PORT_NAME = re.compile(rf"\w[\w.-]{{,{LONGEST_NAME - 1}}}", re.ASCII)
TXQUEUELEN = Packets(100)  # packets, of an interface

#: What may have the queue under test in it.
Queued = Shaper | Hierarchy | Radio | Tree


@dataclass(frozen=True)
class Link:
    """A bottleneck: its rates, from the client's point of view."""

    name: str  # download/upload in Mbit/s: `10/1`
    down: Rate  # from the server to the client
    up: Rate  # from the client to the server

    @property
    def slug(self) -> str:
        """Return the name as part of a path: `10-1`."""
        return self.name.replace("/", "-")


@dataclass(frozen=True)
class Port:
    """One end of a wire."""

    node: str  # whose interface it is
    interface: str  # at most 15 characters (the kernel's IFNAMSIZ)
    address: str  # with its prefix: `10.0.1.1/24`; empty on a switch
    egress: Egress  # what it does to packets it sends; its rate is finite, or that of the air
    more: tuple[str, ...] = ()  # further addresses of the same subnet
    offloads: bool = False  # TSO, GSO and GRO: segments of a flow pass as one superpacket

    def __post_init__(self) -> None:
        if not 0 < len(self.interface) <= 15:
            raise ValueError(f"interface name {self.interface!r} must have 1 to 15 characters")
        if not isinstance(self.egress, Radio | Tree) and not self.egress.rate.bits_per_second:
            raise ValueError(f"{self.node} {self.interface}: a port needs a rate above zero")

    @property
    def ip(self) -> str:
        """Return the address without its prefix."""
        return _parsed(self.address)[0]

    @property
    def addresses(self) -> tuple[str, ...]:
        """Return all addresses with their prefixes, `address` first; none on a switch."""
        return (self.address, *self.more) if self.address else ()

    @property
    def ips(self) -> tuple[str, ...]:
        """Return all addresses without their prefixes."""
        return tuple(_parsed(address)[0] for address in self.addresses)

    @property
    def network(self) -> IPv4Network:
        """Return the subnet of the wire."""
        return _parsed(self.address)[1]

    @property
    def txqueuelen(self) -> Packets:
        """Return the length that the queue under test asks for, else the rig's default."""
        requests = (attached.qdisc.txqueuelen for attached in self.egress.attached())
        lengths = [length for length in requests if length]
        return lengths[-1] if lengths else TXQUEUELEN


def _delay(port: Port) -> Duration:
    """Return the delay that `port` adds to each packet; `ValueError` where packets differ."""
    if isinstance(port.egress, Delay):
        return port.egress.delay
    qdiscs = port.egress.qdiscs if isinstance(port.egress, Tree) else ()
    if not (netems := [attached for attached in qdiscs if attached.qdisc.kind == "netem"]):
        return Duration(0)
    if len(netems) > 1 or netems[0].parent != "root":
        what = f"netem of {port.node} {port.interface} delays only some packets"
        raise ValueError(f"{what}: the base RTT is not known")
    delay = dict(netems[0].qdisc.options).get("delay", Duration(0))
    assert isinstance(delay, Duration)
    return delay


#: What a ping is on the wire, and what it may take beside delays and rates.
PING, IDLE_SLACK_MS = Size(98), 2.0


@dataclass(frozen=True)
class Wire:
    """Two ports that face each other."""

    a: Port
    b: Port

    def ends(self) -> tuple[tuple[Port, Port], tuple[Port, Port]]:
        """Return pairs of a port and the port that it faces."""
        return (self.a, self.b), (self.b, self.a)


@dataclass(frozen=True)
class Medium:
    """A radio channel, which an access point and its stations share.

    The port of the access point may belong to a switch, which then connects it to the wired side.
    """

    access_point: Port
    stations: tuple[Port, ...]

    def __post_init__(self) -> None:
        if not self.stations:
            raise ValueError(f"{self.access_point.node}: an access point needs a station")
        for port in self.ports():
            if not isinstance(port.egress, Radio):
                raise ValueError(f"{port.node} {port.interface}: a port of a Medium needs a Radio")

    def ports(self) -> tuple[Port, ...]:
        """Return the port of the access point, then those of the stations."""
        return (self.access_point, *self.stations)

    def ends(self) -> tuple[tuple[Port, Port], ...]:
        """Return pairs of a port and one that it faces; a station faces the access point alone."""
        wires = (Wire(self.access_point, station) for station in self.stations)
        return tuple(pair for wire in wires for pair in wire.ends())


@dataclass(frozen=True)
class Node:
    """A computer or a switch of the rig."""

    name: str
    forwards: bool  # whether it is a router
    switches: bool = False  # whether it is a switch: its ports have no addresses

    @property
    def host(self) -> bool:
        """Whether it only sends and receives packets of its own."""
        return not (self.forwards or self.switches)


@dataclass(frozen=True)
class Route:
    """One line of a routing table."""

    node: str  # whose table
    to: str  # `default` or a subnet: `10.0.1.0/24`
    via: str  # the next router's address


@dataclass(frozen=True)
class Topology:
    """Nodes and the wires and radio channels between them."""

    name: str
    nodes: tuple[Node, ...]
    wires: tuple[Wire, ...]
    pairs: tuple[tuple[str, str], ...] = ()  # (sender, receiver), where there are several
    #: (node, interface) that record every packet: before the queue, behind it, at the hosts.
    observed: tuple[tuple[str, str], ...] = ()
    media: tuple[Medium, ...] = ()

    def ports(self) -> Iterator[Port]:
        """Yield every port, wire by wire, then medium by medium."""
        for wire in self.wires:
            yield from (wire.a, wire.b)
        for medium in self.media:
            yield from medium.ports()

    def qdiscs(self) -> Iterator[Qdisc]:
        """Yield the qdiscs of every port."""
        return (attached.qdisc for port in self.ports() for attached in port.egress.attached())

    def addresses(self) -> dict[str, str]:
        """Return the addresses of nodes, and of ports as `node.port`, by name."""
        return by_name((port.node, port.interface, port.address) for port in self.ports())

    def check(self) -> None:
        """Raise `ValueError` where a field is of another type, or the rig could not be built."""
        _check_types(self)
        for kind, parts in ((Node, self.nodes), (Wire, self.wires), (Medium, self.media)):
            for part in parts:
                if not isinstance(part, kind):
                    raise ValueError(f"{part!r} is not a {kind.__name__}")
                _check_types(part)
        names = [node.name for node in self.nodes]
        for node in self.nodes:
            if flaw := flaw_of_name(node.name, node.switches):
                raise ValueError(": ".join(flaw))
            if node.forwards and node.switches:
                raise ValueError(f"'{node.name}' cannot be both a router and a switch")
            if names.count(node.name) > 1:
                raise ValueError(f"two nodes are called '{node.name}'")
            ends = sum(port.node == node.name for port in self.ports())
            if node.host and ends > 1:
                raise ValueError(f"'{node.name}' has {ends} ports and forwards nothing")
        hosts = [node.name for node in self.nodes if node.host]
        switches = {node.name for node in self.nodes if node.switches}
        ports: list[tuple[str, str]] = []
        for port in self.ports():
            _check_port(port, port.node in switches)
            if port.node not in names:
                raise ValueError(f"a port belongs to '{port.node}', which is not a node")
            if (port.node, port.interface) in ports:
                raise ValueError(f"'{port.node}' has two ports called '{port.interface}'")
            ports.append((port.node, port.interface))
        for pair in self.pairs:
            is_pair = isinstance(pair, tuple) and len(pair) == 2
            if not is_pair or any(name not in hosts for name in pair):
                raise ValueError(f"{pair!r} is not a pair of hosts")
        for place in self.observed:
            if place not in ports:
                raise ValueError(f"{place!r} is to be observed, but is not a port")

    def queues(self) -> tuple[Port, ...]:
        """Return the ports with a queue under test, where packets are captured and counted."""
        ports = self.ports()
        return tuple(port for port in ports if getattr(port.egress, "qdisc", None) is not None)

    def port(self, node: str) -> Port:
        """Return the only port of a host; raise `ValueError` for a node with more or none."""
        ports = [port for port in self.ports() if port.node == node]
        if len(ports) != 1:
            raise ValueError(f"{node} has {len(ports)} ports, a host has one")
        return ports[0]

    def with_qdiscs(self, change: Callable[[str, Qdisc], Qdisc]) -> Topology:
        """Return the same rig, with `change(node, qdisc)` in place of each queue under test."""

        def changed(egress: Queued, node: str) -> Queued:
            if egress.qdisc is None:
                return egress
            qdisc = change(node, egress.qdisc)
            if isinstance(egress, Tree):
                return egress.with_tested(qdisc)
            return replace(egress, qdisc=qdisc)

        return self._with_egresses(Queued, changed)

    def _with_egresses(
        self, kinds: type | UnionType, change: Callable[[Any, str], Egress]
    ) -> Topology:
        """Return the same rig, with `change(egress, node)` in place of what is one of `kinds`."""

        def changed(port: Port) -> Port:
            if not isinstance(port.egress, kinds):
                return port
            return replace(port, egress=change(port.egress, port.node))

        wires = tuple(Wire(changed(wire.a), changed(wire.b)) for wire in self.wires)
        media = tuple(
            Medium(changed(medium.access_point), tuple(map(changed, medium.stations)))
            for medium in self.media
        )
        return replace(self, wires=wires, media=media)

    def ringed(self, ring: str) -> Topology:
        """Return the same rig, where the queue in the one HTB has `ring` (qdisc/src) below it.

        HTB stays, and never waits, as a frame takes more bytes on the ring's wire of the same rate.
        Raises `ValueError` where there is no HTB, more than one, or one with a qdisc in `between`.
        """
        htbs = [port.egress for port in self.ports() if isinstance(port.egress, Hierarchy)]
        between = [htb.between.kind for htb in htbs if htb.between]
        if len(htbs) != 1 or between:
            has = f"{len(htbs) or 'none'}{f' with {between[0]} between' if between else ''}"
            what = f"a ring needs one HTB with a queue in it, '{self.name}' has {has}"
            raise ValueError(f"{what}; take an era without ring_8139")
        ring_qdisc = Qdisc(ring, ring)
        return self._with_egresses(Hierarchy, lambda htb, _: replace(htb, between=ring_qdisc))

    def clocked(self, clock: str) -> Topology:
        """Return the same rig, where packets leave each delay by `clock`, a qdisc of qdisc/src."""
        return self._with_egresses(Delay, lambda delay, _: replace(delay, clock=clock))

    def noisy(self, factor: float) -> Topology:
        """Return the same rig, where each delay varies by `factor` times the time of a packet.

        The time is that of a full frame (`BURST`) at the bottleneck which the delayed packets
        cross. The average delay stays, and so does the order of packets. Raises `ValueError` where
        no delay has a bottleneck, and where one could be less than nothing.
        """
        if not any(egress.bottleneck for egress in self._delays()):
            what = f"noise needs a delay beside a bottleneck, '{self.name}' has none"
            raise ValueError(f"{what}; take an era without host_noise, or set rig.noise=0")

        def changed(egress: Delay | Delays, _: str) -> Delay | Delays:
            if egress.bottleneck is None:
                return egress
            packet_us = 8e6 * BURST.bytes / egress.bottleneck.bits_per_second
            jitter = Duration(1000 * round(factor * packet_us / 2))  # tc has no finer ones
            least = min(egress.each)
            if jitter > least:
                what = f"noise of {factor:g} packets, {Duration(2 * jitter.nanoseconds)}"
                raise ValueError(f"{what}, is too much for a delay of {least}; set rig.noise less")
            return replace(egress, jitter=jitter)

        return self._with_egresses(Delay | Delays, changed)

    def noise(self) -> Duration:
        """Return how far the RTT of the empty path may be from its mean: zero without noise."""
        jitters = (egress.jitter for egress in self._delays())
        return Duration(sum(jitter.nanoseconds for jitter in jitters if jitter))

    def _delays(self) -> Iterator[Delay | Delays]:
        egresses = (port.egress for port in self.ports())
        return (egress for egress in egresses if isinstance(egress, Delay | Delays))

    def delays(self) -> set[Duration]:
        """Return the different delays of single directions."""
        return {port.egress.delay for port in self.ports() if isinstance(port.egress, Delay)}

    def base_rtt(self, start: str, end: str) -> Duration:
        """Return the sum of the delays from `start` to `end` and back.

        Raises `ValueError` where a tree delays only some of the packets that it sends.
        """
        ports = (*self.path(start, end), *self.path(end, start))
        return Duration(sum(_delay(port).nanoseconds for port in ports))

    def idle_ping_ms(self, start: str, end: str) -> tuple[float, float] | None:
        """Return the least and the greatest RTT in ms that a ping on the idle path can have.

        The least is the sum of the delays; the greatest has 2 ms more, and what a ping takes to
        pass each port at its lowest rate. None where the delays or rates of a port are not known.
        """
        try:
            least_ms = self.base_rtt(start, end).ms
        except ValueError:
            return None
        slack_ms = IDLE_SLACK_MS
        for port in (*self.path(start, end), *self.path(end, start)):
            match port.egress:
                case Tree():
                    rates = list(port.egress.rates())
                case Shaper() | Hierarchy() | Delay():
                    rates = [port.egress.rate]
                case _:
                    return None
            slack_ms += 8e3 * PING.bytes / min(rates).bits_per_second
        return least_ms, least_ms + slack_ms

    def path(self, start: str, end: str) -> tuple[Port, ...]:
        """Return the sending ports on the way from `start` to `end`, over the fewest wires.

        Raises `ValueError` where the two are not connected.
        """
        facing = list(self._ends())
        paths: dict[str, tuple[Port, ...]] = {start: ()}
        frontier = deque([start])
        while frontier:
            name = frontier.popleft()
            for near, far in facing:
                if near.node == name and far.node not in paths:
                    paths[far.node] = (*paths[name], near)
                    frontier.append(far.node)
        if end not in paths:
            raise ValueError(f"there is no path from {start} to {end}")
        return paths[end]

    def routes(self) -> tuple[Route, ...]:
        """Return routes of all nodes, over the fewest wires, to every subnet not their own.

        A node whose routes all leave by one neighbour gets a single default route.
        """
        routes: list[Route] = []
        facing = self._facing()
        for node in self.nodes:
            if node.switches:
                continue
            gateways = self._gateways(node.name, facing)
            if len(set(gateways.values())) == 1:
                routes.append(Route(node.name, "default", next(iter(gateways.values()))))
            else:
                routes += [Route(node.name, str(to), via) for to, via in sorted(gateways.items())]
        return tuple(routes)

    def _gateways(
        self, start: str, facing: Mapping[str, Sequence[tuple[Port, Port]]]
    ) -> dict[IPv4Network, str]:
        """Map each subnet to the address of the next router, breadth first from `start`."""
        forwards = {node.name for node in self.nodes if node.forwards}
        own = {port.network for port in self.ports() if port.node == start}
        gateways: dict[IPv4Network, str] = {}
        visited = {start}
        frontier: deque[tuple[str, str]] = deque([(start, "")])
        while frontier:
            name, via = frontier.popleft()
            for near, far in facing.get(name, ()):
                if near.network not in own:
                    gateways.setdefault(near.network, via)
                if far.node not in visited and far.node in forwards:
                    visited.add(far.node)
                    frontier.append((far.node, via or far.ip))
        return gateways

    def _ends(self) -> Iterator[tuple[Port, Port]]:
        """Yield pairs of a port and one that it faces, over all wires and radio channels."""
        connections: tuple[Wire | Medium, ...] = (*self.wires, *self.media)
        for connection in connections:
            yield from connection.ends()

    def _facing(self) -> dict[str, list[tuple[Port, Port]]]:
        """Return a node's ports with addresses, each with one that it reaches without a router."""
        switches = {node.name for node in self.nodes if node.switches}
        connected = Groups()
        for near, far in self._ends():
            if {near.node, far.node} <= switches:
                connected.join(near.node, far.node)
        behind: dict[str, list[Port]] = {}
        pairs: dict[str, list[tuple[Port, Port]]] = {}
        for near, far in self._ends():
            if far.node in switches:
                continue
            if near.node in switches:
                behind.setdefault(connected.of(near.node), []).append(far)
            else:
                pairs.setdefault(near.node, []).append((near, far))
        for ports in behind.values():
            for near in ports:
                others = [(near, far) for far in ports if near is not far]
                pairs.setdefault(near.node, []).extend(others)
        return pairs


class Groups:
    """Names, each in a group of its own until it is joined with others."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}

    def of(self, name: str) -> str:
        """Return what names the group of `name`."""
        while (above := self._above.get(name, name)) != name:
            name = above
        return name

    def join(self, a: str, b: str) -> bool:
        """Join two groups; return whether they were two."""
        first, second = self.of(a), self.of(b)
        if first != second:
            self._above[second] = first
        return first != second


@lru_cache(maxsize=1024)
def _parsed(address: str) -> tuple[str, IPv4Network]:
    """Return the address without its prefix, and its subnet."""
    parsed = IPv4Interface(address)
    return str(parsed.ip), parsed.network


@lru_cache(maxsize=32)
def _types(kind: type) -> dict[str, Any]:
    """Map each field of a dataclass to the type for `isinstance`; a tuple may be a list, too."""
    types: dict[str, Any] = {}
    for name, form in get_type_hints(kind).items():
        plain = form if isinstance(form, UnionType) else get_origin(form) or form
        types[name] = tuple | list if plain is tuple else plain
    return types


def _check_types(part: object) -> None:
    """Raise `ValueError` where a field of a dataclass is of another type."""
    kind: Any = type(part)
    for name, form in _types(kind).items():
        if form is not Any and not isinstance(value := getattr(part, name), form):
            wanted = getattr(form, "__name__", str(form)).replace("emulation.", "")
            what = f"the field '{name}' of a {type(part).__name__} is {type(value).__name__}"
            raise ValueError(f"{what}, not {wanted}")


def flaw_of_name(name: str, switches: bool) -> tuple[str, str] | None:
    """Return what is wrong with the name of a node or switch, and what to do; None for nothing."""
    if not name.isidentifier() or not name.isascii() or len(name) > LONGEST_NAME:
        what = f"'{name}' is not the name of a node"
        return what, f"write up to {LONGEST_NAME} letters, digits and _"
    if switches and not any(letter.isdigit() for letter in name):
        what = f"the switch '{name}' has no digit in its name"
        return what, f"write e.g. '{name}1': Mininet numbers it by that"
    return None


def _check_port(port: Port, of_switch: bool) -> None:
    for part in (port, port.egress):
        _check_types(part)
    place = f"{port.node} {port.interface}"
    if not PORT_NAME.fullmatch(port.interface) or port.interface == "lo":
        raise ValueError(f"'{port.interface}' is not the name of a port")
    if of_switch != (not port.address):
        raise ValueError(f"{place}: a port has an address unless it is a switch's")
    for address in port.addresses:
        if "/" not in address:
            raise ValueError(f"{place}: the address '{address}' has no prefix, e.g. /24")
        try:
            IPv4Interface(address)
        except ValueError as error:
            raise ValueError(f"{place}: '{address}' is not an address: {error}") from None
