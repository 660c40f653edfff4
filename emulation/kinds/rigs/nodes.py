"""A rig written out: nodes, and links between them, with what each end does to what it sends.

```yaml
rig:
  kind: nodes
  edge_rate: 1 Gbit/s            # of every port without settings of its own
  nodes:
    client: {}
    r1: {forwards: true}         # a router
    s1: {switches: true}         # a switch: Mininet wants a digit in its name
    server: {sysctls: {net.ipv4.tcp_ecn: 1}}
  links:
    - {from: client, to: r1}
    - from: r1
      to: s1
      there: {rate: up, queue: tested}              # the sweep's link and qdisc
      back: {delay: 20 ms}
    - {from: s1, to: server, back: {rate: 5 Mbit/s, queue: {kind: fq_codel}}}
```

`there` is what `from` does to what it sends, `back` what `to` does: a `rate`, which may be `up` or
`down` of the sweep's link, around its own FIFO or a `queue`; or a `delay`; or a `tree` of qdiscs,
classes and filters, and as `ingress` one for what arrives (`emulation.kinds.rigs.tree`). A link's
`wire: 1 Gbit/s` is the rate of its wire, the greatest of both ends. Addresses
are given in the order of the links, 10.0.1.1 and so on, a subnet for each link or switch; routes
take the fewest links. With `offloads: true` a link's ports have TSO, GSO and GRO: what a sender or
an earlier port joined crosses it as one superpacket, which a queue counts as one packet.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from qdisclab.emulation.kinds.rigs.base import RigSection
from qdisclab.emulation.kinds.rigs.queue import (
    OF_LINK,
    TESTED,
    AnyRate,
    Queue,
    QueueSection,
    rate_of,
)
from qdisclab.emulation.kinds.rigs.tree import EntrySection, build, check, uses_sweep
from qdisclab.emulation.model import addresses, egress
from qdisclab.emulation.model.qdisc import Qdisc
from qdisclab.emulation.model.topology import (
    LONGEST_NAME,
    PORT_NAME,
    Groups,
    Link,
    Node,
    Port,
    Topology,
    Wire,
    flaw_of_name,
)
from qdisclab.emulation.model.tree import LEAST_BURST
from qdisclab.emulation.model.units import Rate
from qdisclab.emulation.study import schema
from qdisclab.emulation.study.schema import Bytes, Flaws, LinkRate, Section, Span

MOST_SUBNETS = 254  # of 10.0.0.0/16


class EgressSection(Section):
    """What one end of a link does to the packets that it sends."""

    rate: AnyRate = None  # a `Rate`, `up` or `down`
    burst: Bytes | None = None  # the bucket of the rate
    queue: Queue = None  # `tested` or a QueueSection
    delay: Span | None = None
    tree: list[EntrySection] | None = None  # in place of the others (`emulation.kinds.rigs.tree`)
    ingress: list[EntrySection] | None = None  # the tree for arriving packets

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.tree is not None:
            for name in ("rate", "burst", "queue", "delay"):
                if getattr(self, name) is not None:
                    raise Flaws(((name,), "excludes a tree", "write it into the tree"))
            check(self.tree, self.ingress)
            return self
        if self.ingress is not None:
            raise Flaws((("ingress",), "needs a tree", "add 'tree:'"))
        if self.delay is not None and (self.queue is not None or self.burst is not None):
            todo = "put the delay on the port of another link"
            raise Flaws((("delay",), "excludes a queue and a burst", todo))
        if self.burst is not None and self.burst < LEAST_BURST:
            what = f"'{self.burst}' lets no whole frame through"
            raise Flaws((("burst",), what, f"write {LEAST_BURST} or more"))
        if self.queue is not None and self.rate is None:
            raise Flaws(((), "a queue without a rate never fills", "add e.g. 'rate: 10 Mbit/s'"))
        if self.rate is None and self.delay is None:
            raise Flaws(((), "has no effect", "write a rate, a delay or a tree"))
        return self

    @property
    def uses_sweep(self) -> bool:
        """Whether it has the queue under test or a rate of the sweep's link."""
        return self.queue == TESTED or self.rate in OF_LINK or uses_sweep(self.tree, self.ingress)

    def tested_rate(self, link: Link | None, wire: Rate | None) -> Rate | None:
        """Return the rate around the queue under test; None where the queue is elsewhere."""
        if self.queue == TESTED:
            return rate_of(self.rate, link)
        if any(entry.qdisc == TESTED for entry in self.tree or ()):
            return build(self.tree or (), None, link, {}, wire=wire).rate_around_tested()
        return None


class WireSection(Section):
    """A link and its two ends."""

    from_: str = Field(alias="from")
    to: str
    there: EgressSection | None = None
    back: EgressSection | None = None
    wire: LinkRate | None = None  # at which each end sends at most
    ports: tuple[str, str] | None = None  # names of the interfaces, of `from` and of `to`
    offloads: bool = Field(default=False, strict=True)  # TSO, GSO and GRO at both ends

    @model_validator(mode="after")
    def _has_rates(self) -> Self:
        for name in ("there", "back"):
            end: EgressSection | None = getattr(self, name)
            if end is None:
                continue
            if isinstance(end.rate, Rate) and self.wire is not None and end.rate > self.wire:
                what = f"'{end.rate}' is more than the wire's rate, '{self.wire}'"
                raise Flaws(((name, "rate"), what, "write less, or a faster wire"))
            if end.tree is not None:
                with schema.below(name):
                    check(end.tree, end.ingress, self.wire)
        return self


class NodeSection(Section):
    """A node: a host unless it forwards or switches."""

    forwards: bool = Field(default=False, strict=True)
    switches: bool = Field(default=False, strict=True)
    sysctls: schema.Sysctls = ()

    @model_validator(mode="after")
    def _not_both(self) -> Self:
        if self.forwards and self.switches:
            raise Flaws(((), "forwards and switches", "choose one: a router or a switch"))
        return self


class Nodes(RigSection):
    """Nodes and links, written out in the file."""

    kind: Literal["nodes"]
    edge_rate: LinkRate = Rate(10**9)
    nodes: dict[str, NodeSection] = Field(min_length=2)
    links: list[WireSection] = Field(min_length=1)

    @model_validator(mode="after")
    def _one_network(self) -> Self:
        flaws = [*self._names(), *self._ends()] or [*self._filters()]
        schema.refuse(flaws or [*self._cycles()] or self._size())
        return self

    @property
    def node_sysctls(self) -> dict[str, dict[str, str]]:
        """Map nodes with settings of their own to these."""
        own = {name: dict(node.sysctls) for name, node in self.nodes.items() if node.sysctls}
        return {**own, **{name: dict(settings) for name, settings in self.hosts}}

    def _names(self) -> Iterator[Any]:
        for name, node in self.nodes.items():
            if flaw := flaw_of_name(name, node.switches):
                yield ("nodes", name), *flaw

    def _ends(self) -> Iterator[Any]:
        seen: dict[tuple[str, str], int] = {}
        for number, link in enumerate(self.links):
            for key, node in (("from", link.from_), ("to", link.to)):
                if node not in self.nodes:
                    yield ("links", number, key), *schema.unknown("node", node, self.nodes)
            if link.from_ == link.to:
                yield ("links", number), f"leads from '{link.to}' to itself", "name two nodes"
                continue
            for port in zip((link.from_, link.to), _interfaces(link), strict=True):
                if not PORT_NAME.fullmatch(port[1]) or port[1] == "lo":
                    letters = f"up to {LONGEST_NAME} letters, digits, _ and -"
                    todo = f"write 'ports: [a, b]' with {letters}"
                    yield ("links", number), f"'{port[1]}' is not the name of a port", todo
                if port in seen:
                    what = f"the port '{port[1]}' of '{port[0]}' appears twice"
                    todo = f"first in links[{seen[port]}]; write other names: 'ports: [a, b]'"
                    yield ("links", number), what, todo
                seen.setdefault(port, number)
        for name in self.nodes:
            if not any(name in (link.from_, link.to) for link in self.links):
                yield ("nodes", name), f"no link leads to '{name}'", "add one, or remove the node"

    def _filters(self) -> Iterator[Any]:
        """Yield names in filters that no node and no port with an address has."""
        words = self._words()
        for number, link in enumerate(self.links):
            for end in ("there", "back"):
                section: EgressSection | None = getattr(link, end)
                for part in ("tree", "ingress"):
                    for place, entry in enumerate(getattr(section, part, None) or ()):
                        for name in addresses.names(entry.filter or ""):
                            if name not in words:
                                where = ("links", number, end, part, place, "filter")
                                yield where, *schema.unknown("address", name, words)

    def _cycles(self) -> Iterator[Any]:
        """Yield links that close a cycle, nodes that cannot be reached, and hosts in between."""
        connected = Groups()
        for number, link in enumerate(self.links):
            if not connected.join(link.from_, link.to):
                what = f"closes a cycle: '{link.from_}' and '{link.to}' are connected already"
                yield ("links", number), what, "remove a link, so that there is one path"
        first = next(iter(self.nodes))
        for name in self.nodes:
            if connected.of(name) != connected.of(first):
                yield ("nodes", name), f"there is no path from '{first}' to '{name}'", "add a link"
        for name, node in self.nodes.items():
            ends = sum(name in (link.from_, link.to) for link in self.links)
            if ends > 1 and not (node.forwards or node.switches):
                what = f"'{name}' has {ends} links and forwards nothing"
                yield ("nodes", name), what, "write 'forwards: true', or 'switches: true'"

    def _size(self) -> Iterator[Any]:
        if len(set(self._subnets())) > MOST_SUBNETS:
            yield ("links",), f"there are more than {MOST_SUBNETS} subnets", "remove some"

    @property
    def tested(self) -> bool:
        """Whether a port holds the queue under test or has the rate of the sweep's link."""
        return any(end.uses_sweep for end, _ in self._egresses())

    def tested_rates(self, link: Link | None) -> tuple[Rate, ...]:
        """Return the rates at which the queue under test is needed."""
        rates = (end.tested_rate(link, wire) for end, wire in self._egresses())
        return tuple(dict.fromkeys(rate for rate in rates if rate is not None))

    def topology(self, link: Link | None, queues: Mapping[Rate, Qdisc]) -> Topology:
        """Build the nodes and wires, with addresses; `queues` maps rates to tested qdiscs."""
        words, places = self._words(), self._places()
        wires = []
        for section in self.links:
            ends = (
                (*next(places), self._egress(end, section.wire, link, queues, words))
                for end in (section.there, section.back)
            )
            wires.append(Wire(*(Port(*end, offloads=section.offloads) for end in ends)))
        nodes = (Node(name, node.forwards, node.switches) for name, node in self.nodes.items())
        return Topology("nodes", tuple(nodes), tuple(wires))

    def _places(self) -> Iterator[tuple[str, str, str]]:
        """Yield node, interface and address of each port, link by link; switches have none."""
        subnets = self._subnets()
        taken: dict[int, int] = {}
        for number, link in enumerate(self.links):
            for node, interface in zip((link.from_, link.to), _interfaces(link), strict=True):
                address = ""
                if not self.nodes[node].switches:
                    subnet = subnets[number]
                    taken[subnet] = taken.get(subnet, 0) + 1
                    address = f"10.0.{subnet}.{taken[subnet]}/24"
                yield node, interface, address

    def _words(self) -> dict[str, str]:
        """Return the addresses that filters may name."""
        return addresses.by_name(self._places())

    def _egress(
        self,
        end: EgressSection | None,
        wire: Rate | None,
        link: Link | None,
        queues: Mapping[Rate, Qdisc],
        words: Mapping[str, str],
    ) -> egress.Egress:
        fastest = wire or self.edge_rate
        if end is None:
            return egress.Shaper(fastest, egress.EDGE_BURST, egress.SHAPER_LIMIT)
        if end.tree is not None:
            return build(end.tree, end.ingress, link, queues, words, wire)
        if end.delay is not None:
            rate = fastest if end.rate is None else rate_of(end.rate, link)
            return egress.Delay(end.delay, rate, egress.DELAY_LIMIT)
        rate = rate_of(end.rate, link)
        if end.queue is None:
            return egress.Shaper(rate, end.burst or egress.EDGE_BURST, egress.SHAPER_LIMIT)
        qdisc = end.queue.qdisc() if isinstance(end.queue, QueueSection) else queues[rate]
        return egress.Shaper(rate, end.burst or egress.BURST, egress.SHAPER_LIMIT, qdisc)

    def _egresses(self) -> Iterator[tuple[EgressSection, Rate | None]]:
        for link in self.links:
            ends = (end for end in (link.there, link.back) if end is not None)
            yield from ((end, link.wire) for end in ends)

    def _subnets(self) -> list[int]:
        """Return the subnet of each link, counted from 1; links joined by switches share one."""
        switches = {name for name, node in self.nodes.items() if node.switches}
        connected = Groups()
        for link in self.links:
            if {link.from_, link.to} <= switches:
                connected.join(link.from_, link.to)
        numbers: dict[str, int] = {}
        subnets = []
        for place, link in enumerate(self.links):
            ends = [end for end in (link.from_, link.to) if end in switches]
            segment = connected.of(ends[0]) if ends else f"link {place}"
            subnets.append(numbers.setdefault(segment, len(numbers) + 1))
        return subnets


def _interfaces(link: WireSection) -> tuple[str, str]:
    return link.ports or (f"{link.from_}-{link.to}", f"{link.to}-{link.from_}")
