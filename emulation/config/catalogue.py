"""Study files: strict YAML, read into the frozen values of `emulation.model.run`.

A file is accepted whole or refused with every problem that it has, each with file, line and key.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path as FilePath
from typing import Any

from emulation.config import own
from emulation.config.job import clock
from emulation.config.studyfile import StudyFile
from emulation.config.sweep import Sweep, link
from emulation.errors import ConfigError, KernelBuildError
from emulation.kernel import module, recipe
from emulation.model import era as eras
from emulation.model.axis import Value
from emulation.model.run import (
    DEFAULT_ERA,
    DEFAULT_KERNEL,
    NONE,
    Experiment,
    Fixed,
    Point,
    Run,
    Study,
)
from emulation.model.units import Duration
from emulation.study import studies
from emulation.study.problems import validated
from emulation.study.schema import Flaws, unknown
from emulation.study.source import Path, Source, dotted

#: Of an experiment; the largest that ships has 124.
MOST_POINTS = 10_000


def load(path: FilePath) -> Study:
    """Read a study file, or that of a folder; raise `ConfigError` with all its problems."""
    path = path / studies.FILE if path.is_dir() else path
    try:
        changed = path.stat().st_mtime_ns
    except OSError as error:
        what = f"cannot be read: {error.strerror}"
        raise ConfigError(what, str(path), "name a readable study file") from None
    joining = own.own()
    return _load(path, changed, joining)


@lru_cache(maxsize=32)
def _load(path: FilePath, changed: int, joining: own.Own) -> Study:
    source = Source.of(path)
    file = validated(source, StudyFile, "format")
    study = None
    if file is not None and path.name == studies.FILE and file.study != path.parent.name:
        what = f"'{file.study}' lies in a folder called '{path.parent.name}'"
        source.problems.append(source.problem(("study",), what, "give both one name"))
    if file is not None and not source.problems:
        file, names = joining.joined(file)
        study = _study(file, source, path.parent, names)
    if study is None or source.problems:
        raise ConfigError.of(str(path), source.problems)
    return study


def _study(
    file: StudyFile, source: Source, folder: FilePath, joining: Sequence[str]
) -> Study | None:
    """The study; None, with the problems in `source`, where sections do not go together."""
    for name, section in file.links.items():
        right = f"{section.down.mbit_per_s:g}/{section.up.mbit_per_s:g}"
        if name != right:
            what = f"is named '{name}' and has the rates {right}"
            source.problems.append(source.problem(("links", name), what, f"name it '{right}'"))
    for name, qdisc in file.qdiscs.items():
        if qdisc.module is not None:
            try:
                if name not in joining:  # those of `own.yaml` lie where its user says
                    studies.inside(folder, qdisc.module)
                module.source(folder / qdisc.module)
            except (KernelBuildError, ConfigError) as error:
                where: Path = ("qdiscs", name, "module")
                source.problems.append(source.problem(where, error.what, error.todo))
    for name, section_ in file.experiments.items():
        if section_.unloaded is not None and section_.unloaded not in file.experiments:
            where = ("experiments", name, "unloaded")
            what, todo = unknown("experiment", section_.unloaded, file.experiments)
            source.problems.append(source.problem(where, what, todo))
    source.problems += [source.problem(*flaw) for flaw in Sweep.check_names(file)]
    if source.problems:
        return None
    found = [_experiment(file, name, source, folder, joining) for name in file.experiments]
    if source.problems:
        return None
    experiments = tuple(one for one in found if one is not None)
    _apart(experiments, source)
    if source.problems:
        return None
    fixed = Fixed(**dict(file.fixed)) if file.fixed else Fixed()
    return Study(file.study, file.title, file.doi, experiments, file.source, file.address, fixed)


def _apart(experiments: Iterable[Experiment], source: Source) -> None:
    """Add a problem to `source` where experiments have a point's id or a name in common."""
    owners: dict[tuple[str, str, str], str] = {}
    names = {one.name for one in experiments}
    for one in experiments:
        shared = {owners.setdefault(point.key, one.name) for point in one.points} - {one.name}
        shared |= names.intersection(one.labels) - {one.name}
        for other in sorted(shared):
            what = f"has ids of '{other}', too: their runs would be taken for each other"
            where: Path = ("experiments", one.name)
            source.problems.append(source.problem(where, what, "write another 'id' in one of them"))


def _experiment(
    file: StudyFile, name: str, source: Source, folder: FilePath, joining: Sequence[str]
) -> Experiment | None:
    sweep = Sweep(file, name, folder, joining)
    section = sweep.section
    problems = []
    points: dict[tuple[str, str, str], Point] = {}
    made_of: dict[tuple[str, str, str], list[Value]] = {}
    try:
        sweep.check_axes()
        if sweep.size > MOST_POINTS:
            what = f"has {sweep.size} points, more than {MOST_POINTS}"
            raise Flaws((("sweep",), what, "make several experiments of it"))
        for values in sweep.products():
            try:
                point = sweep.point(values)
                made_of.setdefault(point.key, values)
                if not points.setdefault(point.key, point).does_as(point):
                    raise Flaws((("sweep",), *_twice(point)))
            except Flaws as error:
                problems += [
                    source.problem(_place(source, name, path, values), what, todo)
                    for path, what, todo in error.flaws
                ]
    except Flaws as error:
        problems += [
            source.problem(("experiments", name, *path), what, todo)
            for path, what, todo in error.flaws
        ]
    labels = {point.label for point in points.values()}
    if name in labels and len(labels) > 1:
        what = (
            f"is the label of some of its points, others have {', '.join(sorted(labels - {name}))}"
        )
        todo = "give the experiment another name, so that a name means one thing"
        problems.append(source.problem(("experiments", name), what, todo))
    if problems:
        known = dict.fromkeys(source.problems)  # many points and experiments have the same ones
        source.problems += [one for one in dict.fromkeys(problems) if one not in known]
        return None
    return Experiment(
        paper=file.study,
        name=name,
        title=section.title,
        section=section.section,
        folder="" if folder.parent == studies.SHIPPED else str(folder),
        points=tuple(points.values()),
        seeds=tuple(range(1, section.repetitions + 1)),
        restores=tuple(section.restores),
        measure=section.measure,
        unloaded=section.unloaded,
        vary=lambda point, asked: tuple(
            sweep.point(values) for values in sweep.varied(made_of[point.key], asked)
        ),
    )


def _twice(point: Point) -> tuple[str, str]:
    """What is wrong with a point that has another one's id, and what to do."""
    what = f"two points that differ have the id '{point.label}/{point.place}'"
    return what, "write the values that differ as lists, or name their axis in 'id'"


def _place(source: Source, name: str, path: Path, values: Sequence[Value]) -> Path:
    """Where in the file a flaw of a point is: `path` begins with a part of the point."""
    first = path[0]
    own_path: Path = ("experiments", name, *path)
    if first in ("rig", "traffic"):
        if first == "rig" and own_path not in source.lines and path in source.lines:
            return path
        for depth in range(len(path), 1, -1):  # as far as either of the two knows the way
            if own_path[: depth + 2] in source.lines:
                return own_path
            if first == "rig" and path[:depth] in source.lines:
                return path
        return own_path
    sweep: Path = ("experiments", name, "sweep")
    index = {one.axis: one for one in values}.get(str(first))
    for place in (sweep, *((*sweep, number) for number in range(64))):
        if index is not None and (*place, str(first)) in source.lines:
            items = (*place, str(first))
            for number in range(64):
                line = (*items, number)
                if line not in source.lines:
                    break
                if _at(source.value, line) == index.value:
                    return line
            if _at(source.value, items) == index.value:
                return items
    return (*sweep, *path) if first != "sweep" else sweep


def _at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def studies_of(names: Iterable[str | FilePath] = ()) -> tuple[Study, ...]:
    """The studies of these names and folders, or those that are known."""
    folders = [studies.find(name) for name in names] or list(studies.known().values())
    return tuple(load(folder) for folder in folders)


def papers() -> tuple[Study, ...]:
    """The known studies, by name, with the user's own qdiscs (`emulation.config.own`)."""
    found = studies_of()
    own.own().check(study.name for study in found)
    return found


def experiments() -> tuple[Experiment, ...]:
    """Every experiment of the shipped studies."""
    return tuple(experiment for study in papers() for experiment in study.experiments)


def experiment(name: str) -> Experiment:
    """The experiment `name`: `gbw2015/rrul`, or `PATH/rrul` of the study in a folder.

    Where a sweep gives its points several labels, such a label is the name of the experiment with
    these points alone: `khademi2013/flows_4`. Raises `ConfigError` where there is none.
    """
    if (found := _study_called(name)) is not None:
        listed = f"write {name}/{found.experiments[0].name}; 'emulate list {name}' shows all"
        raise ConfigError(f"'{name}' is a study, not an experiment", todo=listed)
    place, _, last = name.rpartition("/")
    if not place:
        known = list(studies.known())
        what, todo = unknown("experiment", name, [f"{one}/…" for one in known])
        raise ConfigError(what, todo=todo)
    study = load(studies.find(place))
    for one in study.experiments:
        if one.name == last:
            return one
    for one in study.experiments:
        if last in one.labels:
            return labelled(one, last)
    names = [label for one in study.experiments for label in (one.name, *one.labels)]
    ids = [f"{place}/{one}" for one in dict.fromkeys(names)]
    what, todo = unknown("experiment", name, ids, f"'emulate list {place}' shows all")
    raise ConfigError(what, todo=todo)


def _study_called(name: str) -> Study | None:
    """The study that `name` stands for; None where it names none."""
    try:
        return load(studies.find(name))
    except studies.NoStudy:
        return None


def labelled(experiment: Experiment, label: str) -> Experiment:
    """The part of an experiment whose points have that label, under its name."""
    points = tuple(point for point in experiment.points if point.label == label)
    return replace(experiment, name=label, points=points)


def all_labels(found: Iterable[Experiment]) -> dict[str, Experiment]:
    """Experiments by id, each also by the labels of its points."""
    known: dict[str, Experiment] = {}
    for one in found:
        known[one.id] = one
        for label in one.labels:
            known.setdefault(f"{one.paper}/{label}", labelled(one, label))
    return known


def select(
    experiment: Experiment,
    *,
    link: str | Iterable[str] | None = None,
    qdisc: str | Iterable[str] | None = None,
    cc: str | Iterable[str] | None = None,
    seed: int | Iterable[int] | None = None,
    length: Duration | None = None,
    era: str | None = None,
    kernel: str = DEFAULT_KERNEL,
    settings: Mapping[str, Sequence[Any]] | None = None,
) -> tuple[Run, ...]:
    """The runs of `experiment` with the given values; None takes all, or the experiment's own.

    A value may be one that the sweep does not have; `settings` gives values of further axes and
    parameters by name. Raises `ConfigError` for what cannot be.
    """
    settings = dict(settings or {})
    chosen = {
        axis: values
        for axis, given in (("link", link), ("qdisc", qdisc), ("cc", cc))
        if (values := _several(given, settings.pop(axis, None))) is not None
    }
    eras_given = settings.pop("era", None)
    if era is not None and eras_given is not None:
        raise ConfigError("is given twice", "--era and --set era", "leave one of the two")
    points = _points(experiment, chosen, settings)
    seeds = experiment.seeds if seed is None else _seeds(experiment, seed)
    runs: dict[str, Run] = {}
    for point in points:
        spans = point.traffic.length if length is None else length
        if spans < point.traffic.step:
            what = f"length '{spans}' is shorter than the step, '{point.traffic.step}'"
            raise ConfigError(what, experiment.id, f"give at least {point.traffic.step}")
        if spans != point.traffic.length:
            _check_length(point, spans)
        asked_eras = eras_given if era is None else [era]
        setter = next((axis for axis, _ in point.axes if axis == "era"), None)
        if era not in (None, point.era) and point.era is not None and setter is None:
            what = f"the sweep's axes set the era of {point.label}: {point.era}"
            raise ConfigError(what, "--era", "leave it out")
        for one in asked_eras or [point.era or DEFAULT_ERA]:
            run = Run(experiment, point, 0, spans, str(one), kernel)
            _check(run)
            for number in seeds:
                seeded = replace(run, seed=number)
                runs.setdefault(seeded.id, seeded)  # points may differ by their era alone
    return tuple(runs.values())


def recorded(told: Mapping[str, Any], known: Mapping[str, Experiment] | None = None) -> Run:
    """The run that a provenance tells of, as it would be done today.

    `known`: experiments by id (`all_labels`), where somebody has read them already. Raises
    `ConfigError` where there is no such run any more.
    """
    try:
        return _recorded(told, known)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        what = f"is no provenance of a run ({type(error).__name__}: {error})"
        raise ConfigError(what, str(told.get("run", ""))[:200], "do the run again") from error


def _recorded(told: Mapping[str, Any], known: Mapping[str, Experiment] | None) -> Run:
    name = f"{told['paper']}/{told['experiment']}"
    source = known[name] if known and name in known else experiment(name)
    axes = {axis: told[axis] for axis in ("link", "qdisc", "cc") if told[axis] != NONE}
    axes |= {axis: text for axis, text in told.get("axes", {}).items() if axis in axes}
    runs = select(
        source,
        **axes,
        seed=told["seed"],
        length=Duration(round(told["length_s"] * 10**9)),
        era=told["era"],
        kernel=told["identity"]["kernel"]["series"],
        settings={axis: [value] for axis, value in told.get("settings", {}).items()},
    )
    for run in runs:
        if run.id == told["run"]:
            return run
    raise ConfigError("no experiment has this run any more", told["run"], "do it again")


def _check_length(point: Point, length: Duration) -> None:
    """Raise `ConfigError` where the traffic of `point` cannot have that length."""
    try:
        point.traffic.check_length(length)
    except Flaws as error:
        path, what, todo = error.flaws[0]
        raise ConfigError(f"{dotted(path)}: {what}", f"--length {length}", todo) from None


def _several(given: str | Iterable[str] | None, more: Sequence[Any] | None) -> list[str] | None:
    if given is None and more is None:
        return None
    found = [given] if isinstance(given, str) else list(given or ())
    return [*found, *map(str, more or ())]


def _seeds(experiment: Experiment, seed: int | Iterable[int]) -> tuple[int, ...]:
    found = (seed,) if isinstance(seed, int) else tuple(seed)
    for one in found:
        if not 0 < one < 10**6:
            what = f"a seed of {one} is not possible"
            raise ConfigError(what, experiment.id, "give whole numbers from 1 to 999999")
    known = [one for one in experiment.seeds if one in found]
    return (*known, *dict.fromkeys(one for one in found if one not in known))


def _points(
    experiment: Experiment, chosen: Mapping[str, list[str]], settings: Mapping[str, Sequence[Any]]
) -> tuple[Point, ...]:
    """The points with the chosen values, from the sweep as far as it has them."""
    chosen = {axis: [_named(axis, one) for one in values] for axis, values in chosen.items()}
    known = {axis: {_part(point, axis) for point in experiment.points} for axis in chosen}
    new = {
        axis: [one for one in values if one not in known[axis]] for axis, values in chosen.items()
    }
    found: dict[tuple[str, str, str], Point] = {}
    for point in experiment.points:
        asked: dict[str, Sequence[Any]] = dict(settings)
        for axis, values in chosen.items():
            here = _part(point, axis) in values
            if new[axis]:
                own = [dict(point.axes)[axis]] if here and axis in dict(point.axes) else []
                asked[axis] = [*own, *new[axis]]
            elif not here:
                break
        else:
            for one in _varied(experiment, point, asked) if asked else [point]:
                if not found.setdefault(one.key, one).does_as(one):
                    what, todo = _twice(one)
                    raise ConfigError(what, experiment.id, todo)
    return tuple(found.values())


def _varied(
    experiment: Experiment, point: Point, asked: Mapping[str, Sequence[Any]]
) -> tuple[Point, ...]:
    """The points that differ from `point` by the values asked for."""
    if experiment.vary is None:
        raise ConfigError("has no sweep to vary", experiment.id, "choose among its points")
    try:
        return experiment.vary(point, asked)
    except Flaws as error:
        path, what, todo = error.flaws[0]
        raise ConfigError(
            what, _option(path, asked) or f"{experiment.id}: {dotted(path)}", todo
        ) from None


def _option(path: Path, asked: Mapping[str, Sequence[Any]]) -> str:
    """The option of the command line that a flaw is about; empty where it is none."""
    for axis, values in asked.items():
        steps = tuple(axis.split("."))
        if axis == path[0] or (
            steps[0] == path[0] and tuple(map(str, path))[: len(steps)] == steps
        ):
            given = f"--{axis} " if axis in ("link", "qdisc", "cc") else f"--set {axis}="
            return given + str(values[0])
    return ""


def _part(point: Point, axis: str) -> str:
    """What the id of a point says of an axis."""
    return {"link": point.link.name, "qdisc": point.qdisc, "cc": point.cc}[axis]


def _named(axis: str, text: str) -> str:
    """A link as it is named, however somebody writes it."""
    if axis != "link" or text == NONE:
        return text
    try:
        return link(text).name
    except Flaws as error:
        _, what, todo = error.flaws[0]
        raise ConfigError(what, "--link", todo) from None


def _check(run: Run) -> None:
    """Raise `ConfigError` for an era that there is not, or that nodes cannot have side by side,
    and for what the kernel lacks."""
    where = run.experiment_id
    try:
        common = _global(run.switches)
        for node, era in run.rig.eras:
            if _global(run.switches_of(node)) != common:
                what = f"'{node}' has the era '{era}', other nodes '{run.era}'"
                differ = sorted(_global(run.switches_of(node)) ^ common)
                todo = f"choose eras that agree in what a guest has as a whole: {', '.join(differ)}"
                raise ConfigError(what, where, todo)
    except ValueError as error:
        what, _, todo = str(error).partition("; ")
        raise ConfigError(what, where, todo) from None
    if not run.topology.nodes and (run.switches or run.cc != NONE):
        what = f"has no host that could have the era '{run.era}' or a congestion control"
        raise ConfigError(what, where, "leave --era and --cc out")
    clock(run, run.topology)
    if not recipe.is_series(run.kernel):
        return  # a kernel of the user's own has what it has
    topology = run.point.topology()  # without what modules of an era bring
    attached = (one.qdisc for port in topology.ports() for one in port.egress.attached())
    kinds = {one.kind for one in attached if one.module is None}
    controls = {run.cc} - {NONE}
    lacking = recipe.lacking(run.kernel, kinds, controls)
    if lacking:
        having = [one for one in recipe.all_series() if not recipe.lacking(one, kinds, controls)]
        todo = "choose another qdisc"
        if having:
            todo = f"choose the kernel {' or '.join(having)}"
        elif run.cc in lacking:
            todo = f"choose from {', '.join(recipe.controls(run.kernel))}"
        raise ConfigError(f"Linux {run.kernel} here has no {', '.join(lacking)}", where, todo)


def _global(switches: Iterable[eras.Switch]) -> frozenset[str]:
    """The switches that hold for all nodes of a guest."""
    return frozenset(one.name for one in switches if one.parameters or one.module)
