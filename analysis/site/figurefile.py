"""A figure is a notebook and a parameter file, `studies/<paper>/figures/<figure>.yaml`.

The notebook is one of the study, in its folder `notebooks`, or of the repository.

Keys: `notebook`, `title`, `caption`, `parameters`. The parameters are those of papermill; of them
these also say which runs the figure needs, the product of

- `experiment`, or `experiments`, a mapping of what is shown to experiments;
- `link`, or `links`, or a mapping of experiments to several links where they differ;
- `qdiscs`, or a mapping of experiments to qdiscs where they differ;
- `eras` and `ccs`; the first era and the first congestion control are the paper's. The
  eras `switches` are all that differ from another by one switch of `emulation.model.era`.

Three more may be left out. `section` is the heading below which the page of its study shows it;
without one it stands for a figure of the paper, and its printed values count. `without` has by era
what the figure does not show of it: a list of qdiscs, as cake of a kernel that had none, or a
mapping of experiments to links. `claims` lists where its claims stand beside the figure itself:
sections, other figures, and ids of claims that rest on runs of other figures.

`length` is that of the load where it is not the experiments' own, or a mapping of experiments to
lengths, and `probe`, a text or a list of several, what is recorded beside the runs
(`emulation.kinds.probes.probe`). `unloaded` names the experiment that gives what the others are
divided by, with UNLOADED_QDISC. A figure of measurements that are no runs has `paper` and `table`,
a file of the study's folder or below the data root. A list of several qdiscs is longer by those of
the user's own (`qdisc/own.yaml`).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from keyword import iskeyword
from pathlib import Path
from typing import Any, Final, NamedTuple

from qdisclab.analysis.errors import DataError, kind_of, refused
from qdisclab.analysis.measures.registry import UNLOADED_QDISC
from qdisclab.analysis.runs.dataset import cells_of
from qdisclab.analysis.runs.settings import eras_of
from qdisclab.analysis.runs.statement import read_claims
from qdisclab.analysis.runs.study import study_at
from qdisclab.analysis.site.parameters import NOTEBOOKS, TAKEN, TEXT, TEXTS
from qdisclab.analysis.sources import check_notebook
from qdisclab.emulation.config.ownfile import names
from qdisclab.emulation.errors import ConfigError, printable
from qdisclab.emulation.study import studies
from qdisclab.emulation.study.schema import unknown
from qdisclab.emulation.study.source import ParsedFile

KEYS: Final = ("notebook", "title", "caption", "parameters")
DATA_KEYS: Final = ("paper", "experiment", "link", "qdiscs", "eras", "ccs")
AXES: Final = ("link", "qdisc", "era", "cc")
SEVERAL: Final = {"experiment": "experiments", "link": "links"}  # the key in place of another
SWITCHES: Final = "switches"
NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,100}")  # of a figure, a folder; of a notebook

Without = Sequence[str] | Mapping[str, Sequence[str]]
"""Qdiscs, or by experiment links, of which an era is not shown."""


class Cell(NamedTuple):
    """One point of a sweep, all of whose runs belong to the figure; their `RunFile.cell`."""

    paper: str
    experiment: str
    era: str
    link: str  # "10/1"
    qdisc: str
    cc: str
    length: str = ""  # of the load; empty: the experiment's own


@dataclass(frozen=True)
class FigureFile:
    """One parameter file, checked."""

    path: Path
    notebook: Path
    title: str
    caption: str
    parameters: dict[str, Any]
    without: Mapping[str, Without] = field(default_factory=dict)  # by era
    places: tuple[str, ...] = ()  # of its claims, beside its own
    section: str = ""  # of the page of its study

    @property
    def name(self) -> str:
        """`mine/latency`: also the folder of its results."""
        return f"{self.parameters['paper']}/{self.path.stem}"

    @property
    def study(self) -> Path:
        """The folder of the study that it belongs to."""
        return self.path.parents[1]

    @property
    def probes(self) -> tuple[str, ...]:
        """What is recorded beside its runs."""
        given = self.parameters.get("probe", ())
        return (given,) if isinstance(given, str) else tuple(given)

    @property
    def claims(self) -> list[str]:
        """Where the statements stand that it is about (`verdicts.of_places`)."""
        own = str(self.parameters.get("figure", ""))
        return [*self.places, *([f"Fig. {own}" if own[:1].isdigit() else own] if own else [])]

    @property
    def ablation(self) -> bool:
        """Whether it compares eras that differ by one switch, and so needs all of them."""
        return self.parameters.get("eras") == SWITCHES

    def cells(self) -> list[Cell]:
        """Return the cells that the figure needs, in the order of the file; none for a table."""
        if "table" in self.parameters:
            return []
        paper, qdiscs = self.parameters["paper"], self.parameters["qdiscs"]
        loads = [
            (experiment, link, qdisc)
            for experiment in _several(self.parameters, "experiment")
            for link in self._links(experiment)
            for qdisc in (qdiscs[experiment] if isinstance(qdiscs, dict) else qdiscs)
        ]
        if "unloaded" in self.parameters:
            unloaded = self.parameters["unloaded"]
            links = _several(self.parameters, "link")
            loads += [(unloaded, link, UNLOADED_QDISC) for link in links]
        return [
            Cell(paper, experiment, era, link, qdisc, cc, self._length(experiment))
            for cc in self.parameters["ccs"]
            for experiment, link, qdisc in loads
            for era in self._eras(experiment, link, qdisc)
        ]

    def _length(self, experiment: str) -> str:
        length = self.parameters.get("length", "")
        return str(length.get(experiment, "") if isinstance(length, dict) else length)

    def _links(self, experiment: str) -> list[str]:
        links = self.parameters.get("links")
        if isinstance(links, dict) and experiment in links:
            return list(links[experiment])
        return _several(self.parameters, "link")

    def _eras(self, experiment: str, link: str, qdisc: str) -> list[str]:
        if self.ablation:
            return eras_of(qdisc)

        def shown(era: str) -> bool:
            without = self.without.get(era, ())
            if isinstance(without, Mapping):
                return link not in without.get(experiment, ())
            return qdisc not in without

        return [era for era in self.parameters["eras"] if shown(era)]


def read_figure(path: Path) -> FigureFile:
    """Read a parameter file.

    Raises DataError when it is missing, not YAML, has unknown or lacks required keys or has values
    of another kind, or names a notebook that does not exist or cannot be run.
    """
    remedy = "Compare it with the other files in its folder"
    if not path.exists():
        raise DataError.of(path, "no such file", "The folder `figures` of a study has them")
    if not NAME.fullmatch(path.stem):
        wrong = f"{printable(path.stem)[:80]!r} is not a name for a figure"
        raise DataError.of(path.parent, wrong, "Use letters of ASCII, digits, - and _")
    with refused(path, "{0.what}", remedy, ConfigError):
        source = ParsedFile.of(path)
    if source.problems:
        raise DataError.of(path, str(source.problems[0]), remedy)
    content = source.value
    if wrong := next(_faults(content), ""):
        raise DataError.of(path, wrong, remedy)
    parameters = content["parameters"]
    study = path.resolve().parents[1].name
    if parameters["paper"] != study:
        wrong = f"is of the paper '{parameters['paper']}', its study is '{study}'"
        raise DataError.of(path, wrong, f"Write paper: {study}")
    if wrong := next(_outside(path.parents[1], content), ""):
        raise DataError.of(path, wrong, "Copy it into the study's folder")
    name = f"{content['notebook']}.ipynb"
    # Of a study of the repository as its path says it, which the workflow compares.
    beside = path.parents[1].parent.parent / "notebooks"
    shared = beside if beside.resolve() == NOTEBOOKS.resolve() else NOTEBOOKS
    places = (folder / name for folder in (path.parents[1] / "notebooks", shared))
    notebook = next((place for place in places if place.is_file()), None)
    if notebook is None:
        raise DataError.of(path, f"names the notebook {name}, which does not exist", remedy)
    check_notebook(notebook)
    return FigureFile(
        path,
        notebook,
        content["title"],
        content["caption"].strip(),
        _with_own(parameters),
        content.get("without", {}),
        tuple(content.get("claims", ())),
        content.get("section", ""),
    )


def check_values(figure: FigureFile, root: Path) -> None:
    """Raise DataError for a value that the study of `figure` does not know.

    That is a place without a claim, a file of published values that is not there, or an experiment,
    link, qdisc, era or congestion control that no run below `root` has either. A cell without a run
    is left out of the figure.
    """
    _check_places(figure)
    name = figure.parameters.get("published_values")
    if name and not (figure.study / "published" / name).is_file():
        wrong = f"published_values: there is no published/{name}"
        raise DataError.of(figure.path, wrong, 'Correct the name, or write "" for none')
    seen: set[tuple[str, str, str]] = set()
    cells = figure.cells()
    there = {paper: cells_of(root, paper) for paper in {cell.paper for cell in cells}}
    for cell in cells:
        values = {(cell.experiment, axis, getattr(cell, axis)) for axis in AXES}
        if not values <= seen and cell not in there[cell.paper]:
            own = cell.paper == figure.study.name
            study = study_at(figure.study if own else cell.paper)
            axes = {axis: getattr(cell, axis) for axis in AXES}
            if flaw := study.flaw(cell.experiment, **axes):
                what, todo = flaw
                gone = study.experiments and cell.experiment not in study.experiments
                more = "; a figure of an experiment that is gone can be removed" if gone else ""
                raise DataError.of(figure.path, what, todo + more)
        seen |= values


def _check_places(figure: FigureFile) -> None:
    claims = read_claims(study_at(figure.study)) if figure.places else []
    for place in figure.places:
        if not any(claim.stands_in(place) for claim in claims):
            names = dict.fromkeys(name for of in claims for name in (of.section, of.figure) if name)
            what, todo = unknown("place of claims", place, names, look="claims.csv has all")
            raise DataError.of(figure.path, what, todo)


def _faults(content: Any) -> Iterator[str]:
    """Yield what is missing or of another kind than the module's docstring says, by its key."""
    if not isinstance(content, dict) or set(content) - {"without", "claims", "section"} != set(
        KEYS
    ):
        given = sorted(map(str, content)) if isinstance(content, dict) else content
        yield f"has the keys {given}, not {sorted(KEYS)}"
        return
    parameters = content["parameters"]
    if not isinstance(parameters, dict):
        yield f"parameters: is {parameters!r}, not a mapping"
        return
    odd = [str(key) for key in parameters if not str(key).isidentifier() or iskeyword(str(key))]
    # papermill writes them unchanged in front of the notebook's code.
    yield from (f"parameters: {key[:40]!r} is not the name of a parameter" for key in odd)
    for key in ("notebook", "title", "caption"):
        yield from _unlike(key, content[key], TEXT)
    for key in TAKEN.keys() & parameters.keys():
        if (key, parameters[key]) != ("eras", SWITCHES):
            yield from _unlike(key, parameters[key], TAKEN[key])
    if not NAME.fullmatch(str(content["notebook"])):  # of a hidden folder nobody was asked about
        yield f"notebook: {content['notebook']!r} is not its name alone, without folder and .ipynb"
    yield from _unlike("claims", content.get("claims", ["-"]), TEXTS)
    yield from _unlike("section", content.get("section", "-"), TEXT)
    yield from _left_out(content)
    needed = ("paper",) if "table" in parameters else DATA_KEYS
    missing = [key for key in needed if not {key, SEVERAL.get(key)} & set(parameters)]
    if missing:
        yield f"parameters lack {', '.join(missing)}"
    elif "table" not in parameters:
        yield from _lacking(parameters)


def _unlike(key: str, value: Any, kinds: Sequence[str]) -> Iterator[str]:
    """Yield that `value` is of none of `kinds`, or empty."""
    if kind_of(value) not in kinds or not str(value).strip() or not value:
        yield f"{key}: is {value!r}, not a {' or '.join(kinds)}"


def _left_out(content: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with `without`."""
    without, eras = content.get("without", {}), content["parameters"].get("eras", [])
    if not isinstance(without, dict):
        yield f"without: is {without!r}, not a mapping of eras to qdiscs"
        return
    for era, left in without.items():
        if era not in eras:
            yield f"without: {era!r} is not one of its eras"
        by_experiment = left if isinstance(left, dict) else {}
        for name in by_experiment.keys() - set(_several(content["parameters"], "experiment")):
            yield f"without: {era}: {name!r} is not one of its experiments"
        for values in by_experiment.values() if by_experiment else [left]:
            yield from _unlike(f"without: {era}", values, TEXTS)


def _several(parameters: Mapping[str, Any], key: str) -> list[Any]:
    """Return the values of a key, of which there may be SEVERAL."""
    several = [parameters[key]] if key in parameters else parameters.get(SEVERAL[key], ())
    return list(several.values() if isinstance(several, dict) else several)


def _outside(study: Path, content: Mapping[str, Any]) -> Iterator[str]:
    """Yield which files of the figure are none of the study or of the data, by their keys."""
    for key, folder in (("published_values", "published/"), ("table", "")):
        try:
            studies.inside(study, f"{folder}{content['parameters'].get(key, '')}")
        except ConfigError as error:
            yield f"{key}: {error.what}"


def _lacking(parameters: Mapping[str, Any]) -> Iterator[str]:
    """Yield which experiments a mapping of experiments lacks, and what in it is none of them."""
    names = _several(parameters, "experiment")
    for name in names:
        for key in ("qdiscs", *(() if "link" in parameters else ("links",))):
            by_experiment = parameters.get(key)
            if isinstance(by_experiment, dict) and name not in by_experiment:
                yield f"{key}: has none of the experiment {name}"
    for key in ("qdiscs", "links", "length"):
        by_experiment = parameters.get(key)
        for name in by_experiment if isinstance(by_experiment, dict) else ():
            if name not in (*names, parameters.get("unloaded")):
                yield f"{key}: {'. '.join(unknown('experiment', name, names))}"


def _with_own(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return `parameters` with the user's own qdiscs (`qdisc/own.yaml`) behind the paper's."""
    named = parameters.get("qdiscs", [])
    switched = parameters.get("eras") == SWITCHES  # which are Linux's
    if not isinstance(named, list) or len(named) < 2 or switched:
        return parameters
    more = [name for name in names(parameters["paper"]) if name not in named]
    return {**parameters, "qdiscs": [*named, *more]}
