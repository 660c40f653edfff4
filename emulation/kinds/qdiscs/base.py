"""What a kind of qdisc is: its options, the words of `tc`, its counters, how it is drawn."""

import ast
import builtins
import dis
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from types import CodeType, FunctionType
from typing import Any

from qdisclab.emulation.model.units import Amount, Duration, Option, Packets, Rate, Size

#: Units of time: how many nanoseconds, and what they are called.
NANOSECONDS, MICROSECONDS, MILLISECONDS = 1, 1000, 1_000_000
_UNITS = {NANOSECONDS: "nanoseconds", MICROSECONDS: "microseconds", MILLISECONDS: "milliseconds"}

#: What must be read back of a qdisc, by name.
Expected = dict[str, str | int | float | bool]

#: What is wrong with an option: its name, what, what to do.
Flaw = tuple[str, str, str]

#: A function that runs in the guest: from the options that `tc -j` shows to the values under the
#: names of `QdiscKind.expect`, and by how much `tc` or the kernel may round each.
ReadBack = Callable[[dict[str, Any]], tuple[dict[str, Any], dict[str, float]]]


@dataclass(frozen=True)
class TcOption:
    """An option of `tc`: the type of its value, what `tc` accepts, and how it is written."""

    type: type[Amount] | type[int] | type[float] | type[bool]
    least: int | None = None
    most: int | None = None
    step: int = MICROSECONDS  # in which `tc` counts a time
    parts: int = 0  # a number must be a whole number of such parts of 1; 0: it may be any
    is_power_of_two: bool = False
    is_required: bool = False
    is_read_back: bool = True  # or `tc` folds it into others, or the kernel adapts it
    is_bare: bool = False  # a size that `tc` takes without its unit, or a time in `step`
    is_nameless: bool = False  # `tc` takes it without its name, behind the option before it
    is_class: bool = False  # it names a class by its digits, which `tc` takes as hexadecimal
    stands_for: Expected = field(default_factory=dict)  # what a flag sets of other options

    def flaws(self, kind: str, name: str, value: Option | None) -> Iterator[tuple[str, str]]:
        """Yield why `tc` would refuse or round `value`, and what to do."""
        if isinstance(value, Duration) and value.nanoseconds % self.step:
            unit = _UNITS[self.step]
            yield f"'{value}' is not a whole number of {unit}", f"{kind} counts {name} in {unit}"
        if isinstance(value, bool) or not isinstance(value, int | float):
            return
        least = value if self.least is None else self.least
        most = value if self.most is None else self.most
        if not least <= value <= most:
            yield f"{value} is out of range", f"write {self.least} to {self.most}"
        if self.parts and value * self.parts % 1:
            what = f"{value:g} is not a whole number of 1/{self.parts} Hz"
            yield what, f"write {round(value * self.parts) / self.parts}"
        if self.is_power_of_two and int(value).bit_count() != 1:
            yield f"{value} is not a power of two", "write e.g. 1024"

    def words(self, name: str, value: Option) -> tuple[str, ...]:
        """Return the option as `tc` reads it, without loss: `target 13000us`, `limit 127`."""
        if isinstance(value, bool):
            return (name,) if value else ()
        return (self._word(value),) if self.is_nameless else (name, self._word(value))

    def _word(self, value: Option) -> str:
        match value:
            case Rate():
                return f"{value.bits_per_second}bit"
            case Duration() if self.is_bare:
                return str(value.nanoseconds // self.step)
            case Duration():
                microseconds, rest = divmod(value.nanoseconds, 1000)
                return f"{value.nanoseconds}ns" if rest else f"{microseconds}us"
            case Size():
                return str(value.bytes) if self.is_bare else f"{value.bytes}b"
            case Packets():
                return str(value.count)
            case _:
                return str(value)

    def expect(self, name: str, value: Option) -> Expected:
        """Return what must be read back: a JSON number or boolean under a name with its unit."""
        match value:
            case bool() if self.stands_for:
                return dict(self.stands_for) if value else {}
            case int() if self.is_class:
                return {name: int(str(value), 16)}
            case Rate():
                return {f"{name}_bit_s": value.bits_per_second}
            case Duration():
                return {f"{name}_us": int(value.us) if value.us.is_integer() else value.us}
            case Size() | Packets():
                return {name: value.base}
            case _:
                return {name: value}


#: Options by name, each with its rules or, where it has none, its type.
TcOptions = Mapping[str, TcOption | type[Amount] | type[int] | type[float] | type[bool]]


@dataclass(frozen=True)
class Look:
    """How a qdisc is drawn."""

    color: str  # on white
    dark_color: str  # on the dark page
    marker: str
    dashes: tuple[float, ...]  # line and gap lengths in points; empty is solid


@dataclass(frozen=True)
class QdiscKind:
    """A kind of qdisc, by the name that `tc` has for it."""

    name: str
    given: TcOptions = field(default_factory=dict)
    choices: tuple[tuple[str, ...], ...] = ()  # groups of options of which one may be set
    is_of_rig: bool = False  # for the links of a rig, not for a queue under test
    #: Whether flags are read back under their own names, as choices of several are; otherwise
    #: `noecn` is read back as `"ecn": false`.
    has_named_flags: bool = False
    shaper: str = ""  # the option that limits its rate
    marks_by_default: bool = False  # what can be marked, whatever its options, but for `noecn`
    mark_counter: str = "ecn_mark"  # what `tc -s` calls the number of marked packets
    #: Its statistics (linux/pkt_sched.h), a struct: columns and types as `netlink.fields` reads
    #: them. `decode` returns the columns where they are no struct.
    counters: str = ""
    parts: Mapping[str, float] = field(default_factory=dict)  # column -> parts of a whole
    decode: Callable[[bytes], Iterator[tuple[str, int]]] | None = None
    look: Look | None = None
    drops_at_head: bool = False  # it is one queue, in order, and drops the oldest packet
    needs_plugin: bool = False  # the guest's tc does not know it: `qdisc/src/<name>` has a plugin
    linux: str = ""  # the file of Linux with a module, for kernels that do not have it built in
    read_back: ReadBack | None = None  # None: times are in us and nothing else is converted
    #: Options of its classes, where these must be written out, and those of which each needs one.
    class_options: tuple[str, ...] = ()
    class_needs: tuple[str, ...] = ()
    of_class: Callable[[dict[str, Any]], dict[str, Any]] = dict  # all that a class is shown with

    def __post_init__(self) -> None:
        if isinstance(self.read_back, FunctionType):
            absent = _globals(self.read_back.__code__) - set(dir(builtins))
            if absent:
                what = f"read_back of '{self.name}' uses {', '.join(sorted(absent))}"
                raise ValueError(f"{what}, which the guest does not have: define it inside")

    @cached_property
    def options(self) -> Mapping[str, TcOption]:
        """Return its options by name."""
        given = self.given.items()
        return {name: of if isinstance(of, TcOption) else TcOption(of) for name, of in given}

    @property
    def required(self) -> tuple[str, ...]:
        """Return the names of the options without which `tc` does not install it."""
        return tuple(name for name, option in self.options.items() if option.is_required)

    def flaws(self, options: Mapping[str, Option | None]) -> Iterator[Flaw]:
        """Yield each of the `options` that `tc` would refuse or round."""
        for choice in self.choices:
            chosen = [name for name in choice if options.get(name) not in (None, False)]
            if len(chosen) > 1:
                what = f"excludes '{chosen[0]}': {self.name} takes only one of {', '.join(choice)}"
                yield chosen[1], what, "remove one of the two"
        names = list(self.options)
        for before, name in pairwise(["", *options]):
            if name in names and self.options[name].is_nameless:
                follows = names[names.index(name) - 1]
                if before != follows:
                    what = f"'{name}' does not follow '{follows}'"
                    yield name, what, "write it directly after"
        for name, value in options.items():
            if name in self.options:
                for what, todo in self.options[name].flaws(self.name, name, value):
                    yield name, what, todo

    def missing(self, options: Mapping[str, Option | None]) -> Iterator[Flaw]:
        """Yield each option that `tc` needs and that `options` lack."""
        for name in self.required:
            if options.get(name) is None:
                what = f"'{name}' is missing, which {self.name} needs"
                yield name, what, "add it to its options"

    def expect(self, name: str, value: Option) -> Expected:
        """Return what must be read back of an option."""
        option = self.options.get(name) or TcOption(type(value))
        if not option.is_read_back:
            return {}
        if isinstance(value, bool) and not (self.has_named_flags or option.stands_for):
            return {name.removeprefix("no"): value is not name.startswith("no")}
        return option.expect(name, value)

    def marks(self, options: Mapping[str, Option]) -> bool:
        """Return whether it marks packets of senders with ECN."""
        asked = any(options.get(name) for name in ("ecn", "ce_threshold"))
        return asked or (self.marks_by_default and not options.get("noecn"))

    def words(self, name: str, value: Option) -> tuple[str, ...]:
        """Return an option as `tc` reads it."""
        return (self.options.get(name) or TcOption(type(value))).words(name, value)

    @cached_property
    def guest_code(self) -> str:
        """Return the source of `read_back` without types of its values; empty without one."""
        if self.read_back is None:
            return ""
        source = textwrap.dedent(inspect.getsource(self.read_back))
        (function,) = ast.parse(source).body
        assert isinstance(function, ast.FunctionDef)
        body = source.splitlines(keepends=True)[function.body[0].lineno - 1 :]
        return f"def {function.name}({function.args.args[0].arg}):\n{''.join(body)}"


def _globals(code: CodeType) -> set[str]:
    """Return the names that a function and those inside it look up outside of it."""
    lookups = (each for each in dis.get_instructions(code) if each.opname == "LOAD_GLOBAL")
    names = {str(each.argval) for each in lookups}
    inside = (const for const in code.co_consts if isinstance(const, CodeType))
    return names.union(*map(_globals, inside))
