"""A tree of qdiscs, classes and filters on a port, in the terms of `tc`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from qdisclab.emulation.kinds.qdiscs import KINDS, base
from qdisclab.emulation.model.qdisc import Qdisc
from qdisclab.emulation.model.units import Amount, Duration, Option, Rate, Size

LEAST_BURST = Size(1514)  # a longer packet than its bucket is dropped by tbf
_INGRESS = "ffff:"  # the handle of the qdisc for arriving packets
_WIRE = "fff0:"  # that of the shaper for the wire's rate, around the root of the tree
_NEVER = Size(12_500_000)  # the limit of that shaper's own queue, which nothing enters


@dataclass(frozen=True)
class Attached:
    """A qdisc and its place in the tree."""

    parent: str  # `root` or a class: `1:1`
    handle: str  # `10:`
    qdisc: Qdisc


@dataclass(frozen=True)
class Curve:
    """A service curve of `hfsc`: `m1` for the time `d`, then `m2`."""

    m1: Rate
    d: Duration
    m2: Rate

    def words(self) -> tuple[str, ...]:
        """Return the arguments as `tc` reads them."""
        rates = [f"{rate.bits_per_second}bit" for rate in (self.m1, self.m2)]
        return ("m1", rates[0], "d", f"{self.d.nanoseconds // 1000}us", "m2", rates[1])

    def expect(self) -> list[float]:
        """Return what must be read back: m1 in bit/s, d in us, m2 in bit/s."""
        return [self.m1.bits_per_second, self.d.us, self.m2.bits_per_second]


@dataclass(frozen=True)
class TreeClass:
    """A class of an `htb`, `hfsc` or `drr`."""

    parent: str  # the qdisc, `1:`, or another class, `1:1`
    classid: str  # `1:10`
    kind: str
    options: tuple[tuple[str, Rate | Size | int | Curve], ...]

    def __post_init__(self) -> None:
        where, options = f"class {self.classid}: {self.kind}", dict(self.options)
        names, needs = self.about.class_options, self.about.class_needs
        if not names:
            valid = ", ".join(name for name, kind in KINDS.items() if kind.class_options)
            raise ValueError(f"{where} cannot have classes; valid: {valid}")
        for name in options:
            if name not in names:
                raise ValueError(f"{where} has no {name}; valid: {', '.join(names)}")
        if needs and options.keys().isdisjoint(needs):
            listed = " or ".join(", ".join(needs).rsplit(", ", 1))
            raise ValueError(f"{where} needs {listed}; add one")
        if "sc" in options and options.keys() & {"rt", "ls"}:
            raise ValueError(f"class {self.classid}: sc stands for rt and ls; remove it or them")

    @property
    def about(self) -> base.QdiscKind:
        """Return the kind of its qdisc."""
        return KINDS.get(self.kind) or base.QdiscKind(self.kind)

    @property
    def rate(self) -> Rate | None:
        """Return the greatest long-term rate of the class; None where its options set none."""
        options = dict(self.options)
        for name in ("ceil", "rate", "ul", "sc", "ls", "rt"):
            match options.get(name):
                case Rate() as rate:
                    return rate
                case Curve() as curve:
                    return curve.m2
        return None

    def words(self) -> tuple[str, ...]:
        """Return what follows `tc class add dev X parent 1: classid 1:10 htb`."""
        arguments: list[str] = []
        for name, value in self.options:
            if isinstance(value, Curve):
                arguments += [name, *value.words()]
            else:
                option = base.TcOption(type(value), is_bare=name == "quantum")
                arguments += option.words(name, value)
        return tuple(arguments)

    def expect(self) -> dict[str, float | list[float] | None]:
        """Return what must be read back: rates in bit/s, sizes in bytes; None for no curve."""
        shown = self.about.of_class(dict(self.options))
        return {name: _expected(value) for name, value in shown.items()}


def _expected(value: Any) -> Any:
    if isinstance(value, Curve):
        return value.expect()
    return value.base if isinstance(value, Amount) else value


@dataclass(frozen=True)
class Tree:
    """Qdiscs, classes and filters of a port; `ingress` is the tree for arriving packets.

    A tree needs a finite rate: in virtual time a port without one is infinitely fast. That of its
    `wire` is a token bucket of one full frame around the root, from which the tree's packets leave
    one after another at this rate.
    """

    qdiscs: tuple[Attached, ...]  # parents before children; the first is the root
    classes: tuple[TreeClass, ...] = ()  # likewise
    words: tuple[str, ...] = ()  # per filter: what follows `tc filter add dev X`
    ingress: "Tree | None" = None
    tested: str = ""  # the handle of the queue under test
    wire: Rate | None = None  # at which packets leave the port

    def __post_init__(self) -> None:
        places = self._places()
        for attached in self.qdiscs:
            if attached.handle in (_INGRESS, _WIRE):
                noun = "what arrives" if attached.handle == _INGRESS else "the wire"
                raise ValueError(f"{attached.handle} is the handle of {noun}; choose another")
            if attached.parent != "root":
                self._check_parent(attached, places)
            bucket = dict(attached.qdisc.options).get("burst")
            if attached.qdisc.kind == "tbf" and isinstance(bucket, Size) and bucket < LEAST_BURST:
                what = f"{attached.handle} tbf: a burst of {bucket} lets no whole frame through"
                raise ValueError(f"{what}; write {LEAST_BURST} or more")
        roots = sum(attached.parent == "root" for attached in self.qdiscs)
        if roots != 1 or self.qdiscs[0].parent != "root":
            raise ValueError("a tree has one root, which comes first; give the others a parent")
        parents = {inner.parent for inner in self.classes}
        for tree_class in self.classes:
            classid, kind = tree_class.classid, tree_class.kind
            owner = places.get(f"{_major(classid)}:")
            if owner is None or owner.qdisc.kind != kind:
                what = f"class {classid}: there is no {kind} with the handle {_major(classid)}:"
                raise ValueError(f"{what}; add it to the tree")
            if classid in parents and {"prio", "quantum"} & dict(tree_class.options).keys():
                what = f"class {classid} has classes: it takes no prio and no quantum"
                raise ValueError(f"{what}; give them to those classes")
        self._check_order()
        if not any(self.rates()):
            raise ValueError(
                "a tree needs a rate, without which its port is infinitely fast; add one: 'wire' of"
                " the link, a class of htb or hfsc, the rate of tbf or netem, the bandwidth of cake"
            )
        if self.tested and self.tested not in places:
            what = f"there is no qdisc with the handle {self.tested}, which is to be tested"
            raise ValueError(f"{what}; name one of {', '.join(places)}")
        if self.ingress is not None and (self.ingress.tested or self.ingress.ingress is not None):
            what = "what arrives can have no queue under test and no ingress of its own"
            raise ValueError(f"{what}; put the queue into the tree of the port")

    def _places(self) -> dict[str, Attached]:
        """Return the qdiscs by handle; raise `ValueError` for a malformed or repeated name."""
        places: dict[str, Attached] = {}
        for attached in self.qdiscs:
            if not re.fullmatch(r"[1-9a-f][0-9a-f]{0,3}:", attached.handle):
                raise ValueError(f"'{attached.handle}' is not a handle; write e.g. '10:'")
            if attached.handle in places:
                raise ValueError(f"the handle {attached.handle} appears twice; choose another")
            places[attached.handle] = attached
        seen: set[str] = set()
        for classid in (tree_class.classid for tree_class in self.classes):
            if not re.fullmatch(r"[1-9a-f][0-9a-f]{0,3}:[1-9a-f][0-9a-f]{0,3}", classid):
                raise ValueError(f"'{classid}' is not the id of a class; write e.g. '1:10'")
            if classid in seen:
                raise ValueError(f"the class {classid} appears twice; choose another id")
            seen.add(classid)
        return places

    def _check_parent(self, attached: Attached, places: dict[str, Attached]) -> None:
        owner = places.get(f"{_major(attached.parent)}:")
        classids = {tree_class.classid for tree_class in self.classes}
        needs_class = owner is None or bool(owner.qdisc.about.class_options)
        if needs_class and (owner is None or attached.parent not in classids):
            place = f"in a class that does not exist: {attached.parent}"
            raise ValueError(f"the qdisc {attached.handle} is {place}; add it to the tree")

    def _check_order(self) -> None:
        """Raise `ValueError` where a class or qdisc comes before its parent, which `tc` refuses."""
        before = {"root"}
        for attached in self.qdiscs:
            owner = f"{_major(attached.parent)}:"
            if attached.parent != "root" and owner not in before:
                raise ValueError(f"{attached.handle} comes before its parent {owner}; swap the two")
            before.add(attached.handle)
        for tree_class in self.classes:
            if tree_class.parent not in before:
                what = f"class {tree_class.classid}: its parent {tree_class.parent}"
                raise ValueError(f"{what} does not come before it; add it, or swap the two")
            before.add(tree_class.classid)

    def attached(self) -> tuple[Attached, ...]:
        """Return the qdiscs of the port itself, in the order in which they are installed."""
        qdiscs = self.qdiscs
        if self.wire is not None:
            options = (("rate", self.wire), ("burst", LEAST_BURST), ("limit", _NEVER))
            shaper = Attached("root", _WIRE, Qdisc("tbf", "tbf", options))
            qdiscs = (shaper, replace(qdiscs[0], parent=f"{_WIRE}1"), *qdiscs[1:])
        if self.ingress is not None:
            qdiscs += (Attached("ffff:fff1", _INGRESS, Qdisc("ingress", "ingress")),)
        return qdiscs

    def filters(self) -> tuple[str, ...]:
        """Return what follows `tc filter add dev X`, for each filter."""
        return self.words

    def rates(self) -> Iterator[Rate]:
        """Yield each rate that a class or qdisc of the tree is limited to, or else the wire's."""
        of_classes = (tree_class.rate for tree_class in self.classes)
        of_qdiscs = (_rate_of(attached.qdisc) for attached in self.qdiscs)
        rates = [rate for rate in (*of_classes, *of_qdiscs) if rate and rate.bits_per_second]
        yield from rates or ([] if self.wire is None else [self.wire])

    @property
    def rate(self) -> Rate | None:
        """Return the rate of the whole port: its root's, or that of all classes of the root."""
        root = self.qdiscs[0]
        rates = [inner.rate for inner in self.classes if inner.parent == root.handle]
        limits = [rate.bits_per_second if rate else 0 for rate in rates]
        return _rate_of(root.qdisc) or (Rate(sum(limits)) if limits and all(limits) else None)

    @property
    def qdisc(self) -> Qdisc | None:
        """Return the queue under test, if the tree has it."""
        return next((inner.qdisc for inner in self.qdiscs if inner.handle == self.tested), None)

    def with_tested(self, qdisc: Qdisc) -> "Tree":
        """Return the same tree with another queue under test."""
        changed = tuple(
            replace(attached, qdisc=qdisc) if attached.handle == self.tested else attached
            for attached in self.qdiscs
        )
        return replace(self, qdiscs=changed)

    def rate_around_tested(self) -> Rate | None:
        """Return the rate of the queue under test's own shaper, else of the innermost around it."""
        qdiscs = {attached.handle: attached for attached in self.qdiscs}
        classes = {tree_class.classid: tree_class for tree_class in self.classes}
        if (own := _rate_of(qdiscs[self.tested].qdisc)) is not None:
            return own
        place = qdiscs[self.tested].parent
        while place != "root":
            if place in classes:
                rate, above = classes[place].rate, classes[place].parent
            elif place in qdiscs:
                rate, above = _rate_of(qdiscs[place].qdisc), qdiscs[place].parent
            else:  # a class that the qdisc made itself
                rate, above = None, f"{_major(place)}:"
            if rate is not None:
                return rate
            place = above
        return self.wire


def shaping(qdisc: Qdisc, rate: Rate) -> Qdisc:
    """Return `qdisc` with `rate` as the rate of its own shaper, unless its options have one.

    Raises `ValueError` for a kind without a shaper.
    """
    if not (option := qdisc.about.shaper):
        what = f"{qdisc.name} ({qdisc.kind}) has no shaper of its own, and nothing around it has"
        raise ValueError(f"{what} a rate; put it into a class of htb")
    if option in dict(qdisc.options):
        return qdisc
    return replace(qdisc, options=(*qdisc.options, (option, rate)))


def _rate_of(qdisc: Qdisc) -> Rate | None:
    value: Option | None = dict(qdisc.options).get(qdisc.about.shaper)
    return value if isinstance(value, Rate) else None


def _major(name: str) -> str:
    return name.partition(":")[0]
