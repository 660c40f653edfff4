"""Study files: strict YAML, read into the frozen values of `emulation.model.run`.

A file is either accepted or refused with all its problems, each with file, line and key.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from itertools import product
from pathlib import Path as FilePath
from typing import Any

from qdisclab.emulation import datafile
from qdisclab.emulation.config import job, kinds, own
from qdisclab.emulation.config.points import Points, context_of, link
from qdisclab.emulation.config.studyfile import StudyFile
from qdisclab.emulation.config.sweep import TEMPLATE, Sweep
from qdisclab.emulation.errors import ConfigError, EmulationError, KernelBuildError, KernelLacks
from qdisclab.emulation.kernel import features, module, recipe
from qdisclab.emulation.model import era as eras, sysctls
from qdisclab.emulation.model.axis import Value, meaning
from qdisclab.emulation.model.run import (
    DEFAULT_ERA,
    MOST_SEED,
    NONE,
    Experiment,
    Fixed,
    Point,
    Run,
    Study,
)
from qdisclab.emulation.model.series import DEFAULT_KERNEL
from qdisclab.emulation.model.units import Duration
from qdisclab.emulation.study import problems, studies
from qdisclab.emulation.study.schema import Flaw, Flaws, unknown
from qdisclab.emulation.study.source import ParsedFile, Path, dotted

#: The most points of an experiment; the largest that ships has 124.
MOST_POINTS = 10_000


def load(path: FilePath, joining: own.Own | None = None) -> Study:
    """Read a study file, or the one in a folder; raise `ConfigError` with all its problems.

    Qdiscs and controls `joining` it are the user's own, unless others are given.
    """
    path = path / studies.FILE if path.is_dir() else path
    try:
        changed = path.stat().st_mtime_ns
    except OSError as error:
        what = f"cannot be read: {error.strerror}"
        raise ConfigError(what, str(path), "name a readable study file") from None
    return _load(path, changed, kinds.states(path.parent), joining or own.own())


@lru_cache(maxsize=32)
def _load(path: FilePath, changed: int, states: tuple[str, ...], user_qdiscs: own.Own) -> Study:
    if states:
        kinds.add(path.parent)
    source = ParsedFile.of(path)
    file = problems.validated(source, StudyFile, "format")
    if path.name == studies.FILE and file.study != path.parent.name:
        what = f"'{file.study}' is in a folder called '{path.parent.name}'"
        source.add(("study",), what, "give both the same name")
    source.check()
    file, joining = user_qdiscs.joined(file)
    return _study(file, source, path.parent, joining)


def _study(file: StudyFile, source: ParsedFile, folder: FilePath, joining: Sequence[str]) -> Study:
    """Return the study; raise `ConfigError` where sections contradict others."""
    for flaw in (*_contradictions(file, folder, joining), *Sweep.check_names(file)):
        source.add(*flaw)
    source.check()
    context = context_of(file, folder)
    makers = (Points(Sweep(file, name, joining), folder, context) for name in file.experiments)
    experiments = tuple(filter(None, [_experiment(maker, source) for maker in makers]))
    source.check()
    _check_distinct(experiments, source)
    source.check()
    fixed = Fixed(**dict(file.fixed)) if file.fixed else Fixed()
    return Study(
        file.study, file.title, file.doi, experiments, file.source, file.address, fixed,
        file.conclusion, file.cover,
    )  # fmt: skip


def _contradictions(file: StudyFile, folder: FilePath, joining: Sequence[str]) -> Iterator[Flaw]:
    """Yield what sections have that others, their names or the folder do not fit."""
    for name, link_section in file.links.items():
        rates = f"{link_section.down.mbit_per_s:g}/{link_section.up.mbit_per_s:g}"
        if name != rates:
            what = f"is named '{name}', but has the rates {rates}"
            yield ("links", name), what, f"name it '{rates}'"
    sections = [("qdiscs", name, qdisc.module) for name, qdisc in file.qdiscs.items()]
    sections += [("controls", name, control.module) for name, control in file.controls.items()]
    for key, name, place in sections:
        try:
            if place is not None and name not in joining:  # those of `own.yaml` lie anywhere
                studies.inside(folder, place)
            if place is not None:
                module.source(folder / place)
            if key == "controls" and name in features.controls(DEFAULT_KERNEL):
                what = f"provides '{name}', which the kernel already has"
                raise ConfigError(what, "", "register yours under another name")
        except (KernelBuildError, ConfigError) as error:
            yield (key, name, "module"), error.what, error.todo
    for name, section in file.experiments.items():
        if section.unloaded is not None and section.unloaded not in file.experiments:
            where: Path = ("experiments", name, "unloaded")
            yield where, *unknown("experiment", section.unloaded, file.experiments)


def _check_distinct(experiments: Iterable[Experiment], source: ParsedFile) -> None:
    """Add a problem to `source` where experiments share the id of a point or a name."""
    owners: dict[tuple[str, str, str], str] = {}
    names = {experiment.name for experiment in experiments}
    for experiment in experiments:
        shared = {owners.setdefault(point.key, experiment.name) for point in experiment.points}
        for other in sorted((shared | names.intersection(experiment.labels)) - {experiment.name}):
            what = f"shares ids with '{other}': their runs could not be told apart"
            source.add(("experiments", experiment.name), what, "give one of them another 'id'")


def _experiment(maker: Points, source: ParsedFile) -> Experiment | None:
    sweep, file, section, folder = maker.sweep, maker.file, maker.section, maker.folder
    name, flaws = sweep.name, list[Flaw]()
    points: dict[tuple[str, str, str], Point] = {}
    values_of: dict[tuple[str, str, str], list[Value]] = {}
    try:
        sweep.check_axes()
        if sweep.size > MOST_POINTS:
            what = f"has {sweep.size} points, more than {MOST_POINTS}"
            raise Flaws((("sweep",), what, "split it into several experiments"))
        for values in sweep.products():
            try:
                point = maker.point(values)
                values_of.setdefault(point.key, values)
                first = points.setdefault(point.key, point)
                if first is not point and not first.same_setup_as(point):
                    raise Flaws((("sweep",), *_duplicate_id(point)))
            except Flaws as error:
                places = (_place(source, name, path, values) for path, _, _ in error.flaws)
                flaws += [(at, *flaw[1:]) for at, flaw in zip(places, error.flaws, strict=True)]
    except Flaws as error:
        flaws += error.below("experiments", name)
    labels = {point.label for point in points.values()}
    if name in labels and len(labels) > 1:
        what = f"is the label of some of its points; others have {min(labels - {name})}"
        other = TEMPLATE.replace("{experiment}", f"{name}_at")
        todo = f"give it an 'id' that begins differently, so that a name means one thing: {other}"
        flaws.append((("experiments", name), what, todo))
    for flaw in flaws:
        source.add(*flaw)
    if flaws:
        return None
    experiment = Experiment(
        paper=file.study,
        name=name,
        title=section.title,
        section=section.section,
        folder="" if folder.parent == studies.SHIPPED else str(folder),
        points=tuple(points.values()),
        seeds=tuple(range(1, section.repetitions + 1)),
        restores=tuple(section.restores),
        probes=tuple(section.probes),
        kernel=section.kernel or file.kernel or DEFAULT_KERNEL,
        measure=section.measure,
        unloaded=section.unloaded,
        vary=lambda point, requested: tuple(
            maker.point(values) for values in sweep.varied(values_of[point.key], requested)
        ),
    )
    _check_probes(experiment, source)
    return experiment


def _check_probes(experiment: Experiment, source: ParsedFile) -> None:
    """Add a problem to `source` for each probe that a point of `experiment` cannot have."""
    for number, probe in enumerate(experiment.probes):
        where: Path = ("experiments", experiment.name, "probes", number)
        for point in experiment.points:
            era = point.era or DEFAULT_ERA
            try:
                probe.check(Run(experiment, point, 1, point.traffic.length, era))
            except ConfigError as error:
                source.add(where, error.what, error.todo)
                break


def _duplicate_id(point: Point) -> tuple[str, str]:
    """Return what is wrong where another point has the id of `point`, and what to do."""
    what = f"two different points have the id '{point.label}/{point.place}'"
    return what, "write the values that differ as lists, or name their axis in 'id'"


def _place(source: ParsedFile, name: str, path: Path, values: Sequence[Value]) -> Path:
    """Find the place in the file of a flaw whose `path` begins with a part of a point."""
    first = path[0]
    own_path: Path = ("experiments", name, *path)
    if first in ("rig", "traffic"):
        if first == "rig" and own_path not in source.lines and path in source.lines:
            return path
        for depth in range(len(path), 1, -1):  # as far as either place is in the file
            if own_path[: depth + 2] in source.lines:
                return own_path
            if first == "rig" and path[:depth] in source.lines:
                return path
        return own_path
    sweep: Path = ("experiments", name, "sweep")
    value = {value.axis: value for value in values}.get(str(first))
    for block in (sweep, *((*sweep, number) for number in range(64))):
        items = (*block, str(first))
        for place in (*((*items, number) for number in range(64)), items):
            if value and place in source.lines and _value_at(source.value, place) == value.value:
                return place
    return (*sweep, *path) if first != "sweep" else sweep


def _value_at(value: Any, path: Path) -> Any:
    """Return the value at `path`; None where a merge (`<<`) has left lines of what it replaced."""
    try:
        for step in path:
            value = value[step]
    except (LookupError, TypeError):
        return None
    return value


def papers() -> tuple[Study, ...]:
    """Load the known studies, by name, with the user's own qdiscs (`emulation.config.own`)."""
    papers = tuple(map(load, studies.known().values()))
    own.own().check(study.name for study in papers)
    return papers


def experiments() -> tuple[Experiment, ...]:
    """Return every experiment of the known studies."""
    return tuple(experiment for study in papers() for experiment in study.experiments)


def experiment(name: str) -> Experiment:
    """Return the experiment `name`: `mine/first`, or `PATH/rrul` of the study in a folder.

    A name may also be one of several labels of an experiment, and then stands for the part with
    this label: `mine/flows_4`; or a study of one experiment. Raises `ConfigError` where there is no
    such experiment.
    """
    with suppress(studies.NoStudy):
        first, *others = load(studies.find(name)).experiments
        if not others:
            return first
        plain = name.rstrip("/")
        todo = f"write {plain}/{first.name}; 'emulate list {plain}' shows all"
        raise ConfigError(f"'{name}' is a study, not an experiment", todo=todo)
    place, _, last = name.rpartition("/")
    provenance = FilePath(studies.DATA, f"{name}.json")
    if os.path.isfile(provenance):  # noqa: PTH113 - a name may be too long for `Path.is_file`
        run = datafile.read_json(provenance)
        of = f"{run.get('paper')}/{run.get('experiment')}"
        todo = f"write {of} and choose by --link, --qdisc, --cc and --seed"
        raise ConfigError(f"'{name}' is a run, not an experiment", todo=todo)
    if not place:
        what, todo = unknown("experiment", name, [f"{study}/…" for study in studies.known()])
        if ids := list(_namesakes(name)):
            todo = f"write {' or '.join(ids)}"
        raise ConfigError(what, todo=todo)
    study = load(studies.find(place))
    by_name = all_labels(study.experiments)
    if f"{study.name}/{last}" in by_name:
        return by_name[f"{study.name}/{last}"]
    ids = [place + label.removeprefix(study.name) for label in by_name]
    what, todo = unknown("experiment", name, ids, f"'emulate list {place}' shows all")
    raise ConfigError(what, todo=todo)


def _namesakes(name: str) -> Iterator[str]:
    """Yield the ids of the experiments and labels of known studies that are called `name`."""
    for folder in studies.known().values():
        with suppress(EmulationError):  # what is wrong with another study is none of this name's
            ids = all_labels(load(folder).experiments)
            yield from (id_ for id_ in ids if id_.partition("/")[2] == name)


def labelled(experiment: Experiment, label: str) -> Experiment:
    """Return the part of an experiment whose points have `label`, which becomes its name."""
    points = tuple(point for point in experiment.points if point.label == label)
    return replace(experiment, name=label, points=points)


def all_labels(experiments: Iterable[Experiment]) -> dict[str, Experiment]:
    """Map ids to experiments, and `<study>/<label>` to the part of one with that label."""
    by_name: dict[str, Experiment] = {}
    for experiment in experiments:
        by_name[experiment.id] = experiment
        for label in experiment.labels:
            by_name.setdefault(f"{experiment.paper}/{label}", labelled(experiment, label))
    return by_name


def select(
    experiment: Experiment,
    *,
    link: str | Iterable[str] | None = None,
    qdisc: str | Iterable[str] | None = None,
    cc: str | Iterable[str] | None = None,
    seed: int | Iterable[int] | None = None,
    length: Duration | None = None,
    era: str | None = None,
    kernel: str | None = None,
    settings: Mapping[str, Sequence[Any]] | None = None,
    lacking: dict[str, KernelLacks] | None = None,
) -> tuple[Run, ...]:
    """Return the runs of `experiment` with the given values; None takes the experiment's own.

    A value need not be part of the sweep; `settings` gives values of further axes and parameters
    by name. Raises `ConfigError` for an impossible combination. Cells for which the kernel lacks
    something are put into `lacking`, where that is given.
    """
    settings = dict(settings or {})
    chosen = {
        axis: values
        for axis, argument in (("link", link), ("qdisc", qdisc), ("cc", cc))
        if (values := _texts(argument, settings.pop(axis, None))) is not None
    }
    era_settings = settings.pop("era", None)
    if era is not None and era_settings is not None:
        raise ConfigError("is given twice", "--era and --set era", "leave one of them out")
    points = _points(experiment, chosen, settings)
    seeds = experiment.seeds if seed is None else _seeds(experiment, seed)
    runs: dict[str, Run] = {}
    for point in points:
        load_length = point.traffic.length if length is None else length
        if load_length < point.traffic.step:
            what = f"length '{load_length}' is shorter than the step, '{point.traffic.step}'"
            raise ConfigError(what, experiment.id, f"give at least {point.traffic.step}")
        if load_length != point.traffic.length:
            _check_length(point, load_length)
        requested_eras = era_settings if era is None else [era]
        setter = next((axis for axis, _ in point.axes if axis == "era"), None)
        if era not in (None, point.era) and point.era is not None and setter is None:
            what = f"the sweep's axes set the era of {point.label}: {point.era}"
            raise ConfigError(what, "--era", "leave it out")
        for name in requested_eras or [point.era or DEFAULT_ERA]:
            run = Run(experiment, point, 0, load_length, str(name), kernel or experiment.kernel)
            try:
                check(run)
            except KernelLacks as error:
                if lacking is None:
                    raise
                lacking[run.cell] = error
                continue
            for number in seeds:
                seeded = replace(run, seed=number)
                runs.setdefault(seeded.id, seeded)  # points may differ by their era alone
    return tuple(runs.values())


def _check_length(point: Point, length: Duration) -> None:
    """Raise `ConfigError` where the traffic of `point` cannot have this length."""
    try:
        point.traffic.check_length(length)
    except Flaws as error:
        path, what, todo = error.flaws[0]
        raise ConfigError(f"{dotted(path)}: {what}", f"--length {length}", todo) from None


def _texts(argument: str | Iterable[str] | None, more: Sequence[Any] | None) -> list[str] | None:
    """Join the values of an axis from an argument and from settings; None where there are none."""
    if argument is None and more is None:
        return None
    texts = [argument] if isinstance(argument, str) else list(argument or ())
    return [*texts, *map(str, more or ())]


def _seeds(experiment: Experiment, seed: int | Iterable[int]) -> tuple[int, ...]:
    """Return the requested seeds without duplicates, the experiment's own first."""
    requested = (seed,) if isinstance(seed, int) else tuple(seed)
    for number in requested:
        if not 0 < number <= MOST_SEED:
            what = f"a seed of {number} is not possible"
            raise ConfigError(what, experiment.id, f"give whole numbers from 1 to {MOST_SEED}")
    own_seeds = [number for number in experiment.seeds if number in requested]
    return (*own_seeds, *dict.fromkeys(number for number in requested if number not in own_seeds))


def _points(
    experiment: Experiment, chosen: Mapping[str, list[str]], settings: Mapping[str, Sequence[Any]]
) -> tuple[Point, ...]:
    """Return the points with the chosen values, from the sweep as far as it has them."""
    chosen = {axis: [_normal_name(axis, text) for text in texts] for axis, texts in chosen.items()}
    swept = {axis: {_axis_name(point, axis) for point in experiment.points} for axis in chosen}
    new = {axis: [name for name in of if name not in swept[axis]] for axis, of in chosen.items()}
    candidates = [
        point
        for point in experiment.points
        if all(new[axis] or _axis_name(point, axis) in values for axis, values in chosen.items())
    ]
    points: dict[tuple[str, str, str], Point] = {}
    for point, requested in _of_parts(experiment, candidates, settings):
        for axis, values in chosen.items():
            if new[axis]:
                here = _axis_name(point, axis) in values and axis in dict(point.axes)
                requested[axis] = [*([dict(point.axes)[axis]] if here else []), *new[axis]]
        for derived in varied(experiment, point, requested) if requested else [point]:
            if not points.setdefault(derived.key, derived).same_setup_as(derived):
                what, todo = _duplicate_id(derived)
                raise ConfigError(what, experiment.id, todo)
    for axis, values in chosen.items() if points else ():
        there = {_axis_name(point, axis) for point in points.values()}
        there |= {str(dict(point.axes).get(axis)) for point in points.values()}  # of other names
        for value in values:
            if value not in there:
                what = f"its sweep has no {axis} '{value}' with the other values"
                raise ConfigError(what, experiment.id, "leave it out, or select it by itself")
    return tuple(points.values())


def _of_parts(
    experiment: Experiment, candidates: Sequence[Point], settings: Mapping[str, Sequence[Any]]
) -> Iterator[tuple[Point, dict[str, Sequence[Any]]]]:
    """Yield the points of the sweep that settings are for, each with these.

    Values that the sweep has choose those points that have them. Other values, and those that no
    point has together, are for all.
    """
    axes = {axis for point in experiment.points for axis, _ in point.axes} & settings.keys()
    swept = {pair for point in experiment.points for pair in _meanings(point, axes)}
    others = {axis: values for axis, values in settings.items() if axis not in axes}
    for combination in product(*(settings[axis] for axis in sorted(axes))):
        asked = dict(zip(sorted(axes), combination, strict=True))
        pairs = {(axis, meaning(value)) for axis, value in asked.items()} & swept
        fitting = [point for point in candidates if pairs <= _meanings(point, axes)]
        for point in fitting or candidates:
            yield point, {**others, **{axis: [value] for axis, value in asked.items()}}


def _meanings(point: Point, axes: Set[str]) -> set[tuple[str, Any]]:
    return {(axis, meaning(text)) for axis, text in point.axes if axis in axes}


def varied(
    experiment: Experiment, point: Point, requested: Mapping[str, Sequence[Any]]
) -> tuple[Point, ...]:
    """Return the points that differ from `point` by the requested values."""
    if experiment.vary is None:
        raise ConfigError("has no sweep to vary", experiment.id, "choose among its points")
    try:
        return experiment.vary(point, requested)
    except Flaws as error:
        path, what, todo = error.flaws[0]
        where = _option(path, requested) or f"{experiment.id}: {dotted(path)}"
        raise ConfigError(what, where, todo) from None


def _option(path: Path, requested: Mapping[str, Sequence[Any]]) -> str:
    """Return the command-line option that a flaw is about; empty where there is none."""
    for axis, values in requested.items():
        steps = tuple(axis.split("."))
        if axis == path[0] or tuple(map(str, path))[: len(steps)] == steps:
            option = f"--{axis} " if axis in ("link", "qdisc", "cc") else f"--set {axis}="
            return option + str(values[0])
    return ""


def _axis_name(point: Point, axis: str) -> str:
    """Return the name that the id of a point has for its value of an axis."""
    return {"link": point.link.name, "qdisc": point.qdisc, "cc": point.cc}[axis]


def _normal_name(axis: str, text: str) -> str:
    """Return the name of a link, however the user writes it; other values as they are."""
    if axis != "link" or text == NONE:
        return text
    try:
        return link(text).name
    except Flaws as error:
        _, what, todo = error.flaws[0]
        raise ConfigError(what, "--link", todo) from None


def check(run: Run) -> None:
    """Raise `ConfigError` for an unknown era and for eras of nodes that exclude each other, and
    `Lacking` for qdiscs, congestion controls and settings that the kernel lacks."""
    where = run.experiment_id
    try:
        common = _global(run.switches)
        for node, era in run.rig.eras:
            if _global(run.switches_of(node)) != common:
                what = f"'{node}' has the era '{era}', other nodes '{run.era}'"
                differ = sorted(_global(run.switches_of(node)) ^ common)
                todo = f"choose eras that agree in switches of the whole guest: {', '.join(differ)}"
                raise ConfigError(what, where, todo)
        topology = run.topology
    except ValueError as error:
        what, _, todo = str(error).partition("; ")
        raise ConfigError(what, where, todo) from None
    if not topology.nodes and (run.switches or run.cc != NONE):
        what = f"has no host that could have the era '{run.era}' or a congestion control"
        raise ConfigError(what, where, "leave --era and --cc out")
    job.clock(run, topology)
    if run.kernel not in recipe.all_series():
        return  # what a kernel of the user's own has is not known
    topology = run.point.topology()  # without qdiscs from modules of an era
    kinds = {qdisc.kind for qdisc in topology.qdiscs() if qdisc.module is None}
    controls = run.controls - {control.name for control in run.own_controls}
    if lacking := features.lacking(run.kernel, kinds, controls):
        all_series = recipe.all_series()
        fit = [other for other in all_series if not features.lacking(other, kinds, controls)]
        hints = [own.own().outside(run.experiment.paper, name) for name in lacking]
        hints += [f"choose the kernel {' or '.join(fit)}"] if fit else []
        if controls.intersection(lacking):
            hints.append(f"choose from {', '.join(features.controls(run.kernel))}")
        todo = next(filter(None, [*hints, "choose another qdisc"]))
        raise KernelLacks(f"Linux {run.kernel} here has no {', '.join(lacking)}", where, todo)
    of_nodes = (settings.items() for settings in run.rig.node_sysctls.values())
    for settings in (run.rig.sysctls, *of_nodes):
        for name, value in settings:
            since = sysctls.releases(name, value)
            if not recipe.in_range(run.kernel, since):
                fit = [other for other in recipe.all_series() if recipe.in_range(other, since)]
                todo = f"choose the kernel {' or '.join(fit)}"
                raise KernelLacks(f"Linux {run.kernel} has no {name} = {value}", where, todo)


def _global(switches: Iterable[eras.Switch]) -> frozenset[str]:
    """Return the names of the switches that affect all nodes of a guest."""
    return frozenset(switch.name for switch in switches if switch.parameters or switch.module)
