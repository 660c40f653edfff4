"""The form of an experiment file: sections, their keys and what each value must be.

Every check here sees one value and its surroundings; what compares sections with each other is in
`emulation.config`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationInfo,
    field_validator,
    model_validator,
)

from emulation.era import NAMES as SWITCHES
from emulation.qdisc import TC_OPTIONS, Option
from emulation.source import Path
from emulation.units import Duration, Packets, Quantity, Rate, Size, UnitError
from emulation.wifi import flaws as wifi_flaws

FASTEST = Rate(100 * 10**9)  # a faster link is taken for a slip
ADDRESSES = 16  # of a server: the bands that a prio qdisc can have
MOST_PACKETS = 44  # of a window: what fits the first one that a receiver offers, 64 kB
MOST_FLOWS = 256  # of iperf, each of which takes a process of the guest
LEAST_MEMORY = Size(64 * 2**20)  # what a guest boots in, and a little more
LEAST_MTU, MOST_MTU = Size(68), Size(1500)  # RFC 791, Ethernet
#: What can answer the traffic; each but the first two is a module of `emulation.guest`.
SERVERS = Literal["netserver", "irtt", "ditg", "web", "flood"]
#: Kinds of the rig itself, not for a queue under test.
RIG_KINDS = frozenset({"htb", "netem", "prio", "tbf"})


#: What is wrong with a value: (path below it, what, what to do).
Flaw = tuple[Path, str, str]


class Flaws(ValueError):
    """All that is wrong with a value."""

    def __init__(self, *flaws: Flaw) -> None:
        self.flaws = flaws
        super().__init__("; ".join(what for _, what, _ in flaws))

    def below(self, step: str | int) -> list[Flaw]:
        """The same flaws, seen from the value around this one."""
        return [((step, *path), what, todo) for path, what, todo in self.flaws]


def unknown(noun: str, word: str, valid: Iterable[str]) -> tuple[str, str]:
    """What is wrong and what to do about a `word` that is none of the `valid` ones."""
    names = list(valid)
    close = difflib.get_close_matches(word, names, n=1)
    hint = f"did you mean '{close[0]}'? " if close else ""
    return f"unknown {noun} '{word}'", f"{hint}valid: {', '.join(names) or 'none'}"


Q = TypeVar("Q", bound=Quantity)


def _parser(quantity: type[Q]) -> Callable[[Any], Q]:
    """A validator that reads a `quantity` from text."""

    def parse(value: Any) -> Q:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise Flaws(((), f"must be text with a unit, not {value!r}", _example(quantity)))
        try:
            return quantity.parse(str(value))
        except UnitError as error:
            what, _, todo = str(error).rpartition("; ")
            raise Flaws(((), what, todo)) from None

    return parse


def _example(quantity: type[Quantity]) -> str:
    return f"write e.g. '{quantity.EXAMPLE}'"


def _positive(value: Q) -> Q:
    if not value.base:
        raise Flaws(((), f"'{value}' must be above zero", _example(type(value))))
    return value


def _feasible(rate: Rate) -> Rate:
    if not Rate(0) < rate <= FASTEST:
        todo = f"write a rate above 0 and up to {FASTEST}"
        raise Flaws(((), f"'{rate}' is not a possible rate", todo))
    return rate


def _name(text: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", text):
        raise Flaws(((), f"'{text}' is not a name", "write lower-case letters, digits and _"))
    return text


def _test_name(text: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_-]*", text):
        todo = "write lower-case letters, digits, _ and -"
        raise Flaws(((), f"'{text}' is not the name of a test", todo))
    return text


def _durations(value: Any) -> tuple[Duration, ...]:
    """One span or a list of them, one for each address of the server."""
    parse = _parser(Duration)
    if not isinstance(value, list):
        return (_positive(parse(value)),)
    if not 1 <= len(value) <= ADDRESSES:
        raise Flaws(((), f"has {len(value)} entries", f"write 1 to {ADDRESSES} of them"))
    flaws: list[Flaw] = []
    read = []
    for index, one in enumerate(value):
        try:
            read.append(_positive(parse(one)))
        except Flaws as error:
            flaws += error.below(index)
    if flaws:
        raise Flaws(*flaws)
    return tuple(read)


def _bootable(size: Size) -> Size:
    if size < LEAST_MEMORY or size.bytes % 2**20:
        todo = f"write {LEAST_MEMORY} or more, in whole MiB"
        raise Flaws(((), f"'{size}' is no memory for a guest", todo))
    return size


def _carried(mtu: Size) -> Size:
    if not LEAST_MTU <= mtu <= MOST_MTU:
        todo = f"write {LEAST_MTU} to {MOST_MTU}"
        raise Flaws(((), f"'{mtu}' is no MTU of IPv4 over Ethernet", todo))
    return mtu


def _setting(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise Flaws(((), f"{value!r} is not a setting", "write a whole number or text"))
    return str(value)


def _wifi_name(name: str, info: ValidationInfo) -> str:
    defined = (info.context or {}).get("wifi")
    if defined is not None and name not in defined:
        raise Flaws(((), *unknown("WiFi link", name, defined)))
    return name


Name = Annotated[str, AfterValidator(_name)]
LinkRate = Annotated[Rate, PlainValidator(_parser(Rate)), AfterValidator(_feasible)]
Span = Annotated[Duration, PlainValidator(_parser(Duration)), AfterValidator(_positive)]
Spans = Annotated[tuple[Duration, ...], PlainValidator(_durations)]
Memory = Annotated[Size, PlainValidator(_parser(Size)), AfterValidator(_bootable)]
TestName = Annotated[str, AfterValidator(_test_name)]
Setting = Annotated[str, BeforeValidator(_setting)]
WifiName = Annotated[str, AfterValidator(_wifi_name)]


class Section(BaseModel):
    """A mapping of the file: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class LinkSection(Section):
    """The bottleneck's rates."""

    down: LinkRate
    up: LinkRate


class QdiscSection(Section):
    """A queue discipline: `options` at every rate, and those of each rate class."""

    kind: str
    options: dict[str, Any] = Field(default_factory=dict)
    rates: dict[str, dict[str, Any]] = Field(min_length=1)

    @field_validator("kind")
    @classmethod
    def _known_kind(cls, kind: str) -> str:
        kinds = sorted(TC_OPTIONS.keys() - RIG_KINDS)
        if kind not in kinds:
            raise Flaws(((), *unknown("kind", kind, kinds)))
        return kind

    @field_validator("options")
    @classmethod
    def _readable_options(cls, options: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        if "kind" in info.data:
            return read_options(info.data["kind"], options)
        return options

    @field_validator("rates")
    @classmethod
    def _readable_rates(
        cls, rates: dict[str, dict[str, Any]], info: ValidationInfo
    ) -> dict[str, dict[str, Any]]:
        flaws: list[Flaw] = []
        read: dict[str, dict[str, Any]] = {}
        for name, options in rates.items():
            try:
                rate = str(_feasible(_parser(Rate)(name)))
                if rate in read:
                    raise Flaws(((), f"{rate} is there twice", "remove one of the two"))
                read[rate] = read_options(info.data["kind"], options) if "kind" in info.data else {}
            except Flaws as error:
                flaws += error.below(name)
        if flaws:
            raise Flaws(*flaws)
        return read


def read_options(kind: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a `tc` kind, and `txqueuelen`, typed; `Flaws` has all that are wrong."""
    types: dict[str, type] = {**TC_OPTIONS[kind], "txqueuelen": Packets}
    flaws: list[Flaw] = []
    read: dict[str, Any] = {}
    for name, value in options.items():
        if name not in types:
            flaws.append(((name,), *unknown(f"option of {kind}", name, types)))
            continue
        try:
            read[name] = _read_option(types[name], value)
        except Flaws as error:
            flaws += error.below(name)
    if flaws:
        raise Flaws(*flaws)
    return read


def _read_option(expected: type, value: Any) -> Option:
    if issubclass(expected, Quantity):
        quantity = _parser(expected)(value)
        return _positive(quantity)  # type: ignore[return-value]
    if expected is bool and isinstance(value, bool):
        return value
    number = isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
    if expected is float and number:
        return float(value)
    if expected is int and number and isinstance(value, int):
        return value
    nouns = {bool: "true or false", float: "a number", int: "a whole number"}
    raise Flaws(((), f"{value!r} is not {nouns[expected]}", f"write {nouns[expected]}"))


class WifiSection(Section):
    """A WiFi link: options of its access point, the medium's among them, and of each station."""

    access_point: dict[str, Any] = Field(default_factory=dict)
    stations: list[dict[str, Any]] = Field(min_length=1)

    @model_validator(mode="after")
    def _right_options(self) -> Self:
        found = list(wifi_flaws(self.access_point, list(self.stations)))
        if found:
            raise Flaws(*found)
        return self


class ChangeSection(Section):
    """From a moment of the load on, another rate of the link, in both directions."""

    at: Span
    rate: LinkRate


class RigSection(Section):
    """The rig beside its bottleneck."""

    topology: Literal["daisy_chain", "dumbbell", "gateways"] = "daisy_chain"
    base_rtt: Spans
    edge_rate: LinkRate
    sysctls: dict[str, Setting] = Field(default_factory=dict)
    wifi: WifiName | None = None


class RigChanges(Section):
    """What of the rig an experiment has otherwise than the rest of its file."""

    base_rtt: Spans | None = None
    edge_rate: LinkRate | None = None
    sysctls: dict[str, Setting] = Field(default_factory=dict)
    wifi: WifiName | None = None
    mtu: Annotated[Size, PlainValidator(_parser(Size)), AfterValidator(_carried)] | None = None
    schedule: list[ChangeSection] = Field(default_factory=list)


class LoadSection(Section):
    """A mix of what is sent; senders to receivers is forward."""

    bulk: int = Field(default=0, ge=0, le=MOST_FLOWS, strict=True)
    web: int = Field(default=0, ge=0, le=MOST_FLOWS, strict=True)
    cbr: int = Field(default=0, ge=0, le=MOST_FLOWS, strict=True)
    cbr_back: int = Field(default=0, ge=0, le=MOST_FLOWS, strict=True)
    uploads: int = Field(default=0, ge=0, le=MOST_FLOWS, strict=True)

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not any(dict(self).values()):
            raise Flaws(((), "sends nothing", "add e.g. 'bulk: 1'"))
        return self


class TrafficSection(Section):
    """What is sent."""

    tool: Literal["flent", "iperf", "mix", "window"]
    test: TestName
    flows: int | None = Field(default=None, ge=1, le=MOST_FLOWS, strict=True)
    both_ways: bool = Field(default=False, strict=True)
    length: Span
    step: Span
    start_jitter: Span
    ping_interval: Span | None = None
    loads: list[Name] = Field(default_factory=list)
    window: int = Field(default=0, ge=0, le=MOST_PACKETS, strict=True)
    ack_every: int = Field(default=1, ge=1, le=MOST_PACKETS, strict=True)
    servers: list[SERVERS] = Field(default=["netserver", "irtt"], min_length=1)
    options: dict[TestName, Setting] = Field(default_factory=dict)

    @field_validator("servers")
    @classmethod
    def _each_once(cls, names: list[str]) -> list[str]:
        twice = [name for index, name in enumerate(names) if name in names[:index]]
        if twice:
            raise Flaws(((), f"'{twice[0]}' is there twice", "remove one of the two"))
        return names

    @model_validator(mode="after")
    def _tool_fits(self) -> Self:
        if self.tool != "iperf" and self.flows is not None:
            raise Flaws((("flows",), "is for iperf", "remove it: test or loads say how many"))
        if self.tool != "mix" and self.loads:
            raise Flaws((("loads",), "are for mix", "remove them"))
        if self.tool == "mix" and not self.loads:
            raise Flaws(((), "has no loads", "add 'loads', names of the file's loads"))
        if (self.tool == "window") != bool(self.window):
            raise Flaws(
                (("window",), "is for the tool window, which needs it", "e.g. 'window: 25'")
            )
        if self.ack_every > max(1, self.window):
            todo = f"write {max(1, self.window)} at most"
            raise Flaws((("ack_every",), "would wait for more than can be in flight", todo))
        if self.tool == "flent" and self.ping_interval is not None:
            raise Flaws((("ping_interval",), "is for iperf", "remove it: the test has its pings"))
        if self.tool != "iperf" and self.both_ways:
            raise Flaws((("both_ways",), "is for iperf", "remove it"))
        if self.tool == "iperf" and self.flows is None:
            raise Flaws(((), "has no flows", "add 'flows', how many iperf shall send"))
        given = self.model_fields_set & {"servers", "options"}
        for name in sorted(given) if self.tool != "flent" else ():
            raise Flaws(((name,), "is for flent", f"remove it: {self.tool} answers itself"))
        return self

    @model_validator(mode="after")
    def _step_fits(self) -> Self:
        if self.step > self.length:
            what = f"'{self.step}' is longer than the length, '{self.length}'"
            raise Flaws((("step",), what, "shorten the step or lengthen the run"))
        return self


class SweepSection(Section):
    """The values whose product is the experiment's cells.

    The validation context holds the names that the file defines: {"link": ..., "qdisc": ...}.
    """

    link: list[str] = Field(min_length=1)
    qdisc: list[str] = Field(min_length=1)
    cc: list[Name] = Field(min_length=1)
    repetitions: int = Field(ge=1, le=999, strict=True)

    @field_validator("link", "qdisc", "cc")
    @classmethod
    def _defined_once(cls, names: list[str], info: ValidationInfo) -> list[str]:
        defined = (info.context or {}).get(info.field_name)
        flaws: list[Flaw] = []
        for index, name in enumerate(names):
            if defined is not None and name not in defined:
                flaws.append(((index,), *unknown(str(info.field_name), name, defined)))
            elif name in names[:index]:
                flaws.append(((index,), f"'{name}' is there twice", "remove one of the two"))
        if flaws:
            raise Flaws(*flaws)
        return names


class ExperimentSection(Section):
    """Traffic and a sweep, and what it has of its own."""

    title: str
    section: str
    traffic: TrafficSection
    rig: RigChanges = RigChanges()
    memory: Memory | None = None
    restores: list[str] = Field(default_factory=list)  # switches of `emulation.era`
    sweep: SweepSection

    @field_validator("restores")
    @classmethod
    def _known(cls, names: list[str]) -> list[str]:
        flaws: list[Flaw] = [
            ((index,), *unknown("switch", name, SWITCHES))
            for index, name in enumerate(names)
            if name not in SWITCHES
        ]
        if flaws:
            raise Flaws(*flaws)
        return names


class PaperFile(Section):
    """A whole experiment file."""

    paper: Name
    title: str
    doi: str = ""
    links: dict[str, LinkSection] = Field(min_length=1)
    qdiscs: dict[Name, QdiscSection] = Field(min_length=1)
    wifi: dict[Name, WifiSection] = Field(default_factory=dict)
    loads: dict[Name, LoadSection] = Field(default_factory=dict)
    rig: RigSection
    memory: Memory | None = None
    experiments: dict[Name, ExperimentSection] = Field(min_length=1)
