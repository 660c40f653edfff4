"""The form of a study file, `study.yaml`: sections and their keys.

The forms of rigs and traffic are in `emulation.kinds.rigs` and `emulation.kinds.traffic`; sections
are compared with each other, and points made of them, in `emulation.config.points`.
"""

import re
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    Field,
    PlainValidator,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from qdisclab.emulation.config.ownfile import MARKERS
from qdisclab.emulation.errors import ConfigError
from qdisclab.emulation.kernel import recipe
from qdisclab.emulation.kinds import qdiscs
from qdisclab.emulation.kinds.probes.probe import Probe
from qdisclab.emulation.model.era import NAMES as SWITCHES, switches
from qdisclab.emulation.model.units import Duration, Option, Packets, Rate, Size, UnitError
from qdisclab.emulation.model.wifi import flaws as wifi_flaws
from qdisclab.emulation.study import schema
from qdisclab.emulation.study.schema import Flaw, Flaws, Name, Section, refuse, unknown

FORMAT = 1  # of study files

_QUANTITIES: tuple[type[Duration | Packets | Size | Rate], ...] = (Duration, Packets, Size, Rate)


class LinkSection(Section):
    """The bottleneck's rates."""

    down: schema.LinkRate
    up: schema.LinkRate


_COLOR = schema.matching("#[0-9A-Fa-f]{6}", "a colour", "e.g. '#882255', with quotes")


def _marker(text: str) -> str:
    if len(text) != 1 or text not in MARKERS:
        raise Flaws(((), *unknown("marker", text, MARKERS)))
    return text


def _not_of_the_rig(kind: str) -> str:
    if kind in qdiscs.KINDS and qdiscs.KINDS[kind].is_of_rig:
        raise Flaws(((), *unknown("kind", kind, qdiscs.tested())))
    return kind


class QdiscSection(Section):
    """A queue discipline.

    `options` hold at every rate; `by` adds options for a value of an axis, `rates` for a rate.
    """

    kind: Annotated[Name, AfterValidator(_not_of_the_rig)]
    module: str | None = None  # the folder of a kernel module that provides the kind
    options: dict[str, Any] = Field(default_factory=dict)
    by: dict[str, dict[str, dict[str, Any]]] = Field(default_factory=dict)  # axis -> value -> …
    rates: dict[str, dict[str, Any]] = Field(default_factory=dict)
    color: Annotated[str, _COLOR] | None = None
    dark_color: Annotated[str, _COLOR] | None = None
    marker: Annotated[str, AfterValidator(_marker)] | None = None

    @field_validator("module")
    @classmethod
    def _of_an_own_kind(cls, folder: str | None, info: ValidationInfo) -> str | None:
        kind = info.data.get("kind")
        if folder and kind in qdiscs.KINDS:
            what = f"provides '{kind}', which the kernel already has"
            raise Flaws(((), what, "remove it, or give the kind of your module another name"))
        return folder

    @model_validator(mode="after")
    def _known_or_from_a_module(self) -> Self:
        kinds = qdiscs.tested()
        if self.kind not in kinds and self.module is None:
            what, todo = unknown("kind", self.kind, kinds)
            raise Flaws((("kind",), what, f"name the folder of its module under 'module'; {todo}"))
        return self

    @field_validator("options")
    @classmethod
    def _readable_options(cls, options: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        return options_of(info.data["kind"], options) if "kind" in info.data else options

    @field_validator("by")
    @classmethod
    def _readable_by(cls, by: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        if "kind" not in info.data:
            return by
        read = partial(options_of, info.data["kind"])
        return schema.read_each(by.items(), lambda values: schema.read_each(values.items(), read))

    @field_validator("rates")
    @classmethod
    def _readable_rates(
        cls, rates: dict[str, dict[str, Any]], info: ValidationInfo
    ) -> dict[str, dict[str, Any]]:
        flaws: list[Flaw] = []
        read: dict[str, dict[str, Any]] = {}
        for name, options in rates.items():
            try:
                if (rate := str(_rate(name))) in read:
                    raise Flaws(((), f"{rate} appears twice", "remove one of the two"))
                read[rate] = options_of(info.data["kind"], options) if "kind" in info.data else {}
            except Flaws as error:
                flaws += error.below(name)
        refuse(flaws)
        return read


def _parameters(pairs: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    for name, value in pairs:
        if not re.fullmatch(r"\w+", name, re.ASCII) or not value.isprintable():
            what = f"'{name}' is not a parameter of a module, or has no value"
            raise Flaws(((name,), what, "write its name and a number or a word"))
    return pairs


class ControlSection(Section):
    """A congestion control from a kernel module; its name is that under which it registers."""

    module: str  # the folder of the module
    parameters: Annotated[schema.Settings, AfterValidator(_parameters)] = ()  # of the module


def _rate(text: str) -> Rate:
    rate = schema.parser(Rate)(text)
    if not rate.base:
        raise Flaws(((), f"'{text}' is not a possible rate", "write a rate above 0"))
    return rate


def options_of(kind: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with their types: those of a kind of `tc`, or guessed from the value.

    None stays None: it removes an option.
    """
    texts = {name: value for name, value in options.items() if value is not None}
    is_of_tc = kind in qdiscs.KINDS
    items = texts.items()
    typed = schema.read_options(kind, texts) if is_of_tc else schema.read_each(items, _option)
    return {name: typed.get(name) for name in options}


def _option(value: Any) -> Option:
    if isinstance(value, bool | int | float):
        return value
    for quantity in _QUANTITIES:
        try:
            return quantity.parse(str(value))
        except UnitError:
            continue
    what = f"{value!r} is neither a number nor a value with a known unit"
    raise Flaws(((), what, "write e.g. true, 5, 0.1, '5 ms' or '100 packets'"))


class WifiSection(Section):
    """A WiFi link: options of its access point, which include the medium's, and of each station."""

    access_point: dict[str, Any] = Field(default_factory=dict)
    stations: list[dict[str, Any]] = Field(min_length=1)

    @model_validator(mode="after")
    def _right_options(self) -> Self:
        refuse(wifi_flaws(self.access_point, list(self.stations)))
        return self


class AxisSection(Section):
    """A short name for what a sweep varies: one parameter, or named sets of parameters."""

    sets: str | None = None  # the parameter: `rig.base_rtt`, `traffic.flows`, `qdisc.target`
    values: dict[str, dict[str, Any]] = Field(default_factory=dict)  # name -> parameter -> value

    @model_validator(mode="after")
    def _either_sets_or_values(self) -> Self:
        if bool(self.sets) == bool(self.values):
            raise Flaws(((), "needs either 'sets' or 'values'", "e.g. 'sets: rig.base_rtt'"))
        return self


def _series(value: Any) -> str | None:
    if value is not None and str(value) not in recipe.all_series():
        raise Flaws(((), *unknown("series of kernels", str(value), recipe.all_series())))
    if value is not None and not isinstance(value, str):
        raise Flaws(((), f"{value} is a number", f"write '{value}', with quotes"))
    return value


_OF_SERIES = WithJsonSchema({"type": "string", "pattern": r"^\d+\.\d+$"})
#: A series of kernels, `7.2`; None for that of the file, or the default.
Series = Annotated[str | None, PlainValidator(_series), _OF_SERIES]


def _probe(value: Any) -> Probe:
    if not isinstance(value, str):
        raise Flaws(((), f"{value!r} is not a probe", "write e.g. 'packets', or 'qdisc:1ms'"))
    try:
        return Probe.parse(value)
    except ConfigError as error:
        raise Flaws(((), error.what, error.todo)) from None


ProbeText = Annotated[Probe, PlainValidator(_probe), WithJsonSchema({"type": "string"})]

#: A part of a sweep: for each axis a value, or a list of values.
Block = dict[str, Any]


def _blocks(value: Any) -> list[Block]:
    blocks = value if isinstance(value, list) else [value]
    if not blocks:
        raise Flaws(((), "is empty", "write e.g. 'link: [10/10]' below it"))
    for number, block in enumerate(blocks):
        where = (number,) if isinstance(value, list) else ()
        if not isinstance(block, dict) or not block:
            what = "is empty" if block == {} else "is not a mapping"
            raise Flaws((where, what, "write e.g. 'link: [10/10]' below it"))
        for axis, values in block.items():
            if isinstance(values, list) and not values:
                raise Flaws(((*where, axis), "is empty", "add at least one entry"))
    return blocks


def _switches(names: list[str]) -> list[str]:
    wrong = ((place, name) for place, name in enumerate(names) if name not in SWITCHES)
    refuse(((place,), *unknown("switch", name, SWITCHES)) for place, name in wrong)
    return names


class ExperimentSection(Section):
    """An experiment: traffic, a sweep, and what differs from the rest of the file."""

    title: str
    section: str = ""  # of the paper
    id: str | None = None  # how the ids of its runs are made: "{experiment}/{link}/{qdisc}/{cc}"
    traffic: dict[str, Any]
    rig: dict[str, Any] = Field(default_factory=dict)  # what differs from the rig of the file
    memory: schema.Memory | None = None
    kernel: Series = None
    #: Switches of `emulation.model.era`.
    restores: Annotated[list[str], AfterValidator(_switches)] = Field(default_factory=list)
    measure: Name | None = None  # how its runs become numbers: one that the analysis knows
    unloaded: Name | None = None  # the experiment without load that these are divided by
    probes: list[ProbeText] = Field(default_factory=list)  # what its runs record, too
    sweep: Annotated[Any, AfterValidator(_blocks)] = ({},)  # by default one point
    repetitions: int = Field(default=1, ge=1, le=999, strict=True)


def _eras(names: tuple[str, ...]) -> tuple[str, ...]:
    for place, name in enumerate(names):
        try:
            switches(name)
        except ValueError as error:
            raise Flaws(((place,), str(error), "write the name of an era")) from None
    if len(set(names)) < len(names):
        raise Flaws(((), "an era appears twice", "leave one of them out"))
    return names


class FixedSection(Section):
    """What the claims are settled by, as it was fixed on a day: repetitions 1 to n of each cell of
    an experiment, how many of them had been looked at by then, at most, in any cell, and the eras
    of the paper's kernel, the one that counts first."""

    on: str = Field(pattern=r"^\d{4}-\d\d-\d\d$")  # with quotes
    repetitions: dict[Name, int]
    seen: dict[Name, int] = Field(default_factory=dict)
    eras: Annotated[tuple[str, ...], AfterValidator(_eras)] = ()


_OF_STUDY = schema.matching(r"[a-z][a-z0-9_-]*", "a name", "lower-case letters, digits, - and _")
StudyName = Annotated[str, _OF_STUDY]


def _format(number: Any) -> int:
    if number != FORMAT or isinstance(number, bool):
        newer = isinstance(number, int) and number > FORMAT
        todo = "use a newer version of this program" if newer else f"write 'format: {FORMAT}'"
        raise Flaws(((), f"'{number}' is not a format that this version reads", todo))
    return FORMAT


#: Pages lead there.
_ADDRESS = schema.matching(r"(https?://[^\s\"'<>]+)?", "the address of a page", "https://…")


class StudyFile(Section):
    """A whole study file."""

    format: Annotated[Any, AfterValidator(_format)]
    study: StudyName
    title: str
    doi: str = ""
    source: str = ""  # authors, place and year of a paper
    address: Annotated[str, _ADDRESS] = ""  # where it can be read
    conclusion: str = ""  # a sentence on what came out, with the claims that it rests on: (g001)
    cover: str = ""  # the figure that shows it: fig2b
    links: dict[str, LinkSection] = Field(default_factory=dict)
    qdiscs: dict[Name, QdiscSection] = Field(default_factory=dict)
    controls: dict[Name, ControlSection] = Field(default_factory=dict)
    wifi: dict[Name, WifiSection] = Field(default_factory=dict)
    axes: dict[Name, AxisSection] = Field(default_factory=dict)
    rig: dict[str, Any] = Field(default_factory=dict)  # of every experiment
    memory: schema.Memory | None = None
    kernel: Series = None  # of every experiment
    experiments: dict[Name, ExperimentSection] = Field(min_length=1)
    fixed: FixedSection | None = None

    @model_validator(mode="after")
    def _fixes_what_there_is(self) -> Self:
        if self.fixed is not None:
            named = {"repetitions": self.fixed.repetitions, "seen": self.fixed.seen}
            ours = self.experiments
            wrong = ((key, of) for key, names in named.items() for of in names if of not in ours)
            refuse((("fixed", key, of), *unknown("experiment", of, ours)) for key, of in wrong)
        return self
