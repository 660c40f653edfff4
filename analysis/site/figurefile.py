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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from keyword import iskeyword
from pathlib import Path
from typing import Any, Final, NamedTuple

from qdisclab.analysis.claims.record import stands_in
from qdisclab.analysis.errors import DataError
from qdisclab.analysis.measures.registry import UNLOADED_QDISC
from qdisclab.analysis.runs.dataset import cells_of
from qdisclab.analysis.runs.settings import eras_of
from qdisclab.analysis.runs.statement import read_claims
from qdisclab.analysis.runs.study import study_at
from qdisclab.analysis.site.parameters import NAME, NOTEBOOKS, SWITCHES, Form
from qdisclab.analysis.sources import check_notebook
from qdisclab.emulation.config.ownfile import names
from qdisclab.emulation.errors import ConfigError, printable
from qdisclab.emulation.study import studies
from qdisclab.emulation.study.problems import validated
from qdisclab.emulation.study.schema import Flaw, unknown
from qdisclab.emulation.study.source import ParsedFile

DATA_KEYS: Final = ("experiment", "link", "qdiscs", "eras", "ccs")
AXES: Final = ("link", "qdisc", "era", "cc")
SEVERAL: Final = {"experiment": "experiments", "link": "links"}  # the key in place of another


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
    form: Form
    parameters: dict[str, Any]  # with the user's own qdiscs

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
        return [*self.form.claims, *([f"Fig. {own}" if own[:1].isdigit() else own] if own else [])]

    @property
    def ablation(self) -> bool:
        """Whether it compares eras that differ by one switch, and so needs all of them."""
        return self.parameters.get("eras") == SWITCHES

    def cells(self) -> list[Cell]:
        """Return the cells that the figure needs, in the order of the file; none for a table."""
        if "table" in self.parameters:
            return []
        paper, qdiscs = self.parameters["paper"], self.parameters["qdiscs"]
        several, length = _several(self.parameters, "link"), self.parameters.get("length", "")
        links = self.parameters.get("links", several)
        loads = [
            (experiment, link, qdisc)
            for experiment in _several(self.parameters, "experiment")
            for link in _of(links, experiment, several)
            for qdisc in _of(qdiscs, experiment, ())
        ]
        if "unloaded" in self.parameters:
            unloaded = self.parameters["unloaded"]
            loads += [(unloaded, link, UNLOADED_QDISC) for link in several]
        return [
            Cell(paper, experiment, era, link, qdisc, cc, str(_of(length, experiment, "")))
            for cc in self.parameters["ccs"]
            for experiment, link, qdisc in loads
            for era in self._eras(experiment, link, qdisc)
        ]

    def _eras(self, experiment: str, link: str, qdisc: str) -> list[str]:
        if self.ablation:
            return eras_of(qdisc)

        def shown(era: str) -> bool:
            without = self.form.without.get(era, ())
            if isinstance(without, Mapping):
                return link not in without.get(experiment, ())
            return qdisc not in without

        return [era for era in self.parameters["eras"] if shown(era)]


def read_figure(path: Path) -> FigureFile:
    """Read a parameter file.

    Raises ConfigError with all that is wrong with it, DataError for its name or where its notebook
    cannot be run.
    """
    if not re.fullmatch(NAME, path.stem):
        wrong = f"{printable(path.stem)[:80]!r} is not a name for a figure"
        raise DataError.of(path.parent, wrong, "Use letters of ASCII, digits, - and _")
    source = ParsedFile.of(path)
    form = validated(source, Form, "notebook")
    parameters = source.value["parameters"]
    for flaw in _contradictions(form, parameters, path):
        source.add(*flaw)
    name = f"{form.notebook}.ipynb"
    # Of a study of the repository as its path says it, which the workflow compares.
    beside = path.parents[1].parent.parent / "notebooks"
    shared = beside if beside.resolve() == NOTEBOOKS.resolve() else NOTEBOOKS
    places = (folder / name for folder in (path.parents[1] / "notebooks", shared))
    notebook = next((place for place in places if place.is_file()), path)
    if notebook == path:
        source.add(("notebook",), f"there is no {name}", "put it into the study's notebooks")
    source.check()
    check_notebook(notebook)
    return FigureFile(path, notebook, form, _with_own(parameters))


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
    claims = read_claims(study_at(figure.study)) if figure.form.claims else []
    for place in figure.form.claims:
        if not any(stands_in(vars(claim), place) for claim in claims):
            names = dict.fromkeys(name for of in claims for name in (of.section, of.figure) if name)
            what, todo = unknown("place of claims", place, names, look="claims.csv has all")
            raise DataError.of(figure.path, what, todo)


def _contradictions(form: Form, parameters: Mapping[str, Any], path: Path) -> Iterator[Flaw]:
    """Yield what of the file its study, papermill or another part of it does not fit."""
    study = path.resolve().parents[1].name
    if parameters["paper"] != study:
        wrong = f"is of the paper '{parameters['paper']}', its study is '{study}'"
        yield ("parameters", "paper"), wrong, f"write {study}"
    for key in parameters:
        if not key.isidentifier() or iskeyword(key):  # papermill writes it into the notebook's code
            wrong = f"{key[:40]!r} is not the name of a parameter"
            yield ("parameters",), wrong, "write one of the notebook's"
    for key, folder in (("published_values", "published/"), ("table", "")):
        try:
            studies.inside(path.parents[1], f"{folder}{parameters.get(key, '')}")
        except ConfigError as error:
            yield ("parameters", key), error.what, error.todo
    experiments, eras = _several(parameters, "experiment"), parameters.get("eras", ())
    for era, left in form.without.items():
        if era not in eras:
            yield ("without", era), *unknown("era", era, [] if eras == SWITCHES else eras)
        for name in left if isinstance(left, dict) else ():
            if name not in experiments:
                yield ("without", era, name), *unknown("experiment", name, experiments)
    if "table" in parameters:
        return
    for key in DATA_KEYS:
        if not {key, SEVERAL.get(key)} & set(parameters):
            yield ("parameters", key), "is missing", "add it"
    for key in ("qdiscs", *(() if "link" in parameters else ("links",))):
        by_experiment = parameters.get(key)
        if isinstance(by_experiment, dict):
            for name in dict.fromkeys(experiments) - by_experiment.keys():
                yield ("parameters", key), f"has none of the experiment {name}", "add them"
    for key in ("qdiscs", "links", "length"):
        by_experiment = parameters.get(key)
        for name in by_experiment if isinstance(by_experiment, dict) else ():
            if name not in (*experiments, parameters.get("unloaded")):
                yield ("parameters", key, name), *unknown("experiment", name, experiments)


def _of(values: Any, experiment: str, other: Any) -> Any:
    """Return what of `values` is of an experiment, or `other`, where they are a mapping of them."""
    return values.get(experiment, other) if isinstance(values, dict) else values


def _several(parameters: Mapping[str, Any], key: str) -> list[Any]:
    """Return the values of a key, of which there may be SEVERAL."""
    several = [parameters[key]] if key in parameters else parameters.get(SEVERAL[key], ())
    return list(several.values() if isinstance(several, dict) else several)


def _with_own(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return `parameters` with the user's own qdiscs (`qdisc/own.yaml`) behind the paper's."""
    named = parameters.get("qdiscs", [])
    switched = parameters.get("eras") == SWITCHES  # which are Linux's
    if not isinstance(named, list) or len(named) < 2 or switched:
        return parameters
    more = [name for name in names(parameters["paper"]) if name not in named]
    return {**parameters, "qdiscs": [*named, *more]}
