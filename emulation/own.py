"""Qdiscs of the user's own, beside those of the papers: `qdisc/own.yaml`, where there is one.

Each joins the sweeps of the experiments of the papers that the file names, and every figure of
them. The file is read as strictly as an experiment file. Where it is says `emulation.ownfile`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator

from emulation import ownfile
from emulation.errors import ConfigError, KernelBuildError
from emulation.kernel import module
from emulation.model import Cell, Experiment, Paper, Qdisc
from emulation.ownfile import FILE, MARKERS
from emulation.problems import validated
from emulation.qdisc import TC_OPTIONS, Option
from emulation.schema import RIG_KINDS, Flaws, Name, Section, read_options, unknown
from emulation.source import Source
from emulation.units import Duration, Packets, Quantity, Rate, Size, UnitError

_QUANTITIES: tuple[type[Quantity], ...] = (Duration, Packets, Size, Rate)


@dataclass(frozen=True)
class OwnQdisc:
    """A qdisc of the file."""

    name: str
    kind: str  # what `tc` calls it
    module: Path | None  # the folder of its sources; None where the kernel has the kind
    options: tuple[tuple[str, Option], ...]  # at every rate
    rates: Mapping[str, tuple[tuple[str, Option], ...]]  # those of a rate, by its text

    def at(self, rate: Rate) -> Qdisc:
        """The qdisc with its values for `rate`."""
        options = {**dict(self.options), **dict(self.rates.get(str(rate), ()))}
        txqueuelen = options.pop("txqueuelen", None)
        assert txqueuelen is None or isinstance(txqueuelen, Packets)
        source = None if self.module is None else module.source(self.module)
        return Qdisc(self.name, self.kind, tuple(options.items()), txqueuelen, source)


@dataclass(frozen=True)
class Own:
    """The file."""

    papers: tuple[str, ...] = ()
    qdiscs: tuple[OwnQdisc, ...] = ()
    path: Path = FILE

    def of(self, paper: str) -> tuple[OwnQdisc, ...]:
        """Those that join the experiments of `paper`."""
        return self.qdiscs if paper in self.papers else ()

    def qdisc(self, name: str) -> OwnQdisc | None:
        """The one called `name`."""
        return next((one for one in self.qdiscs if one.name == name), None)


def own() -> Own:
    """What the user's file has, nothing where there is none; `ConfigError` where it is wrong."""
    path = ownfile.path()
    return Own() if path is None else _read(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=4)
def _read(path: Path, changed: int) -> Own:
    return load(path)


def extended(papers: tuple[Paper, ...]) -> tuple[Paper, ...]:
    """`papers` with the user's qdiscs in each sweep over qdiscs; `ConfigError` as `own`."""
    found = own()
    names = [paper.name for paper in papers]
    for paper in found.papers:
        if paper not in names:
            what, todo = unknown("paper", paper, names)
            raise ConfigError(what, str(found.path), todo)
    return tuple(
        replace(paper, experiments=tuple(_joined(one, found) for one in paper.experiments))
        for paper in papers
    )


def _joined(experiment: Experiment, found: Own) -> Experiment:
    """`experiment` with a cell more a link, congestion control and qdisc, if it sweeps qdiscs."""
    cells = experiment.cells
    taken = {cell.qdisc for cell in cells}
    joining = found.of(experiment.paper)
    if len(taken) < 2 or not joining:
        return experiment
    for one in joining:
        if one.name in taken:
            what = f"'{one.name}' is a qdisc of {experiment.paper} already"
            raise ConfigError(what, str(found.path), "give yours another name")
    links = dict.fromkeys(cell.link for cell in cells)
    ccs = dict.fromkeys(cell.cc for cell in cells)
    more = tuple(
        Cell(link=link, qdisc=one.name, cc=cc, up=one.at(link.up), down=one.at(link.down))
        for link, one, cc in product(links, joining, ccs)
    )
    return replace(experiment, cells=cells + more)


def load(path: Path) -> Own:
    """Read such a file; raise `ConfigError` with all its problems."""
    try:
        source = Source.read(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot be read: {error}", str(path), "name a readable file") from None
    file = validated(source, OwnFile, "papers")
    if file is not None:
        for name, section in file.qdiscs.items():
            if section.module is not None:
                try:
                    module.source(path.parent / section.module)
                except KernelBuildError as error:
                    where = ("qdiscs", name, "module")
                    source.problems.append(source.problem(where, error.what, error.todo))
    if file is None or source.problems:
        raise ConfigError.of(str(path), source.problems)
    return Own(
        tuple(file.papers),
        tuple(
            OwnQdisc(
                name,
                section.kind,
                path.parent / section.module if section.module else None,
                tuple(section.options.items()),
                {rate: tuple(options.items()) for rate, options in section.rates.items()},
            )
            for name, section in file.qdiscs.items()
        ),
        path,
    )


def _color(text: str) -> str:
    if len(text) != 7 or text[0] != "#" or set(text[1:].lower()) - set("0123456789abcdef"):
        raise Flaws(((), f"'{text}' is no colour", "write e.g. '#882255', with quotes"))
    return text


def _marker(text: str) -> str:
    if len(text) != 1 or text not in MARKERS:
        raise Flaws(((), *unknown("marker", text, MARKERS)))
    return text


class OwnQdiscSection(Section):
    """A qdisc of the user's own; an option of a kind of theirs has the type of its value."""

    kind: Name
    module: str | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    rates: dict[str, dict[str, Any]] = Field(default_factory=dict)
    color: Annotated[str, AfterValidator(_color)] | None = None
    dark_color: Annotated[str, AfterValidator(_color)] | None = None
    marker: Annotated[str, AfterValidator(_marker)] | None = None

    @field_validator("module")
    @classmethod
    def _of_an_own_kind(cls, folder: str | None, info: ValidationInfo) -> str | None:
        kind = info.data.get("kind")
        if folder and kind in TC_OPTIONS:
            what = f"brings '{kind}', which the kernel has already"
            raise Flaws(((), what, "remove it, or give the kind of your module another name"))
        return folder

    @field_validator("options")
    @classmethod
    def _readable_options(cls, options: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        kind = info.data.get("kind")
        return options if kind is None else _options(kind, options)

    @field_validator("rates")
    @classmethod
    def _readable_rates(
        cls, rates: dict[str, dict[str, Any]], info: ValidationInfo
    ) -> dict[str, dict[str, Any]]:
        read = {}
        for name, options in rates.items():
            try:
                rate = str(Rate.parse(name))
            except UnitError as error:
                what, _, todo = str(error).rpartition("; ")
                raise Flaws(((name,), what, todo)) from None
            try:
                read[rate] = _options(info.data.get("kind", ""), options)
            except Flaws as error:
                raise Flaws(*error.below(name)) from None
        return read

    @model_validator(mode="after")
    def _somebody_has_the_kind(self) -> Self:
        kinds = sorted(TC_OPTIONS.keys() - RIG_KINDS)
        if self.kind not in kinds and self.module is None:
            what, todo = unknown("kind", self.kind, kinds)
            raise Flaws((("kind",), what, f"name the folder of its module under 'module'; {todo}"))
        return self


class OwnFile(Section):
    """The whole file."""

    papers: list[Name] = Field(min_length=1)
    qdiscs: dict[Name, OwnQdiscSection] = Field(min_length=1)


def _options(kind: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options with their types: those of `tc`'s kind, or what the value looks like."""
    if kind in TC_OPTIONS:
        return read_options(kind, options)
    flaws = []
    read: dict[str, Any] = {}
    for name, value in options.items():
        found = _option(value)
        if found is None:
            what = f"{value!r} is no number and has no unit that is known"
            flaws.append(((name,), what, "write e.g. true, 5, 0.1, '5 ms' or '100 packets'"))
        read[name] = found
    if flaws:
        raise Flaws(*flaws)
    return read


def _option(value: Any) -> Option | None:
    if isinstance(value, bool | int | float):
        return value
    for quantity in _QUANTITIES:
        try:
            found = quantity.parse(str(value))
        except UnitError:
            continue
        assert isinstance(found, Duration | Packets | Size | Rate)
        return found
    return None
