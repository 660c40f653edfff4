"""A tree of qdiscs, classes and filters on a port, as `tc` has them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from emulation.model.qdisc import Option, Qdisc
from emulation.model.units import Duration, Rate, Size

#: Kinds whose classes somebody has to make, and what a class of each may have.
CLASS_OPTIONS = {
    "htb": ("rate", "ceil", "burst", "cburst", "prio", "quantum"),
    "hfsc": ("sc", "rt", "ls", "ul"),
    "drr": ("quantum",),
}
#: The options with which a qdisc sends no faster than they say.
_SHAPING = {"tbf": "rate", "netem": "rate", "cake": "bandwidth"}
LEAST_BURST = Size(1514)  # a longer packet than its bucket is dropped by tbf
_INGRESS = "ffff:"  # the handle of what takes the packets that arrive


@dataclass(frozen=True)
class Attached:
    """A qdisc at its place."""

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
        """As `tc` reads it."""
        rates = [f"{rate.bits_per_second}bit" for rate in (self.m1, self.m2)]
        return ("m1", rates[0], "d", f"{self.d.nanoseconds // 1000}us", "m2", rates[1])

    def expect(self) -> list[float]:
        """What must be read back: m1 in bit/s, d in us, m2 in bit/s."""
        return [self.m1.bits_per_second, self.d.us, self.m2.bits_per_second]


@dataclass(frozen=True)
class TreeClass:
    """A class of an `htb`, `hfsc` or `drr`."""

    parent: str  # the qdisc, `1:`, or another class, `1:1`
    classid: str  # `1:10`
    kind: str
    options: tuple[tuple[str, Rate | Size | int | Curve], ...]

    def __post_init__(self) -> None:
        known = CLASS_OPTIONS.get(self.kind)
        if known is None:
            what = f"class {self.classid}: {self.kind} has no classes that can be made"
            raise ValueError(f"{what}; valid: {', '.join(CLASS_OPTIONS)}")
        given = dict(self.options)
        for name in given:
            if name not in known:
                valid = ", ".join(known)
                raise ValueError(f"class {self.classid}: {self.kind} has no {name}; valid: {valid}")
        if self.kind == "htb" and "rate" not in given:
            raise ValueError(f"class {self.classid}: htb needs a rate; add it")
        if self.kind == "hfsc" and not given.keys() & {"sc", "rt", "ls"}:
            raise ValueError(f"class {self.classid}: hfsc needs sc, rt or ls; add one")
        if "sc" in given and given.keys() & {"rt", "ls"}:
            raise ValueError(f"class {self.classid}: sc stands for rt and ls; remove it or them")

    @property
    def rate(self) -> Rate | None:
        """The most that the class sends in the long run, as far as it says."""
        given = dict(self.options)
        for name in ("ceil", "rate", "ul", "sc", "ls", "rt"):
            match given.get(name):
                case Rate() as rate:
                    return rate
                case Curve() as curve:
                    return curve.m2
        return None

    def words(self) -> tuple[str, ...]:
        """What follows `tc class add dev X parent 1: classid 1:10 htb`."""
        found: list[str] = []
        for name, value in self.options:
            match value:
                case Curve():
                    found += [name, *value.words()]
                case Rate():
                    found += [name, f"{value.bits_per_second}bit"]
                case Size() if name != "quantum":
                    found += [name, f"{value.bytes}b"]
                case Size():
                    found += [name, str(value.bytes)]
                case _:
                    found += [name, str(value)]
        return tuple(found)

    def expect(self) -> dict[str, float | list[float] | None]:
        """What must be read back: rates in bit/s, sizes in bytes; a curve, or None for no curve."""
        given = dict(self.options)
        if self.kind == "hfsc":
            both = given.get("sc")
            curves = {name: given.get(name, both) for name in ("rt", "ls")} | {
                "ul": given.get("ul")
            }
            return {
                name: curve.expect() if isinstance(curve, Curve) else None
                for name, curve in curves.items()
            }
        expected: dict[str, float | list[float] | None] = {}
        if self.kind == "htb":
            given.setdefault("ceil", given["rate"])
        for name, value in given.items():
            match value:
                case Rate():
                    expected[name] = value.bits_per_second
                case Size():
                    expected[name] = value.bytes
                case int():
                    expected[name] = value
        return expected


@dataclass(frozen=True)
class Tree:
    """Qdiscs, classes and filters, and as `ingress` those for what arrives.

    Needs a finite rate: in virtual time a port without one is infinitely fast.
    """

    qdiscs: tuple[Attached, ...]  # each behind the one that it is in; the first is the root
    classes: tuple[TreeClass, ...] = ()  # likewise
    words: tuple[str, ...] = ()  # of the filters: what follows `tc filter add dev X`
    ingress: Tree | None = None
    tested: str = ""  # the handle of the queue under test

    def __post_init__(self) -> None:
        places = self._places()
        for attached in self.qdiscs:
            if attached.handle == _INGRESS:
                raise ValueError(f"{_INGRESS} is the handle of what arrives; write another one")
            if attached.parent != "root":
                self._check_parent(attached, places)
            bucket = dict(attached.qdisc.options).get("burst")
            if attached.qdisc.kind == "tbf" and isinstance(bucket, Size) and bucket < LEAST_BURST:
                what = f"{attached.handle} tbf: a burst of {bucket} lets no whole frame through"
                raise ValueError(f"{what}; write {LEAST_BURST} or more")
        roots = sum(one.parent == "root" for one in self.qdiscs)
        if roots != 1 or self.qdiscs[0].parent != "root":
            raise ValueError("a tree has one root, which comes first; give the others a parent")
        of_classes = {one.parent for one in self.classes}
        for one in self.classes:
            owner = places.get(f"{_major(one.classid)}:")
            if owner is None or owner.qdisc.kind != one.kind:
                what = f"class {one.classid}: there is no {one.kind} with the handle "
                raise ValueError(f"{what}{_major(one.classid)}:; add it to the tree")
            if one.classid in of_classes and {"prio", "quantum"} & dict(one.options).keys():
                what = f"class {one.classid} has classes: it takes no prio and no quantum"
                raise ValueError(f"{what}; give them to those classes")
        self._check_order()
        if not any(self.rates()):
            raise ValueError(
                "a tree needs a rate, without which its port is infinitely fast; add one: a class"
                " of htb or hfsc, the rate of tbf or netem, or the bandwidth of cake"
            )
        if self.tested and self.tested not in places:
            what = f"there is no qdisc with the handle {self.tested}, which is to be tested"
            raise ValueError(f"{what}; name one of {', '.join(places)}")
        if self.ingress is not None and (self.ingress.tested or self.ingress.ingress is not None):
            what = "what arrives can have no queue under test and no ingress of its own"
            raise ValueError(f"{what}; put the queue into the tree of the port")

    def _places(self) -> dict[str, Attached]:
        """The qdiscs by handle; `ValueError` where a name is wrong or there twice."""
        places: dict[str, Attached] = {}
        for attached in self.qdiscs:
            if not re.fullmatch(r"[1-9a-f][0-9a-f]{0,3}:", attached.handle):
                raise ValueError(f"'{attached.handle}' is no handle; write e.g. '10:'")
            if attached.handle in places:
                raise ValueError(f"the handle {attached.handle} is there twice; write another one")
            places[attached.handle] = attached
        seen: set[str] = set()
        for one in self.classes:
            if not re.fullmatch(r"[1-9a-f][0-9a-f]{0,3}:[1-9a-f][0-9a-f]{0,3}", one.classid):
                raise ValueError(f"'{one.classid}' is no class; write e.g. '1:10'")
            if one.classid in seen:
                raise ValueError(f"the class {one.classid} is there twice; write another one")
            seen.add(one.classid)
        return places

    def _check_parent(self, attached: Attached, places: dict[str, Attached]) -> None:
        owner = places.get(f"{_major(attached.parent)}:")
        made = {one.classid for one in self.classes}
        known = owner is not None and (
            owner.qdisc.kind not in CLASS_OPTIONS or attached.parent in made
        )
        if not known:
            what = f"the qdisc {attached.handle} is in a class that is not there: {attached.parent}"
            raise ValueError(f"{what}; add it to the tree")

    def _check_order(self) -> None:
        """`tc` needs what is around a class or a qdisc before it."""
        there = {"root"}
        for attached in self.qdiscs:
            owner = f"{_major(attached.parent)}:"
            if attached.parent != "root" and owner not in there:
                raise ValueError(f"{attached.handle} comes before {owner}, in which it is; swap")
            there.add(attached.handle)
        for one in self.classes:
            if one.parent not in there:
                what = f"class {one.classid}: its parent {one.parent} does not come before it"
                raise ValueError(f"{what}; add it, or swap the two")
            there.add(one.classid)

    def attached(self) -> tuple[Attached, ...]:
        """The qdiscs of the port itself, in the order in which they are installed."""
        if self.ingress is None:
            return self.qdiscs
        return (*self.qdiscs, Attached("ffff:fff1", _INGRESS, Qdisc("ingress", "ingress")))

    def filters(self) -> tuple[str, ...]:
        """What follows `tc filter add dev X`, for each filter."""
        return self.words

    def rates(self) -> Iterator[Rate]:
        """Each rate that something in the tree is limited to."""
        for one in self.classes:
            if one.rate is not None and one.rate.bits_per_second:
                yield one.rate
        for attached in self.qdiscs:
            rate = _rate_of(attached.qdisc)
            if rate is not None:
                yield rate

    @property
    def qdisc(self) -> Qdisc | None:
        """The queue under test."""
        found = [one.qdisc for one in self.qdiscs if one.handle == self.tested]
        return found[0] if found else None

    def with_tested(self, qdisc: Qdisc) -> Tree:
        """The same tree with another queue under test."""
        changed = tuple(
            replace(one, qdisc=qdisc) if one.handle == self.tested else one for one in self.qdiscs
        )
        return replace(self, qdiscs=changed)

    def rate_around_tested(self) -> Rate | None:
        """The rate of the class or qdisc next around the queue under test that has one."""
        qdiscs = {one.handle: one for one in self.qdiscs}
        classes = {one.classid: one for one in self.classes}
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
        return None


def _rate_of(qdisc: Qdisc) -> Rate | None:
    value: Option | None = dict(qdisc.options).get(_SHAPING.get(qdisc.kind, ""))
    return value if isinstance(value, Rate) else None


def _major(name: str) -> str:
    return name.partition(":")[0]
