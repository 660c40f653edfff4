"""Which figures are drawn, and which files each needs: from `data/`, or from runs to be made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from qdisclab.analysis.runs import study
from qdisclab.analysis.runs.dataset import RunFile, cells_of, index_of
from qdisclab.analysis.site.figurefile import Cell, FigureFile, check_values, read_figure
from qdisclab.analysis.sources import closure, own_code
from qdisclab.emulation.config import ownfile
from qdisclab.emulation.config.catalogue import all_labels, experiment, experiments, select
from qdisclab.emulation.errors import ConfigError
from qdisclab.emulation.host.cache import digest, state, states
from qdisclab.emulation.model.run import Experiment, Run, era_and_kernel
from qdisclab.emulation.model.units import Duration
from qdisclab.emulation.project import ROOT
from qdisclab.emulation.runs.index import indexes
from qdisclab.emulation.study import studies
from qdisclab.emulation.study.schema import unknown

#: What draws a figure beside its notebook.
EXECUTE = Path("analysis/site/execute.py")

#: Modules that read a file of the study, and its name.
READ = {
    Path("emulation/config/catalogue.py"): studies.FILE,
    Path("analysis/runs/statement.py"): "claims.csv",
    Path("analysis/runs/axes.py"): "axes.csv",
}

#: Characters of a text that may name a file; captions and notes are longer.
LONGEST_NAME = 100
TEMPLATES = Path("analysis/site/templates")
NOTEBOOK_TEMPLATES = ("base.html", "notebook.html", "page.css")

#: Of the digest of what is in a folder.
DIGITS = 8

#: What `analysis.site.execute` leaves of every figure. The images, which a table has none of, are
#: written before the summary.
PRODUCTS = ("summary.json", "table.csv", "notebook.html")


@cache  # reading the files takes a while
def _experiments() -> dict[str, Experiment]:
    return all_labels(experiments())


_study = cache(study.study_at)  # to find one takes a look at the folders of all


@cache  # several figures show a cell
def _runs(cell: Cell, seeds: int | None, length: Duration | None) -> tuple[Run, ...]:
    """Return the runs of `cell`: of its first `seeds`, or of all. Of loads that the repetitions
    take in turn there are so many of each, and of runs that are only shortened the first."""
    name = f"{cell.paper}/{cell.experiment}"
    source = _experiments().get(name) or experiment(name)  # which says what is wrong with it
    if length is None and cell.length:
        length = Duration.parse(cell.length)
    elif seeds is not None and length is None:
        seeds *= source.traffic.loads_in_turn
    era, kernel = era_and_kernel(cell.era)
    return select(
        source,
        link=cell.link,
        qdisc=cell.qdisc,
        cc=cell.cc,
        seed=source.seeds[:seeds],
        length=length,
        era=era,
        kernel=kernel,
    )


@dataclass(frozen=True)
class Scale:
    """How much of a figure's sweep is run anew; None is all of it, or the paper's value."""

    name: str
    fixed: bool = False  # of eras those alone that a figure's study has fixed, if it shows any
    eras: tuple[str, ...] | None = None  # of a figure, by `of_figure`
    ccs: tuple[str, ...] | None = None
    links: tuple[str, ...] | None = None
    qdiscs: tuple[str, ...] | None = None
    seeds: int | None = None
    length: Duration | None = None

    @classmethod
    def of(cls, name: str, scales: Mapping[str, Mapping[str, Any]]) -> Scale:
        """Return the scale `name` of the configuration; `ConfigError` where there is none."""
        if name not in scales:
            raise ConfigError(f"no scale '{name}'", "--scale", f"choose from {', '.join(scales)}")
        given = scales[name]
        if (eras := given.get("eras", "fixed")) != "fixed":
            raise ConfigError(f"{eras!r} is not 'fixed'", f"scales.{name}.eras", "or leave it out")
        length = given.get("length")
        return cls(
            name,
            **{key: tuple(given[key]) for key in ("ccs", "links", "qdiscs") if key in given},
            fixed=given.get("eras") == "fixed",
            seeds=given.get("seeds"),
            length=Duration.parse(length) if length else None,
        )

    def of_figure(self, figure: FigureFile) -> Scale:
        """Return this scale for `figure`, with all of the figure's eras and congestion controls
        where it has none of the scale's: what is shown with one alone is so at every scale."""
        parameters = figure.parameters
        ccs, eras = parameters.get("ccs", ()), parameters.get("eras", ())
        fixed = _study(figure.study).about.fixed.eras if self.fixed else ()
        return replace(
            self,
            ccs=self.ccs if set(ccs) & set(self.ccs or ()) else None,
            eras=fixed if self.fixed and (figure.ablation or set(eras) & set(fixed)) else None,
        )

    def has(self, cell: Cell) -> bool:
        """Return whether the cell's runs are among those that are made; a qdisc of the user's own
        is."""
        qdiscs = None if cell.qdisc in ownfile.drawn() else self.qdiscs
        chosen = (self.eras, self.ccs, self.links, qdiscs)
        values = (cell.era, cell.cc, cell.link, cell.qdisc)
        return all(of is None or value in of for of, value in zip(chosen, values, strict=True))


@dataclass(frozen=True)
class Plan:
    """The figures to draw, and where from.

    `scale` is None where the shipped runs of `data` are used; `batch` is how many runs of a cell a
    step does, 0 where each is a step of its own; `settles` is whether the page of all claims is
    made, which takes every run of every paper; `thin` is whether the first run of a cell that has
    none yet stands for all of them, which is enough to say what would be done; `left_out` are the
    figures that nothing can be drawn of, and `without` the runs, by their ids, that are not made.
    """

    figures: Mapping[str, FigureFile]  # by name: `mine/latency`
    data: Path
    results: Path
    scale: Scale | None
    batch: int = 0
    settles: bool = True
    thin: bool = False
    left_out: tuple[str, ...] = ()
    without: frozenset[str] = frozenset()

    @property
    def pages(self) -> Path:
        """Return where figures and the results page go; those of new runs keep apart."""
        return self.results / f"emulated-{self.scale.name}" if self.scale else self.results

    @property
    def runs_root(self) -> Path:
        """Return the folder of all runs but those of studies that do not ship."""
        return self.results / "data" if self.scale else self.data

    def root_of(self, figure: FigureFile) -> Path:
        """Return the folder of the runs of a figure, one of its study or `runs_root`."""
        if self.scale is not None:
            return self.runs_root
        return _study(figure.study).runs_root(self.data)

    def _tables(self, figure: FigureFile) -> tuple[Path, ...]:
        """Return the folders that may have the table of a figure whose measurements are no runs."""
        return figure.study, self.root_of(figure)

    def runs(self, figure: FigureFile) -> tuple[Run, ...]:
        """Return the runs that `figure` needs at the plan's scale."""
        assert self.scale is not None
        scale = self.scale.of_figure(figure)
        return tuple(
            run
            for cell in figure.cells()
            if scale.has(cell) and not (figure.ablation and scale.eras is not None)
            for run in _runs(cell, self.scale.seeds, self.scale.length)
            if run.id not in self.without
        )

    def all_runs(self) -> dict[str, Run]:
        """Return every run of every figure by its id; none where shipped runs are used."""
        return {name: runs[0] for name, runs in self.steps.items()}

    @cached_property
    def steps(self) -> dict[str, tuple[Run, ...]]:
        """Return the runs that each run stands for, by its id: itself, and more in a thin plan."""
        if self.scale is None:
            return {}
        runs = {run.id: run for figure in self.figures.values() for run in self.runs(figure)}
        cells: dict[str, list[Run]] = {}
        for name, run in runs.items():
            whole = self.thin and not (self.runs_root / run.cell).exists()
            cells.setdefault(run.cell if whole else name, []).append(run)
        return {cell[0].id: tuple(cell) for cell in cells.values()}

    @cached_property
    def probes(self) -> dict[str, tuple[str, ...]]:
        """Return what the figures need beside the data of runs, by the ids of those."""
        probes: dict[str, tuple[str, ...]] = {}
        for figure in self.figures.values() if self.scale else ():
            for run in self.runs(figure) if figure.probes else ():
                both = (*probes.get(run.id, ()), *figure.probes)
                probes[run.id] = tuple(dict.fromkeys(both))
        return probes

    def batches(self) -> dict[str, tuple[Run, ...]]:
        """Return the runs of each batch by its name: `mine/first/10-10/codel/cubic/seeds-001-010`.

        Which seeds go together does not depend on how many there are.
        """
        batches: dict[str, list[Run]] = {}
        for run in self.all_runs().values() if self.batch else ():
            batches.setdefault(self._batch_of(run), []).append(run)
        return {name: tuple(runs) for name, runs in batches.items()}

    def _batch_of(self, run: Run) -> str:
        first = (run.seed - 1) // self.batch * self.batch + 1
        return f"{run.cell}/seeds-{first:03d}-{first + self.batch - 1:03d}"

    def data_files(self, figure: FigureFile) -> list[Path]:
        """Return the files of each run of `figure` that there are, or its provenance to be.

        Where runs are done in batches, what the batches leave.
        """
        if self.scale is not None:
            return self._files(self.runs(figure))
        if "table" in figure.parameters:
            places = (folder / figure.parameters["table"] for folder in self._tables(figure))
            return [path for path in places if path.is_file()][:1]
        root = self.root_of(figure)
        return [path for cell in figure.cells() for path in _files_of(root, cell)]

    def not_shown(self, figure: FigureFile) -> list[str]:
        """Return the qdiscs of `figure` of which there is no run at all."""
        if self.scale is not None:
            return []
        root, cells = self.root_of(figure), figure.cells()
        shown = {cell.qdisc for cell in cells if _files_of(root, cell)}
        return sorted({cell.qdisc for cell in cells} - shown)

    def awaited(self, figure: FigureFile) -> list[Path]:
        """Return what is made before `figure`; nothing where shipped runs are used."""
        return [] if self.scale is None else self.data_files(figure)

    def shipped(self, figure: FigureFile) -> list[str]:
        """Return the folders of the shipped runs that `figure` is drawn from, each with a digest of
        its files' names, sizes and times: `data/mine/first/10-10/codel/cubic 2f9a60d1`.

        Snakemake would look at each of the files again in each of its steps, which took an eighth
        of the CPU of all figures.
        """
        if self.scale is not None:
            return []
        files = self.data_files(figure)
        if "table" in figure.parameters:
            return [f"{path.parent} {digest([state(path)])[:DIGITS]}" for path in files]
        return [f"{folder} {_content(folder)}" for folder in sorted({p.parent for p in files})]

    def all_shipped(self) -> str:
        """Return a digest of the same of the provenance of every shipped run."""
        if self.scale is not None:
            return ""
        roots = {self.data, *(folder.runs_root(self.data) for folder in study.known())}
        return digest(runs.state for root in sorted(roots) for runs in indexes(root))

    def _files(self, runs: Iterable[Run]) -> list[Path]:
        if self.batch:
            return [*dict.fromkeys(self.results / "batches" / self._batch_of(run) for run in runs)]
        return [self.runs_root / f"{run.id}.json" for run in runs if run.id in self.steps]

    def provenances(self) -> list[Path]:
        """Return what is left by every run that is made: its provenance, or that of its batch."""
        return self._files(self.all_runs().values())

    def records(self) -> list[RunFile]:
        """Return the runs of the figures that are there now."""
        if self.scale is not None:
            names = {run.experiment.paper for run in self.all_runs().values()}
            runs = (run for name in sorted(names) for run in index_of(self.runs_root, name))
            return [run for run in runs if run.run in self.steps]
        figures = self.figures.values()
        cells = dict.fromkeys((self.root_of(of), cell) for of in figures for cell in of.cells())
        return [run for root, cell in cells for run in _cells(root, cell.paper).get(cell, ())]

    def lengths(self, figure: FigureFile) -> list[str]:
        """Return how runs of a figure name the scale's length: `20s`, or `rrul=20s` of each
        experiment of another length where some have that length themselves; nothing where the scale
        has the paper's."""
        if self.scale is None or self.scale.length is None:
            return []
        named = {run.point.label: run.other_length for run in self.runs(figure)}
        if len(texts := set(named.values())) > 1:
            return [f"{label}={length}" for label, length in named.items() if length]
        return [text for text in texts if text or "length" in figure.parameters]

    @cached_property
    def code(self) -> dict[str, list[Path]]:
        """Return by name what draws each figure: its parameters and notebook, the code they need,
        and tables.

        A change of a module makes those figures stale that it is part of, and no others.
        """
        return {name: self._code_of(figure) for name, figure in self.figures.items()}

    def _code_of(self, figure: FigureFile) -> list[Path]:
        start = [figure.notebook]
        if figure.notebook.parent.parent == figure.study:
            start += own_code(figure.study, "measures", "plots")
        code = closure(start)
        # The parameter file, which it reads, is there as a file.
        code += closure([EXECUTE], without=["qdisclab.analysis.site.figurefile"])
        code += [TEMPLATES / name for name in NOTEBOOK_TEMPLATES]
        paths = [figure.study / name for module, name in READ.items() if module in code]
        code += [path for path in paths if path.is_file()]
        tables = [
            folder / value
            for value in _texts(figure.parameters)
            for folder in (figure.study / "published", *self._tables(figure))
            if "." in value and len(value) <= LONGEST_NAME and (folder / value).is_file()
        ]
        own = ownfile.path()
        drawn = own is not None and set(ownfile.drawn()) & set(figure.parameters.get("qdiscs", ()))
        return sorted({figure.path, *code, *tables, *([own] if own and drawn else [])})


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts in a value of YAML."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(item)


@cache  # several figures show a cell, and each is asked for several times
def _files_of(root: Path, cell: Cell) -> list[Path]:
    """Return the files of the runs of a cell below `root`."""
    return [path for run in _cells(root, cell.paper).get(cell, ()) for path in run.files]


_cells = cache(cells_of)


@cache  # several figures show a cell
def _content(folder: Path) -> str:
    """Return a digest of the files in a folder of runs."""
    return digest(states(folder))[:DIGITS]


def _folders() -> list[Path]:
    """Return the folders of all studies; those of the repository as they are named from there."""
    folders = studies.known().values()
    return [path.relative_to(ROOT) if path.is_relative_to(ROOT) else path for path in folders]


def pages_code() -> list[Path]:
    """Return what measures, claims and pages are made of: all of the analysis, as what has been
    measured and assessed is remembered, and what studies say beside their figures."""
    named = (folder / name for folder in _folders() for name in READ.values())
    own = [path for folder in _folders() for path in own_code(folder, "claims", "measures")]
    code = closure([*Path("analysis").rglob("*.py"), *own])
    return sorted({*code, *TEMPLATES.glob("*"), *(path for path in named if path.is_file())})


def figure_files(of: Iterable[str] = (), figures: Iterable[str] = ()) -> list[FigureFile]:
    """Return the figures of these studies, by name or path, and with these names, or all.

    A name may lack what tells parts of a figure apart: `mine/fig3` means fig3a to fig3f; its
    study may be one in the working directory, as `emulate run` has it. Raises `ConfigError` for an
    unknown name and for a figure's file that is wrong.
    """
    chosen = [studies.add(name).name for name in of]
    for folder in dict.fromkeys(Path(name).parent for name in figures):
        if folder.name not in studies.known() and (folder / studies.FILE).is_file():
            studies.add(folder)
    by_name = {
        f"{folder.name}/{path.stem}": path
        for folder in _folders()
        for path in sorted((folder / "figures").glob("*.yaml"))
    }
    wanted = [name for given in figures for name in _named(given, by_name)]
    for name in chosen:
        of_study = [figure for figure in by_name if figure.startswith(f"{name}/")]
        if not of_study:
            todo = "put files as studies/mine/figures/*.yaml there"
            raise ConfigError(f"no figure of the study '{name}'", f"{name}/figures", todo)
        wanted += [] if any(figure in wanted for figure in of_study) else of_study
    return [read_figure(by_name[name]) for name in dict.fromkeys(wanted or by_name)]


def _states(of: Iterable[str]) -> bool:
    """Return whether any of these studies states something; where none is named, all are meant."""
    chosen = [study.study_at(name) for name in of]
    return not chosen or any(folder.statements.is_file() for folder in chosen)


def _named(given: str, figures: Iterable[str]) -> list[str]:
    """Return the figures that a name stands for: itself, or those that it begins."""
    names = list(figures)
    if given in names:
        return [given]
    begun = [name for name in names if name.startswith(given) and not name[len(given)].isdigit()]
    if not begun or given.endswith("/"):
        _, todo = unknown("figure", given, names, "studies/*/figures has all")
        raise ConfigError(f"no figure '{given}'", todo=todo)
    return begun


def make_plan(config: Mapping[str, Any]) -> Plan:
    """Return the plan of a configuration (workflow/config.yaml).

    A figure that nothing can be drawn of, for want of shipped runs or because the scale leaves its
    link out, is left out. Raises `ConfigError` where it was asked for by name, or none remains.
    """
    if not isinstance(config["emulate"], bool):
        raise ConfigError(f"emulate is {config['emulate']!r}", "--config", "write True or False")
    scale = Scale.of(config["scale"], config["scales"]) if config["emulate"] else None
    batch, thin = config["batch"], config["thin"]
    if not isinstance(batch, int) or batch < 0:
        raise ConfigError(f"batch is {batch!r}", "--config", "write how many runs: 0, 10")
    figures = figure_files(config["studies"], config["figures"])
    everything = Plan(
        {figure.name: figure for figure in figures},
        Path(config["data"]),
        Path(config["results"]),
        scale,
        batch,
        # Who asks for a figure, or for a study that states nothing, waits for what that needs.
        settles=not config["figures"] and _states(config["studies"]),
        thin=thin,
        without=frozenset(config["without"]),
    )
    for figure in figures:
        check_values(figure, everything.root_of(figure))
    drawn = {
        name: figure for name, figure in everything.figures.items() if everything.data_files(figure)
    }
    lacking = [name for name in everything.figures if name not in drawn]
    asked = [_named(given, everything.figures) for given in config["figures"]]
    if not drawn or any(set(names) <= set(lacking) for names in asked):
        if scale is not None:
            what = f"the scale '{scale.name}' has no run of {', '.join(lacking)}"
            raise ConfigError(what, "", "take a larger --scale")
        what = f"there is no run of {', '.join(lacking)}"
        searched = {str(everything.root_of(everything.figures[name])): None for name in lacking}
        raise ConfigError(what, ", ".join(searched), "make runs with --emulate")
    return replace(everything, figures=drawn, left_out=tuple(lacking))
