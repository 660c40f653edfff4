"""The rig: nodes, the wires between them and what each end of a wire does to what it sends."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from ipaddress import IPv4Interface, IPv4Network
from types import UnionType
from typing import Any, get_origin, get_type_hints

from emulation.model.qdisc import Qdisc
from emulation.model.tree import Attached, Tree
from emulation.model.units import Duration, Packets, Rate, Size
from emulation.model.wifi import Options

#: Of the qdisc under test.
HANDLE = "10:"

BURST = Size(1514)  # of the bottleneck's tbf: one full Ethernet frame (gbw2015 batch file)
EDGE_BURST = Size(64 * 1024)  # of the edges' tbf
SHAPER_LIMIT = Size(12_500_000)  # never reached: a child holds the queue, or the edge is faster
DELAY_LIMIT = Packets(100_000)  # never reached: 25 ms at 1 Gbit/s are 2 065 full packets
LONGEST_NAME = 15  # of a node and of an interface (the kernel's IFNAMSIZ)
_PORT = re.compile(rf"\w[\w.-]{{,{LONGEST_NAME - 1}}}", re.ASCII)
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

    def attached(self) -> tuple[Attached, ...]:
        """The root qdisc and, where there is one, its child."""
        options = (("rate", self.rate), ("burst", self.burst), ("limit", self.limit))
        root = Attached("root", "1:", Qdisc("tbf", "tbf", options))
        return (root,) if self.qdisc is None else (root, Attached("1:1", HANDLE, self.qdisc))

    def filters(self) -> tuple[str, ...]:
        """None: all packets take the same way."""
        return ()


@dataclass(frozen=True)
class Hierarchy:
    """A hierarchical token bucket (`htb`) with one class, around the queue under test."""

    rate: Rate  # what leaves
    burst: Size  # the class's two buckets
    qdisc: Qdisc  # the queue inside
    between: Qdisc | None = None  # the class and the queue

    def attached(self) -> tuple[Attached, ...]:
        """The root qdisc and its child, or its child's child."""
        root = Attached("root", "1:", Qdisc("htb", "htb", (("default", 1),)))
        if self.between is None:
            return (root, Attached("1:1", HANDLE, self.qdisc))
        return (
            root,
            Attached("1:1", "5:", self.between),
            Attached("5:1", HANDLE, self.qdisc),
        )

    def classes(self) -> tuple[dict[str, str | int], ...]:
        """The one class, which everything goes to."""
        return (
            {
                "parent": "1:",
                "classid": "1:1",
                "kind": "htb",
                "rate_bit_s": self.rate.bits_per_second,
                "burst": self.burst.bytes,
            },
        )

    def filters(self) -> tuple[str, ...]:
        """None: all packets take the same way."""
        return ()


@dataclass(frozen=True)
class Delay:
    """A constant delay (`netem`) with a finite rate."""

    delay: Duration  # of one direction
    rate: Rate  # what leaves
    limit: Packets  # how many may be under way
    clocked: bool = False  # whether packets leave at the ticks of a clock (`qdisc/src/ticks`)

    def attached(self) -> tuple[Attached, ...]:
        """The one qdisc that delays."""
        netem = _netem(self.delay, self.rate, self.limit)
        return (Attached("root", "1:", Qdisc("ticks", "ticks") if self.clocked else netem),)

    def filters(self) -> tuple[str, ...]:
        """None: all packets take the same way."""
        return ()


@dataclass(frozen=True)
class Delays:
    """A constant delay (`netem`) for each address, each with a finite rate.

    A `prio` qdisc whose filters send a packet to the band of its address. Needs two or more.
    """

    delays: tuple[tuple[str, Duration], ...]  # (address, delay of one direction)
    match: str  # `dst` or `src`: which address of a packet
    rate: Rate  # what leaves, by address
    limit: Packets  # how many may be under way, by address

    def attached(self) -> tuple[Attached, ...]:
        """The bands and, in each, the qdisc that delays."""
        root = Attached("root", "1:", Qdisc("prio", "prio", (("bands", len(self.delays)),)))
        bands = (
            Attached(f"1:{band}", f"{10 * band}:", _netem(delay, self.rate, self.limit))
            for band, (_, delay) in enumerate(self.delays, start=1)
        )
        return (root, *bands)

    def filters(self) -> tuple[str, ...]:
        """What follows `tc filter add dev X`, one an address."""
        return tuple(
            f"parent 1: protocol ip prio 1 u32 match ip {self.match} {address}/32 flowid 1:{band}"
            for band, (address, _) in enumerate(self.delays, start=1)
        )


def _netem(delay: Duration, rate: Rate, limit: Packets) -> Qdisc:
    return Qdisc("netem", "netem", (("delay", delay), ("rate", rate), ("limit", limit)))


@dataclass(frozen=True)
class Radio:
    """A WiFi device under the queue under test: it sends as fast as the air and the others let it.

    The queue below the qdisc, the rates and the channel are `options` (docs/wifi.md).
    """

    qdisc: Qdisc
    options: Options = ()

    def attached(self) -> tuple[Attached, ...]:
        """The queue under test, right on the device."""
        return (Attached("root", HANDLE, self.qdisc),)

    def filters(self) -> tuple[str, ...]:
        """None: all packets take the same way."""
        return ()


#: What a port does to the packets that it sends.
Egress = Shaper | Hierarchy | Delay | Delays | Radio | Tree


@dataclass(frozen=True)
class Port:
    """One end of a wire."""

    node: str  # whose interface it is
    interface: str  # at most 15 characters (the kernel's IFNAMSIZ)
    address: str  # with its prefix: `10.0.1.1/24`; empty on a switch
    egress: Egress  # what it does to the packets that it sends; a finite rate, or the air's
    more: tuple[str, ...] = ()  # further addresses of the same subnet

    def __post_init__(self) -> None:
        if not 0 < len(self.interface) <= 15:
            raise ValueError(f"interface name {self.interface!r} must have 1 to 15 characters")
        if not isinstance(self.egress, Radio | Tree) and not self.egress.rate.bits_per_second:
            raise ValueError(f"{self.node} {self.interface}: a port needs a rate above zero")

    @property
    def ip(self) -> str:
        """The address without its prefix."""
        return str(IPv4Interface(self.address).ip)

    @property
    def addresses(self) -> tuple[str, ...]:
        """Every address with its prefix, the first one first; none on a switch."""
        return (self.address, *self.more) if self.address else ()

    @property
    def ips(self) -> tuple[str, ...]:
        """Every address without its prefix."""
        return tuple(str(IPv4Interface(address).ip) for address in self.addresses)

    @property
    def network(self) -> IPv4Network:
        """The subnet of the wire."""
        return IPv4Interface(self.address).network

    @property
    def txqueuelen(self) -> Packets:
        """What the queue under test asks for, else the rig's own."""
        asked = (attached.qdisc.txqueuelen for attached in self.egress.attached())
        lengths = [length for length in asked if length]
        return lengths[-1] if lengths else TXQUEUELEN


def _delay(port: Port) -> Duration:
    """What `port` adds to the way of each packet."""
    if isinstance(port.egress, Delay):
        return port.egress.delay
    netems = [one for one in port.egress.attached() if one.qdisc.kind == "netem"]
    if not isinstance(port.egress, Tree) or not netems:
        return Duration(0)
    if len(netems) > 1 or netems[0].parent != "root":
        what = f"netem of {port.node} {port.interface} delays some packets and others not"
        raise ValueError(f"{what}: the base RTT is not known")
    delay = dict(netems[0].qdisc.options).get("delay", Duration(0))
    assert isinstance(delay, Duration)
    return delay


@dataclass(frozen=True)
class Wire:
    """Two ports that face each other."""

    a: Port
    b: Port

    def ends(self) -> tuple[tuple[Port, Port], tuple[Port, Port]]:
        """Each port with the one that it faces."""
        return (self.a, self.b), (self.b, self.a)


@dataclass(frozen=True)
class Medium:
    """A radio channel: an access point and the stations that have it in common.

    The port of the access point may belong to a switch, which then joins it to the wired side.
    """

    access_point: Port
    stations: tuple[Port, ...]

    def __post_init__(self) -> None:
        if not self.stations:
            raise ValueError(f"{self.access_point.node}: an access point without a station")
        for port in self.ports():
            if not isinstance(port.egress, Radio):
                raise ValueError(f"{port.node} {port.interface}: what is on the air has a Radio")

    def ports(self) -> tuple[Port, ...]:
        """The access point's, then the stations'."""
        return (self.access_point, *self.stations)

    def ends(self) -> tuple[tuple[Port, Port], ...]:
        """Each port with each one that it faces: a station sends to the access point alone."""
        there = self.access_point
        return tuple(pair for one in self.stations for pair in ((there, one), (one, there)))


@dataclass(frozen=True)
class Node:
    """A computer or a switch of the rig."""

    name: str
    forwards: bool  # whether it is a router
    switches: bool = False  # whether it is a switch: its ports have no addresses

    @property
    def host(self) -> bool:
        """Whether it sends and receives, and does nothing for others."""
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
    #: (node, interface) whose packets are all kept: before the queue, behind it, the hosts.
    observed: tuple[tuple[str, str], ...] = ()
    media: tuple[Medium, ...] = ()

    def ports(self) -> Iterator[Port]:
        """Every port, wire by wire, then medium by medium."""
        for wire in self.wires:
            yield from (wire.a, wire.b)
        for medium in self.media:
            yield from medium.ports()

    def check(self) -> None:
        """Raise `ValueError` where it is not what its types say, or nothing that could be built."""
        _check_types(self)
        for kind, parts in ((Node, self.nodes), (Wire, self.wires), (Medium, self.media)):
            for part in parts:
                if not isinstance(part, kind):
                    raise ValueError(f"{part!r} is no {kind.__name__}")
                _check_types(part)
        names = [node.name for node in self.nodes]
        for node in self.nodes:
            _check_name(node)
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
                raise ValueError(f"a port belongs to '{port.node}', which is no node")
            if (port.node, port.interface) in ports:
                raise ValueError(f"'{port.node}' has two ports called '{port.interface}'")
            ports.append((port.node, port.interface))
        for pair in self.pairs:
            if (
                not isinstance(pair, tuple)
                or len(pair) != 2
                or any(one not in hosts for one in pair)
            ):
                raise ValueError(f"{pair!r} is no pair of hosts")
        for place in self.observed:
            if place not in ports:
                raise ValueError(f"{place!r} is observed and is no port")

    def queues(self) -> tuple[Port, ...]:
        """The ports that hold a queue under test, where packets are captured and counted."""
        return tuple(
            port
            for port in self.ports()
            if isinstance(port.egress, Shaper | Hierarchy | Radio | Tree)
            and port.egress.qdisc is not None
        )

    def port(self, node: str) -> Port:
        """The only port of a host; a node with several has no one port (`ValueError`)."""
        found = [port for port in self.ports() if port.node == node]
        if len(found) != 1:
            raise ValueError(f"{node} has {len(found)} ports, a host has one")
        return found[0]

    def with_qdiscs(self, change: Callable[[str, Qdisc], Qdisc]) -> Topology:
        """The same rig; each queue under test is what `change` makes of its node and qdisc."""

        def changed(port: Port) -> Port:
            egress = port.egress
            if isinstance(egress, Tree) and egress.qdisc is not None:
                tree = egress.with_tested(change(port.node, egress.qdisc))
                return replace(port, egress=tree)
            if isinstance(egress, Shaper | Hierarchy | Radio) and egress.qdisc is not None:
                return replace(port, egress=replace(egress, qdisc=change(port.node, egress.qdisc)))
            return port

        wires = tuple(Wire(changed(wire.a), changed(wire.b)) for wire in self.wires)
        media = tuple(
            Medium(changed(one.access_point), tuple(changed(port) for port in one.stations))
            for one in self.media
        )
        return replace(self, wires=wires, media=media)

    def clocked(self) -> Topology:
        """The same rig, where packets leave each delay at the ticks of a clock."""

        def changed(port: Port) -> Port:
            if not isinstance(port.egress, Delay):
                return port
            return replace(port, egress=replace(port.egress, clocked=True))

        wires = tuple(Wire(changed(wire.a), changed(wire.b)) for wire in self.wires)
        return replace(self, wires=wires)

    def delays(self) -> set[Duration]:
        """What the delays of one direction are."""
        return {port.egress.delay for port in self.ports() if isinstance(port.egress, Delay)}

    def base_rtt(self, start: str, end: str) -> Duration:
        """What the delays on the way from `start` to `end` and back add up to.

        Raises `ValueError` where a tree delays some of what it sends, and some not.
        """
        ports = (*self.path(start, end), *self.path(end, start))
        return Duration(sum(_delay(port).nanoseconds for port in ports))

    def path(self, start: str, end: str) -> tuple[Port, ...]:
        """The ports that send what goes from `start` to `end`, over the fewest wires.

        Raises `ValueError` where there is no way.
        """
        joined: tuple[Wire | Medium, ...] = (*self.wires, *self.media)
        facing = [ends for one in joined for ends in one.ends()]
        ways: dict[str, tuple[Port, ...]] = {start: ()}
        frontier = deque([start])
        while frontier:
            name = frontier.popleft()
            for near, far in facing:
                if near.node == name and far.node not in ways:
                    ways[far.node] = (*ways[name], near)
                    frontier.append(far.node)
        if end not in ways:
            raise ValueError(f"there is no way from {start} to {end}")
        return ways[end]

    def routes(self) -> tuple[Route, ...]:
        """The routes over the fewest wires to every subnet that is not a node's own.

        A node whose routes all leave by one neighbour gets a single default route.
        """
        found: list[Route] = []
        for node in self.nodes:
            if node.switches:
                continue
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
            for near, far in self._facing():
                if near.node != name:
                    continue
                if near.network not in own:
                    gateways.setdefault(near.network, via)
                if far.node not in visited and far.node in forwards:
                    visited.add(far.node)
                    frontier.append((far.node, via or far.ip))
        return gateways

    def _facing(self) -> list[tuple[Port, Port]]:
        """Each port with an address, and each that its packets reach without a router between."""
        switches = {node.name for node in self.nodes if node.switches}
        behind: dict[str, list[Port]] = {name: [] for name in switches}
        found: list[tuple[Port, Port]] = []
        joined: tuple[Wire | Medium, ...] = (*self.wires, *self.media)
        for near, far in (ends for one in joined for ends in one.ends()):
            if near.node in switches:
                behind[near.node].append(far)
            elif far.node not in switches:
                found.append((near, far))
        for ports in behind.values():
            found += [(near, far) for near in ports for far in ports if near is not far]
        return found


@lru_cache(maxsize=32)
def _types(kind: type) -> dict[str, Any]:
    """What `isinstance` takes for each field of a dataclass; a list does for a tuple."""
    found: dict[str, Any] = {}
    for name, form in get_type_hints(kind).items():
        plain = form if isinstance(form, UnionType) else get_origin(form) or form
        found[name] = tuple | list if plain is tuple else plain
    return found


def _check_types(one: object) -> None:
    """Raise `ValueError` where a field of a dataclass is of another type."""
    kind: Any = type(one)
    for name, form in _types(kind).items():
        if form is not Any and not isinstance(value := getattr(one, name), form):
            wanted = getattr(form, "__name__", str(form)).replace("emulation.", "")
            what = f"the field '{name}' of a {type(one).__name__} is {type(value).__name__}"
            raise ValueError(f"{what}, not {wanted}")


def _check_name(node: Node) -> None:
    if not node.name.isidentifier() or not node.name.isascii() or len(node.name) > LONGEST_NAME:
        what = f"'{node.name}' is not the name of a node"
        raise ValueError(f"{what}: up to {LONGEST_NAME} letters, digits and _")
    if node.forwards and node.switches:
        raise ValueError(f"'{node.name}' forwards and switches")
    if node.switches and not any(letter.isdigit() for letter in node.name):
        raise ValueError(f"the switch '{node.name}' has no digit in its name")


def _check_port(port: Port, of_switch: bool) -> None:
    for part in (port, port.egress):
        _check_types(part)
    place = f"{port.node} {port.interface}"
    if not _PORT.fullmatch(port.interface) or port.interface == "lo":
        raise ValueError(f"'{port.interface}' is not the name of a port")
    if of_switch != (not port.address):
        raise ValueError(f"{place}: a port has an address unless it is a switch's")
    for address in port.addresses:
        if "/" not in address:
            raise ValueError(f"{place}: the address '{address}' has no prefix, e.g. /24")
        try:
            IPv4Interface(address)
        except ValueError as error:
            raise ValueError(f"{place}: '{address}' is no address: {error}") from None
