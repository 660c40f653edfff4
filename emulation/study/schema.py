"""The types of values in a study file: names, quantities, options of qdiscs.

Each check here sees a single value and says what is wrong with it and what to do. The sections of
the values are in `emulation.config.studyfile`, `emulation.kinds.rigs` and
`emulation.kinds.traffic`.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path as FolderPath
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import CoreSchema, core_schema

from qdisclab.emulation.kinds.qdiscs import KINDS
from qdisclab.emulation.model import sysctls, units
from qdisclab.emulation.study.source import Path

FASTEST = units.Rate(100 * 10**9)  # a faster link is probably a mistake
ADDRESSES = 16  # of a server: the number of bands of a prio qdisc
MOST_LISTED = 20  # names in an error; of a longer list, the nearest three
LEAST_MEMORY = units.Size(64 * 2**20)  # a little more than a guest needs to boot
MEMORY = "256 MiB"  # an example


#: What is wrong with a value: (path below it, what, what to do).
Flaw = tuple[Path, str, str]


class Flaws(ValueError):
    """Everything that is wrong with a value."""

    def __init__(self, *flaws: Flaw) -> None:
        self.flaws = flaws
        super().__init__("; ".join(what for _, what, _ in flaws))

    def below(self, *steps: str | int) -> list[Flaw]:
        """Return the same flaws, with paths from a value around this one."""
        return [((*steps, *path), what, todo) for path, what, todo in self.flaws]


K = TypeVar("K", bound=str | int)
V = TypeVar("V")


def refuse(flaws: Iterable[Flaw]) -> None:
    """Raise all `flaws`, if there are any."""
    if several := tuple(flaws):
        raise Flaws(*several)


@contextmanager
def below(step: str | int) -> Iterator[None]:
    """Inside, `Flaws` get paths from the value around the one that has them."""
    try:
        yield
    except Flaws as error:
        raise Flaws(*error.below(step)) from None


def read_each(items: Iterable[tuple[K, Any]], read: Callable[[Any], V]) -> dict[K, V]:
    """Return by key what `read` makes of each value; raise the `Flaws` of all, below their keys."""
    values: dict[K, V] = {}
    flaws: list[Flaw] = []
    for key, value in items:
        try:
            values[key] = read(value)
        except Flaws as error:
            flaws += error.below(key)
    refuse(flaws)
    return values


def unknown(noun: str, word: str, valid: Iterable[str], look: str = "") -> tuple[str, str]:
    """Return what is wrong with a `word` that is not among the `valid` ones, and what to do.

    Of more than `MOST_LISTED` only the nearest three are named; `look` says where all are listed.
    """
    names = list(valid)
    is_short = len(names) <= MOST_LISTED
    near = difflib.get_close_matches(word, names, n=1 if is_short else 3)
    quoted = " or ".join(f"'{name}'" for name in near)
    hint = f"did you mean {quoted}? " if near else ""
    listed = f"valid: {', '.join(names) or 'none'}"
    return f"unknown {noun} '{word}'", hint + (look if look and not is_short else listed)


Q = TypeVar("Q", bound=units.Amount)


def parser(quantity: type[Q], example: str = "") -> Callable[[Any], Q]:
    """Return a validator that reads a `quantity` from text, such as the `example`."""
    example = example or quantity.EXAMPLE

    def parse(value: Any) -> Q:
        if isinstance(value, quantity):  # read already
            return value
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise Flaws(((), f"must be text with a unit, not {value!r}", f"write e.g. '{example}'"))
        try:
            return quantity.parse(str(value), example)
        except units.UnitError as error:
            what, _, todo = str(error).rpartition("; ")
            raise Flaws(((), what, todo)) from None

    return parse


def _positive(value: Q, example: str = "") -> Q:
    if not value.base:
        todo = f"write e.g. '{example or value.EXAMPLE}'"
        raise Flaws(((), f"'{value}' must be above zero", todo))
    return value


def _feasible(rate: units.Rate) -> units.Rate:
    if not units.Rate(0) < rate <= FASTEST:
        todo = f"write a rate above 0 and up to {FASTEST}"
        raise Flaws(((), f"'{rate}' is not a possible rate", todo))
    return rate


def matching(pattern: str, noun: str, letters: str) -> AfterValidator:
    """Return a validator of text that matches `pattern`, which the words `letters` describe."""
    return AfterValidator(partial(_matched, pattern, noun, letters))


def _matched(pattern: str, noun: str, letters: str, text: str) -> str:
    if not re.fullmatch(pattern, text):
        raise Flaws(((), f"'{text[:80]}' is not {noun}", f"write {letters}"))
    return text


def naming(pattern: str, noun: str, letters: str) -> AfterValidator:
    """Return a validator of settings whose names are such text."""

    def check(pairs: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
        read_each(((name, name) for name, _ in pairs), partial(_matched, pattern, noun, letters))
        return pairs

    return AfterValidator(check)


def _durations(value: Any) -> tuple[units.Duration, ...]:
    """Return one span or several, one for each address of the server."""
    parse = parser(units.Duration)
    if not isinstance(value, list | tuple):
        return (_positive(parse(value)),)
    if not 1 <= len(value) <= ADDRESSES:
        raise Flaws(((), f"has {len(value)} entries", f"write 1 to {ADDRESSES} of them"))
    return tuple(read_each(enumerate(value), lambda item: _positive(parse(item))).values())


def _bootable(size: units.Size) -> units.Size:
    if size < LEAST_MEMORY or size.bytes % 2**20:
        todo = f"write {LEAST_MEMORY} or more, in whole MiB"
        raise Flaws(((), f"'{size}' is not a possible memory of a guest", todo))
    return size


def _setting(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise Flaws(((), f"{value!r} is not a setting", "write a whole number or text"))
    return str(value)


def pairs(value: Any, read: Callable[[Any], V]) -> tuple[tuple[str, V], ...]:
    """Return a mapping of names to values, each as `read` returns it, as pairs; raise `Flaws`."""
    if isinstance(value, tuple):  # read already
        return value
    if not isinstance(value, Mapping):
        raise Flaws(((), "is not a mapping", "write keys with values below it"))
    return tuple(read_each(((str(name), of) for name, of in value.items()), read).items())


_settings = partial(pairs, read=_setting)


def _of_network(pairs: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    refuse(((name,), *flaw) for name, value in pairs if (flaw := sysctls.flaw(name, value)))
    return pairs


def settings_of_network(value: Any) -> tuple[tuple[str, str], ...]:
    """Return a mapping of sysctls to settings as pairs; raise `Flaws`."""
    return _of_network(_settings(value))


class _Read:
    """How a quantity is read, checked and, for editors, described: an annotation of its type."""

    def __init__(
        self, noun: str, kind: type[Q], check: Callable[[Q], Q], example: str = ""
    ) -> None:
        self._example = example or kind.EXAMPLE
        self._noun, self._units = noun, "|".join(map(re.escape, kind.UNITS))
        self._parse, self._check = parser(kind, example), check

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            lambda value: self._check(self._parse(value))
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: Any) -> dict[str, Any]:
        pattern = rf"^\d+(\.\d+)?\s*({self._units})$"
        about = f"{self._noun}, e.g. {self._example}"
        return {"type": "string", "pattern": pattern, "description": about}


_SETTING = {"type": ["string", "integer"]}

Name = Annotated[str, matching(r"[a-z][a-z0-9_]*", "a name", "lower-case letters, digits and _")]
LinkRate = Annotated[units.Rate, _Read("a rate", units.Rate, _feasible)]
Span = Annotated[units.Duration, _Read("a time", units.Duration, _positive)]
_OF_SPANS = WithJsonSchema({"type": ["string", "array"], "items": {"type": "string"}})
Spans = Annotated[tuple[units.Duration, ...], PlainValidator(_durations), _OF_SPANS]
_long = partial(_positive, example="60 s")
Length = Annotated[units.Duration, _Read("a time", units.Duration, _long, "60 s")]
Memory = Annotated[units.Size, _Read("a size", units.Size, _bootable, MEMORY)]
TestName = Annotated[
    str, matching(r"[a-z][a-z0-9_-]*", "the name of a test", "lower-case letters, digits, _ and -")
]
_OF_SETTINGS = WithJsonSchema({"type": "object", "additionalProperties": _SETTING})
Settings = Annotated[tuple[tuple[str, str], ...], PlainValidator(_settings), _OF_SETTINGS]
Sysctls = Annotated[Settings, AfterValidator(_of_network)]
Bytes = Annotated[units.Size, _Read("a size", units.Size, _positive)]


class Section(BaseModel):
    """A mapping of the file: unknown keys are refused."""

    #: Validators are built when first used: a command reads few kinds of sections.
    model_config = ConfigDict(
        extra="forbid", frozen=True, arbitrary_types_allowed=True, defer_build=True
    )


class StudySection(Section):
    """A section that names files of its study, which are in its `folder`."""

    folder: FolderPath | None = Field(default=None, exclude=True, repr=False)

    @model_validator(mode="before")
    @classmethod
    def _of_the_study(cls, value: Any, info: ValidationInfo) -> Any:
        if not isinstance(value, dict):
            return value
        if "folder" in value:
            todo = "remove it: files are found next to the study's file"
            raise Flaws((("folder",), "is not a key", todo))
        return {**value, "folder": (info.context or {}).get("folder")}


def read_options(kind: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a `tc` kind and `txqueuelen` with their types; raise `Flaws`."""
    own = {name: option.type for name, option in KINDS[kind].options.items()}
    types: dict[str, type] = {**own, "txqueuelen": units.Packets}
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
    flaws += [((name,), what, todo) for name, what, todo in KINDS[kind].flaws(read)]
    refuse(flaws)
    return read


def _read_option(expected: type, value: Any) -> units.Option:
    if issubclass(expected, units.Amount):
        quantity = parser(expected)(value)
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
