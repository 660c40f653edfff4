"""Which figures are drawn, and which files each needs: from `data/`, or from runs to be made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from analysis.figurefile import Cell, FigureFile, read_figure
from emulation.config import experiment, select
from emulation.errors import ConfigError
from emulation.model import Run
from emulation.units import Duration

FIGURES = Path("notebooks/figures")

#: Of the analysis package, what only the results page needs.
_PAGE_ONLY = ("report.py", "templates")

#: What `analysis.execute` leaves of a figure and later steps use.
PRODUCTS = (
    "summary.json",
    "table.csv",
    "figure.svg",
    "figure-dark.svg",
    "figure.png",
    "notebook.html",
)


#: A figure has many cells of one experiment, and reading its file takes a while.
_experiment = cache(experiment)


@dataclass(frozen=True)
class Scale:
    """How much of a figure's sweep is run anew; None is all of it, or the paper's value."""

    name: str
    eras: tuple[str, ...] | None = None
    ccs: tuple[str, ...] | None = None
    links: tuple[str, ...] | None = None
    qdiscs: tuple[str, ...] | None = None
    seeds: int | None = None
    length: Duration | None = None

    @classmethod
    def of(cls, name: str, scales: Mapping[str, Mapping[str, Any]]) -> Scale:
        """The scale `name` of the configuration; `ConfigError` where there is none."""
        if name not in scales:
            raise ConfigError(f"no scale '{name}'", "--scale", f"choose from {', '.join(scales)}")
        given = scales[name]
        length = given.get("length")
        return cls(
            name,
            **{
                key: tuple(given[key]) for key in ("eras", "ccs", "links", "qdiscs") if key in given
            },
            seeds=given.get("seeds"),
            length=Duration.parse(length) if length else None,
        )

    def has(self, cell: Cell) -> bool:
        """Whether the cell's runs are among those that are made."""
        pairs = (
            (self.eras, cell.era),
            (self.ccs, cell.cc),
            (self.links, cell.link),
            (self.qdiscs, cell.qdisc),
        )
        return all(values is None or value in values for values, value in pairs)


@dataclass(frozen=True)
class Plan:
    """The figures to draw, and where from.

    `scale` is None where the shipped runs of `data` are used; `batch` is how many runs of a cell a
    step does, 0 where each is a step of its own.
    """

    figures: Mapping[str, FigureFile]  # by name: `gbw2015/fig2a`
    data: Path
    results: Path
    scale: Scale | None
    batch: int = 0

    @property
    def pages(self) -> Path:
        """Where figures and the results page go; those of new runs keep apart."""
        return self.results / f"emulated-{self.scale.name}" if self.scale else self.results

    @property
    def runs_root(self) -> Path:
        """The folder that the figures' runs are read from."""
        return self.results / "data" if self.scale else self.data

    def runs(self, figure: FigureFile) -> tuple[Run, ...]:
        """The runs that `figure` needs at the plan's scale."""
        assert self.scale is not None
        chosen: list[Run] = []
        for cell in figure.cells():
            if not self.scale.has(cell) or (figure.ablation and self.scale.eras is not None):
                continue
            source = _experiment(f"{cell.paper}/{cell.experiment}")
            chosen += select(
                source,
                link=cell.link,
                qdisc=cell.qdisc,
                cc=cell.cc,
                seed=source.seeds[: self.scale.seeds],
                length=self.scale.length,
                era=cell.era,
            )
        return tuple(chosen)

    def all_runs(self) -> dict[str, Run]:
        """Every run of every figure, by its id; none where shipped runs are used."""
        if self.scale is None:
            return {}
        return {run.id: run for figure in self.figures.values() for run in self.runs(figure)}

    def batches(self) -> dict[str, tuple[Run, ...]]:
        """The runs of each batch, by its name: `gbw2015/rrul/10-10/codel/cubic/seeds-001-010`.

        Which seeds go together does not depend on how many there are.
        """
        found: dict[str, list[Run]] = {}
        for run in self.all_runs().values() if self.batch else ():
            found.setdefault(self._batch_of(run), []).append(run)
        return {name: tuple(runs) for name, runs in found.items()}

    def _batch_of(self, run: Run) -> str:
        first = (run.seed - 1) // self.batch * self.batch + 1
        last = first + self.batch - 1
        return f"{run.id.rpartition('/')[0]}/seeds-{first:03d}-{last:03d}"

    def _stamps(self, runs: Iterable[Run]) -> list[Path]:
        names = dict.fromkeys(self._batch_of(run) for run in runs)
        return [self.results / "batches" / f"{name}.json" for name in names]

    def data_files(self, figure: FigureFile) -> list[Path]:
        """The data and the provenance of each run of `figure`: those that are there, or will be.

        Where runs are done in batches, what the batches leave.
        """
        if self.scale is not None and self.batch:
            return self._stamps(self.runs(figure))
        if self.scale is not None:
            ids = [run.id for run in self.runs(figure)]
            return [self.runs_root / f"{one}{end}" for one in ids for end in (".flent.gz", ".json")]
        if "table" in figure.parameters:
            return [path for path in [self.data / figure.parameters["table"]] if path.is_file()]
        return [
            path
            for cell in figure.cells()
            for pattern in ("seed-*.flent.gz", "seed-*.json")
            for path in sorted((self.data / cell.folder).glob(pattern))
        ]

    def provenances(self) -> list[Path]:
        """The provenance of every run that the claims are assessed on: there already, or to be.

        Where runs are done in batches, what the batches leave.
        """
        if self.scale is not None and self.batch:
            return self._stamps(self.all_runs().values())
        if self.scale is not None:
            return [self.runs_root / f"{one}.json" for one in self.all_runs()]
        return sorted(self.data.glob("*/*/*/*/*/seed-*.json"))

    def length(self) -> str:
        """How folders of runs name the scale's length: `20s`; empty where it is the paper's."""
        length = self.scale.length if self.scale is not None else None
        return str(length).replace(" ", "") if length else ""

    def code_files(self, figure: FigureFile) -> list[Path]:
        """What draws `figure`: its parameters, its notebook, the analysis, published values."""
        published = figure.parameters.get("published_values")
        return [
            figure.path,
            figure.notebook,
            *(
                path
                for path in sorted(Path("analysis").glob("*.py"))
                if path.name not in _PAGE_ONLY
            ),
            *([Path("data/published") / published] if published else []),
        ]


def figure_files(papers: Iterable[str] = (), figures: Iterable[str] = ()) -> list[FigureFile]:
    """The figures of that name, or of these papers, or all; `ConfigError` for an unknown name."""
    known = {f"{path.parent.name}/{path.stem}": path for path in sorted(FIGURES.glob("*/*.yaml"))}
    wanted = list(figures)
    for paper in papers:
        of_paper = [name for name in known if name.startswith(f"{paper}/")]
        if not of_paper:
            raise ConfigError(f"no figure of the paper '{paper}'", str(FIGURES))
        wanted += [] if any(name.startswith(f"{paper}/") for name in figures) else of_paper
    for name in wanted:
        if name not in known:
            raise ConfigError(
                f"no figure '{name}'", str(FIGURES), f"choose from {', '.join(known)}"
            )
    return [read_figure(known[name]) for name in dict.fromkeys(wanted or known)]


def make_plan(config: Mapping[str, Any]) -> Plan:
    """The plan of a configuration (workflow/config.yaml).

    A figure that nothing can be drawn of, for want of shipped runs or because the scale leaves its
    link out, is left out. Raises `ConfigError` where it was asked for by name, or none remains.
    """
    if not isinstance(config["emulate"], bool):
        raise ConfigError(f"emulate is {config['emulate']!r}", "--config", "say True or False")
    scale = Scale.of(config["scale"], config["scales"]) if config["emulate"] else None
    batch = config["batch"]
    if not isinstance(batch, int) or batch < 0:
        raise ConfigError(f"batch is {batch!r}", "--config", "say how many runs: 0, 10")
    found = figure_files(config["papers"], config["figures"])
    everything = Plan(
        {figure.name: figure for figure in found},
        Path(config["data"]),
        Path(config["results"]),
        scale,
        batch,
    )
    drawn = {
        name: figure for name, figure in everything.figures.items() if everything.data_files(figure)
    }
    lacking = [name for name in everything.figures if name not in drawn]
    if not drawn or any(name in lacking for name in config["figures"]):
        if scale is not None:
            todo = "take a larger --scale"
            raise ConfigError(
                f"the scale '{scale.name}' has no run of {', '.join(lacking)}", "", todo
            )
        what = f"there is no run of {', '.join(lacking)}"
        raise ConfigError(what, str(everything.data), "make runs with --emulate")
    return replace(everything, figures=drawn)
