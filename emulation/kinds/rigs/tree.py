"""Trees of qdiscs, classes and filters on the port of a rig that is written out.

```yaml
there:
  tree:
    - {qdisc: {kind: htb, options: {default: 20}}, handle: "1:"}
    - {class: "1:1", kind: htb, rate: up}
    - {class: "1:10", kind: htb, parent: "1:1", rate: 2 Mbit/s, ceil: up, prio: 1}
    - {class: "1:20", kind: htb, parent: "1:1", rate: 8 Mbit/s, ceil: up}
    - {qdisc: tested, parent: "1:20", handle: "20:"}
    - {filter: protocol ip prio 1 u32 match ip tos 0xb8 0xfc flowid 1:10}
  ingress:                            # the same for what arrives at the port
    - {qdisc: {kind: cake, options: {bandwidth: 20 Mbit/s, ingress: true}}, handle: "1:"}
```

A queue under test with a shaper of its own, such as cake, has its rate beside it:

```yaml
there: {tree: [{qdisc: tested, handle: "1:", rate: up}]}
```

A tree without a rate, such as prio, fq or netem at the root, has that of the link's `wire`: a token
bucket (tbf) of one full frame around the root, as ends with a `rate` have it. So packets leave at
the wire's rate, and only a frame that follows none waits for nothing. Each entry comes after its
parent, as with `tc`. A class of hfsc has service curves instead of
rates: `sc: 5 Mbit/s`, or `rt: {m1: 10 Mbit/s, d: 20 ms, m2: 2 Mbit/s}`, `ls`, `ul`.

In a filter `{server}` is the address of a node, `{r1.r1-server}` that of a port:
`filter: "protocol ip u32 match ip dst {server}/32 flowid 1:10"`. Filters are read back, and classes
into which they have sent no packet are named after the run.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Self

from pydantic import Field, PlainValidator, model_validator

from qdisclab.emulation.kinds.rigs import queue
from qdisclab.emulation.model import addresses, topology
from qdisclab.emulation.model.qdisc import Qdisc
from qdisclab.emulation.model.tree import Attached, Curve, Tree, TreeClass, shaping
from qdisclab.emulation.model.units import Duration, Rate, Size
from qdisclab.emulation.study.schema import Bytes, Flaws, Section, Span

#: Stand-ins for the values of a sweep, to check whether a tree could be built.
ANY_RATE = Rate(10**6)
_ANY_LINK, _ANY_QUEUE = topology.Link("1/1", ANY_RATE, ANY_RATE), Qdisc("pfifo", "pfifo")
_ANY_SHAPER = Qdisc("cake", "cake")
_RATES, _CURVES = ("rate", "ceil"), ("sc", "rt", "ls", "ul")
_OF_CLASS = (*_RATES, "burst", "cburst", "prio", "quantum", *_CURVES)


class CurveSection(Section):
    """A service curve of hfsc: `m1` for the time `d`, then `m2`."""

    m1: queue.AnyRate = None
    d: Span | None = None
    m2: queue.AnyRate = None

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if (self.m1 is None) != (self.d is None):
            raise Flaws(((), "has only one of m1 and d", "write both: m1 holds for the time d"))
        if self.d is not None and self.d.nanoseconds % 1000:
            what = f"'{self.d}' is not a whole number of microseconds"
            raise Flaws((("d",), what, "tc counts in us"))
        if self.m1 is None and self.m2 is None:
            raise Flaws(((), "has no rate", "write m2, or m1, d and m2"))
        return self


def _curve(value: Any) -> Any:
    if isinstance(value, CurveSection):
        return value
    return CurveSection.model_validate(value if isinstance(value, dict) else {"m2": value})


def _place(value: Any) -> str:
    if not isinstance(value, str):
        raise Flaws(((), f"{value!r} is not text", "put it in quotes, e.g. '1:10'"))
    return value


_Place = Annotated[str, PlainValidator(_place)]
_Curve = Annotated[CurveSection | None, PlainValidator(_curve)]


class EntrySection(Section):
    """A qdisc, a class or a filter of a tree."""

    qdisc: queue.Queue = None  # `tested` or a QueueSection
    class_: _Place | None = Field(default=None, alias="class")
    filter: str | None = None  # what follows `tc filter add dev X parent 1:`
    parent: _Place | None = None  # of a class or filter; by default the (root) qdisc
    handle: _Place | None = None  # of a qdisc
    kind: str | None = None  # of a class
    rate: queue.AnyRate = None  # of a class, or of the shaper of the queue under test
    ceil: queue.AnyRate = None
    burst: Bytes | None = None
    cburst: Bytes | None = None
    prio: int | None = Field(default=None, strict=True, ge=0, le=7)
    quantum: Bytes | None = None
    sc: _Curve = None
    rt: _Curve = None
    ls: _Curve = None
    ul: _Curve = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if sum(part is not None for part in (self.qdisc, self.class_, self.filter)) != 1:
            todo = "write one of 'qdisc:', 'class:' and 'filter:' in each entry"
            raise Flaws(((), "is not exactly one of qdisc, class and filter", todo))
        options = [name for name in _OF_CLASS if getattr(self, name) is not None]
        if self.qdisc == queue.TESTED and options == ["rate"]:
            options = []
        if self.class_ is None and (options or self.kind is not None):
            wrong = "kind" if self.kind is not None else options[0]
            raise Flaws(((wrong,), "belongs to a class", "remove it, or write 'class:'"))
        if self.class_ is not None and self.kind is None:
            raise Flaws((("kind",), "is missing", "write the kind of the class, e.g. htb"))
        if (self.qdisc is None) != (self.handle is None):
            what = "is missing" if self.handle is None else "belongs to a qdisc"
            todo = "write e.g. 'handle: \"10:\"'" if self.handle is None else "remove it"
            raise Flaws((("handle",), what, todo))
        return self

    def tree_class(self, link: topology.Link | None) -> TreeClass:
        """Return the class, with rates of `link` where it names them."""
        assert self.class_ is not None
        assert self.kind is not None
        options: list[tuple[str, Rate | Size | int | Curve]] = []
        for name in _OF_CLASS:
            if (value := getattr(self, name)) is None:
                continue
            if name in _RATES:
                value = queue.rate_of(value, link)
            elif name in _CURVES:
                m1, m2 = (
                    Rate(0) if rate is None else queue.rate_of(rate, link)
                    for rate in (value.m1, value.m2)
                )
                value = Curve(m1, value.d or Duration(0), m2)
            options.append((name, value))
        parent = self.parent or f"{self.class_.partition(':')[0]}:"
        return TreeClass(parent, self.class_, self.kind, tuple(options))

    @property
    def of_link(self) -> bool:
        """Whether one of its rates is that of the sweep's link."""
        curves = (getattr(self, name) for name in _CURVES)
        rates = [rate for curve in curves if curve is not None for rate in (curve.m1, curve.m2)]
        return any(rate in queue.OF_LINK for rate in (self.rate, self.ceil, *rates))


def build(
    entries: Sequence[EntrySection],
    ingress: Sequence[EntrySection] | None,
    link: topology.Link | None,
    queues: Mapping[Rate, Qdisc],
    words: Mapping[str, str] = MappingProxyType({}),
    wire: Rate | None = None,
) -> Tree:
    """Return the tree, with the one for arriving packets; `queues` maps rates to tested qdiscs.

    `words` are addresses for the names in filters, `wire` is the rate of the wire. Raises
    `ValueError`, with what to do, where `tc` could not build it.
    """
    qdiscs, root, tested, own_rate = [], "1:", "", None
    for entry in entries:
        if entry.qdisc is None:
            continue
        assert entry.handle is not None
        if entry.parent is None:
            root = entry.handle
        if entry.qdisc == queue.TESTED:
            if tested:
                raise ValueError("there are two queues under test; leave one")
            tested = entry.handle
        qdisc = entry.qdisc.qdisc() if isinstance(entry.qdisc, queue.QueueSection) else _ANY_QUEUE
        if entry.qdisc == queue.TESTED and entry.rate is not None:
            own_rate = queue.rate_of(entry.rate, link)
            qdisc = shaping(_ANY_SHAPER, own_rate)
        qdiscs.append(Attached(entry.parent or "root", entry.handle, qdisc))
    if not qdiscs:
        raise ValueError("a tree needs a qdisc; add the root, without 'parent'")
    classes = tuple(entry.tree_class(link) for entry in entries if entry.class_ is not None)
    filters = (f"parent {entry.parent or root} {entry.filter}" for entry in entries if entry.filter)
    arriving = None if ingress is None else build(ingress, None, link, queues, words, wire)
    filled = tuple(addresses.filled(each, words) for each in filters)
    tree = Tree(tuple(qdiscs), classes, filled, arriving, tested, wire)
    if not tested:
        return tree
    if (rate := tree.rate_around_tested()) is None:
        raise ValueError("nothing around the queue under test has a rate; put it into a class")
    if not queues:
        return tree
    return tree.with_tested(queues[rate] if own_rate is None else shaping(queues[rate], own_rate))


def check(
    entries: Sequence[EntrySection],
    ingress: Sequence[EntrySection] | None,
    wire: Rate | None = ANY_RATE,
) -> None:
    """Raise `Flaws` where `tc` could not build the tree, or it has no rate, nor has the `wire`."""
    try:
        build(entries, ingress, _ANY_LINK, {}, wire=wire)
    except ValueError as error:
        what, _, todo = str(error).rpartition("; ")
        raise Flaws((("tree",), what, todo)) from None


def uses_sweep(*trees: Sequence[EntrySection] | None) -> bool:
    """Return whether a tree has the queue under test or a rate of the sweep's link."""
    entries = (entry for tree in trees for entry in tree or ())
    return any(entry.of_link or entry.qdisc == queue.TESTED for entry in entries)
