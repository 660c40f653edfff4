"""Experiment files: strict YAML, read into the frozen values of `emulation.model`.

A file is accepted whole or refused with every problem that it has, each with file, line and key.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import resources
from itertools import product
from pathlib import Path as FilePath
from typing import Any, TypeVar

from emulation import era as eras
from emulation import own
from emulation.dumbbell import PAIRS
from emulation.errors import ConfigError, Problem
from emulation.load import Change, Load
from emulation.model import (
    DEFAULT_ERA,
    DEFAULT_KERNEL,
    DEFAULT_MEMORY,
    Cell,
    Experiment,
    Link,
    Paper,
    Qdisc,
    Rig,
    Run,
    Traffic,
)
from emulation.problems import validated
from emulation.schema import (
    ExperimentSection,
    PaperFile,
    QdiscSection,
    WifiSection,
    unknown,
)
from emulation.source import Path, Source
from emulation.units import Duration, Rate
from emulation.wifi import Wifi, options

T = TypeVar("T", str, int)

#: Rig -> how many stations its WiFi link has, and why.
_STATIONS = {
    "daisy_chain": (1, "a daisy chain has one client"),
    "dumbbell": (PAIRS, f"a dumbbell has {PAIRS} receivers"),
}


def load(path: FilePath) -> Paper:
    """Read an experiment file; raise `ConfigError` with all its problems."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not UTF-8 text"
        todo = "name a readable experiment file"
        raise ConfigError(f"cannot be read: {reason}", str(path), todo) from None
    source = Source.read(text)
    file = _validate(source)
    if file is not None:
        source.problems += _cross_checks(file, source)
    if file is None or source.problems:
        raise ConfigError.of(str(path), source.problems)
    return _paper(file)


def papers() -> tuple[Paper, ...]:
    """The papers of the shipped files, by name, with the user's own qdiscs (`emulation.own`)."""
    folder = FilePath(str(resources.files("emulation") / "experiments"))
    return own.extended(tuple(load(path) for path in sorted(folder.glob("*.yaml"))))


def experiments() -> tuple[Experiment, ...]:
    """Every experiment of the shipped files."""
    return tuple(experiment for paper in papers() for experiment in paper.experiments)


def experiment(name: str) -> Experiment:
    """The shipped experiment `name`, as `gbw2015/rrul`; `ConfigError` where there is none."""
    known = {experiment.id: experiment for experiment in experiments()}
    if name not in known:
        what, todo = unknown("experiment", name, known)
        raise ConfigError(what, todo=todo)
    return known[name]


def select(
    experiment: Experiment,
    *,
    link: str | Iterable[str] | None = None,
    qdisc: str | Iterable[str] | None = None,
    cc: str | Iterable[str] | None = None,
    seed: int | Iterable[int] | None = None,
    length: Duration | None = None,
    era: str = DEFAULT_ERA,
    kernel: str = DEFAULT_KERNEL,
) -> tuple[Run, ...]:
    """The runs of `experiment` with the given values; None takes all, or the experiment's own.

    Raises `ConfigError`, naming the valid values, for one that the experiment does not have.
    """
    cells = experiment.cells
    links = _chosen(experiment, "link", link, [cell.link.name for cell in cells])
    qdiscs = _chosen(experiment, "qdisc", qdisc, [cell.qdisc for cell in cells])
    ccs = _chosen(experiment, "cc", cc, [cell.cc for cell in cells])
    seeds = _chosen(experiment, "seed", seed, experiment.seeds)
    try:
        eras.switches(era, experiment.restores)
    except ValueError as error:
        what, _, todo = str(error).partition("; ")
        raise ConfigError(what, experiment.id, todo) from None
    length = experiment.traffic.length if length is None else length
    if length < experiment.traffic.step:
        step = experiment.traffic.step
        what = f"length '{length}' is shorter than the step, '{step}'"
        raise ConfigError(what, experiment.id, f"give at least {step}")
    return tuple(
        Run(experiment, cell, number, length, era, kernel)
        for cell in cells
        if cell.link.name in links and cell.qdisc in qdiscs and cell.cc in ccs
        for number in seeds
    )


def _chosen(
    experiment: Experiment, noun: str, given: T | Iterable[T] | None, valid: Iterable[T]
) -> tuple[T, ...]:
    """The `given` values, in the order of the `valid` ones."""
    known = tuple(dict.fromkeys(valid))
    if given is None:
        return known
    wanted: set[Any] = {given} if isinstance(given, str | int) else set(given)
    for value in sorted(wanted - set(known)):
        what, todo = unknown(noun, str(value), [str(name) for name in known])
        raise ConfigError(what, experiment.id, todo)
    return tuple(value for value in known if value in wanted)


def _validate(source: Source) -> PaperFile | None:
    """The file's sections; None, with the problems in `source`, where they are not valid."""
    value = source.value if isinstance(source.value, dict) else {}
    defined = {
        noun: list(section) if isinstance(section := value.get(key, {}), dict) else None
        for noun, key in (("link", "links"), ("qdisc", "qdiscs"), ("wifi", "wifi"))
    }
    return validated(source, PaperFile, "paper", defined)


def _cross_checks(file: PaperFile, source: Source) -> Iterator[Problem]:
    """What is wrong between sections that are valid by themselves."""
    for name, link in file.links.items():
        right = f"{link.down.mbit_per_s:g}/{link.up.mbit_per_s:g}"
        if name != right:
            what = f"is named '{name}' and has the rates {right}"
            yield source.problem(("links", name), what, f"name it '{right}'")
    for experiment_name, section in file.experiments.items():
        for index, qdisc in enumerate(section.sweep.qdisc):
            path = ("experiments", experiment_name, "sweep", "qdisc", index)
            for rate, links in _rates(file, section).items():
                if rate not in file.qdiscs[qdisc].rates:
                    what = f"'{qdisc}' has no values for {rate}, a rate of {', '.join(links)}"
                    yield source.problem(path, what, f"add '{rate}' to qdiscs.{qdisc}.rates")
        yield from _tool_checks(file, source, experiment_name, section)


def _tool_checks(
    file: PaperFile, source: Source, name: str, section: ExperimentSection
) -> Iterator[Problem]:
    """What of a tool does not go with the rig."""
    tools = {"daisy_chain": "flent", "dumbbell": "iperf", "gateways": "mix"}
    traffic, wanted = section.traffic, tools[file.rig.topology]
    if traffic.tool == "window" and wanted == "mix":
        wanted = "window"
        if section.rig.mtu is None:
            todo = "write e.g. 'mtu: 1500 B'"
            yield source.problem(("experiments", name, "rig"), "has no mtu", todo)
    path = ("experiments", name, "traffic")
    if traffic.tool != wanted:
        what = f"'{traffic.tool}' does not run on the rig '{file.rig.topology}'"
        yield source.problem((*path, "tool"), what, f"write '{wanted}'")
    wifi = section.rig.wifi or file.rig.wifi
    if wifi is not None:
        where: Path = ("experiments", name, "rig", "wifi")
        where = where if section.rig.wifi else ("rig", "wifi")
        stations = len(file.wifi[wifi].stations)
        hosts = _STATIONS.get(file.rig.topology)
        if hosts is None:
            what = f"the rig '{file.rig.topology}' has no WiFi link"
            todo = "remove it, or write topology: daisy_chain or dumbbell"
            yield source.problem(where, what, todo)
        elif stations != hosts[0]:
            what = f"'{wifi}' has {stations} stations, {hosts[1]}"
            yield source.problem(where, what, f"write {hosts[0]}")
    elif traffic.both_ways:
        what = "is for a rig with a WiFi link: only there are both directions followed"
        yield source.problem((*path, "both_ways"), what, "remove it")
    if wifi is not None and traffic.ping_interval is not None:
        what = "is for a rig without a WiFi link"
        yield source.problem((*path, "ping_interval"), what, "remove it")
    for index, load in enumerate(traffic.loads):
        if load not in file.loads:
            yield source.problem((*path, "loads", index), *unknown("load", load, file.loads))
    changed = [key for key in ("mtu", "schedule") if getattr(section.rig, key)]
    for key in changed if file.rig.topology != "gateways" else ():
        what = f"'{key}' is for the rig 'gateways'"
        yield source.problem(("experiments", name, "rig", key), what, "remove it")
    moments = [change.at for change in section.rig.schedule]
    if moments != sorted(set(moments)) or any(at >= traffic.length for at in moments):
        what = f"moments {', '.join(map(str, moments))} do not rise within {traffic.length}"
        where = ("experiments", name, "rig", "schedule")
        yield source.problem(where, what, "order them, and end before the load does")
    if wanted != "flent" and len(section.rig.base_rtt or file.rig.base_rtt) > 1:
        what = f"has several base RTTs, the rig '{file.rig.topology}' has one"
        yield source.problem(("experiments", name, "rig", "base_rtt"), what, "leave one")


def _rates(file: PaperFile, section: ExperimentSection) -> dict[str, list[str]]:
    """Each bottleneck rate of a sweep, with the links that have it."""
    rates: dict[str, list[str]] = {}
    for name in section.sweep.link:
        link = file.links[name]
        for rate in dict.fromkeys((str(link.down), str(link.up))):
            rates.setdefault(rate, []).append(name)
    return rates


def _paper(file: PaperFile) -> Paper:
    found = tuple(_experiment(file, name, section) for name, section in file.experiments.items())
    return Paper(file.paper, file.title, file.doi, found)


def _rig(file: PaperFile, section: ExperimentSection) -> Rig:
    """The file's rig with what the experiment has otherwise."""
    wifi = section.rig.wifi or file.rig.wifi
    return Rig(
        section.rig.base_rtt or file.rig.base_rtt,
        section.rig.edge_rate or file.rig.edge_rate,
        tuple({**file.rig.sysctls, **section.rig.sysctls}.items()),
        file.rig.topology,
        wifi=None if wifi is None else _wifi(wifi, file.wifi[wifi]),
        mtu=section.rig.mtu,
        schedule=tuple(Change(change.at, change.rate) for change in section.rig.schedule),
    )


def _wifi(name: str, section: WifiSection) -> Wifi:
    stations = tuple(options(station) for station in section.stations)
    return Wifi(name, options(section.access_point), stations)


def _traffic(file: PaperFile, section: ExperimentSection) -> Traffic:
    given = dict(section.traffic)
    given["servers"] = tuple(given["servers"]) if section.traffic.tool == "flent" else ()
    given["options"] = tuple(given["options"].items())
    given["loads"] = tuple(Load(load, **dict(file.loads[load])) for load in given["loads"])
    return Traffic(**given)


def _experiment(file: PaperFile, name: str, section: ExperimentSection) -> Experiment:
    links = [Link(link, file.links[link].down, file.links[link].up) for link in section.sweep.link]
    cells = tuple(
        Cell(
            link=link,
            qdisc=qdisc,
            cc=cc,
            up=_qdisc(qdisc, file.qdiscs[qdisc], link.up),
            down=_qdisc(qdisc, file.qdiscs[qdisc], link.down),
        )
        for link, qdisc, cc in product(links, section.sweep.qdisc, section.sweep.cc)
    )
    return Experiment(
        paper=file.paper,
        name=name,
        title=section.title,
        section=section.section,
        rig=_rig(file, section),
        traffic=_traffic(file, section),
        cells=cells,
        seeds=tuple(range(1, section.sweep.repetitions + 1)),
        memory=section.memory or file.memory or DEFAULT_MEMORY,
        restores=tuple(section.restores),
    )


def _qdisc(name: str, section: QdiscSection, rate: Rate) -> Qdisc:
    """The qdisc with its values for `rate`: those of the rate class go before those of all."""
    options = {**section.options, **section.rates[str(rate)]}
    txqueuelen = options.pop("txqueuelen", None)
    return Qdisc(name, section.kind, tuple(options.items()), txqueuelen)
