"""A study as the analysis sees it: a folder with all of one paper or question.

    study.yaml      its experiments (`emulation.config.catalogue` reads it), whose paper it is
    figures/*.yaml  its figures (`analysis.site.figurefile`)
    published/*.csv what the paper prints or plots
    claims.csv      what the paper states (`analysis.runs.statement`)
    axes.csv        what the options of its qdiscs do not say (`analysis.runs.axes`)
    claims.py       what each statement means (`analysis.claims.plugin`)
    measures.py     how its runs become numbers (`analysis.measures`)
    plots.py        how its figures are drawn
    notebooks/      what computes and draws them
    data/           its runs, where the study does not ship

Each of them may be missing, and each module may be a package: `claims/`, `measures/`, `plots/`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType
from typing import Final

from qdisclab.analysis.errors import DataError
from qdisclab.emulation.config.catalogue import all_labels, load, select
from qdisclab.emulation.errors import ConfigError
from qdisclab.emulation.model.run import Experiment, Study, era_and_kernel, length_name
from qdisclab.emulation.model.units import Duration, UnitError
from qdisclab.emulation.study import code, studies
from qdisclab.emulation.study.schema import unknown

#: What there is of a study whose folder has figures only.
NONE: Final = Study("", "", "", ())


@dataclass(frozen=True)
class StudyFolder:
    """A folder; `study_at` and `known` find it."""

    folder: Path

    @property
    def name(self) -> str:
        """`mine`: of its runs, figures and claims, too."""
        return self.folder.name

    @property
    def statements(self) -> Path:
        """The file of what the paper states."""
        return self.folder / "claims.csv"

    @property
    def axes(self) -> Path:
        """The file of what the options of its qdiscs do not say (`analysis.runs.axes`)."""
        return self.folder / "axes.csv"

    def path_of(self, module: str) -> Path | None:
        """Return the file of its own module or package `module`; None where there is none."""
        return code.path_of(self.folder, module)

    def module(self, name: str) -> ModuleType:
        """Its own module or package, as `plots` or `plots.edge`; raises DataError where there is
        none, where the user has not agreed to execute it, and, with file and line, where it fails.
        """
        return code.module(self.folder, name)

    @property
    def figures(self) -> list[Path]:
        """The files of its figures."""
        return sorted((self.folder / "figures").glob("*.yaml"))

    @cached_property
    def about(self) -> Study:
        """What `study.yaml` says; DataError where it is wrong, or says another name."""
        path = self.folder / studies.FILE
        if not path.is_file():
            return NONE
        study = load(path)
        if study.name != self.name:
            wrong = f"names the study '{study.name}', its folder is '{self.name}'"
            raise DataError.of(path, wrong, "Give both one name")
        return study

    @cached_property
    def experiments(self) -> Mapping[str, Experiment]:
        """Its experiments by name, and by each label of their points."""
        by_label = all_labels(self.about.experiments)
        return {experiment.name: experiment for experiment in by_label.values()}

    def flaw(
        self,
        experiment: str,
        *,
        link: str | None = None,
        qdisc: str | None = None,
        cc: str | None = None,
        era: str | None = None,
        length: str = "",
    ) -> tuple[str, str] | None:
        """Return what of a cell its file does not know, and what to do; None for nothing.

        None is any value, and no `length` the experiment's own. Where there is no file, nothing is
        unknown.
        """
        if not self.experiments:
            return None
        if experiment not in self.experiments:
            look = f"'emulate list {self.name}' shows all"
            return unknown("experiment", experiment, self.experiments, look)
        source = self.experiments[experiment]
        links = dict.fromkeys(point.link.name for point in source.points)
        if link is not None and link not in links:  # any two rates make one
            return unknown("link", link, links)
        name, kernel = (None, None) if era is None else era_and_kernel(era)
        try:
            span = Duration.parse(length, "20s") if length else None
            if span and length != length_name(span):
                return f"the length '{length}' is no name of runs", f"Write '{length_name(span)}'"
            select(
                source, link=link, qdisc=qdisc, cc=cc, seed=1, length=span, era=name, kernel=kernel
            )
        except ConfigError as error:
            return error.what, error.todo
        except UnitError as error:
            what, _, todo = str(error).rpartition("; ")
            return f"length {what}", todo
        return None

    def runs_root(self, data: Path) -> Path:
        """Return the folder that has its runs, below its name: `data`, or its own `data`."""
        shipped = self.folder.parent == studies.SHIPPED
        return data if shipped or (data / self.name).is_dir() else studies.data_folder(self.folder)


_at: Final = cache(StudyFolder)  # which remembers what its properties read


def study_at(name_or_path: str | Path) -> StudyFolder:
    """Return the study of that name or in that folder; from then on its name finds its runs.

    Raises DataError where there is none.
    """
    return _at(studies.add(name_or_path))


def known() -> list[StudyFolder]:
    """Return the shipped studies and those that were opened, that with the most figures first."""
    folders = [_at(folder) for folder in studies.known().values()]
    return sorted(folders, key=lambda study: (-len(study.figures), study.name))


def in_order(names: Iterable[str]) -> list[str]:
    """Return names of studies in the order of `known`, behind them those that are not."""
    wanted = set(names)
    ordered = [study.name for study in known() if study.name in wanted]
    return ordered + sorted(wanted - set(ordered))
