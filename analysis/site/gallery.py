"""The figures of a results folder, as pages show them."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import pandas as pd

from qdisclab.analysis.claims.record import Claim
from qdisclab.analysis.errors import DataError, refused
from qdisclab.analysis.plots.style import forget_others
from qdisclab.analysis.runs import study
from qdisclab.analysis.runs.order import in_order
from qdisclab.analysis.runs.published import read_csv
from qdisclab.analysis.runs.settings import Setting, in_headers
from qdisclab.analysis.site import outputs, pages
from qdisclab.analysis.site.execute import NOTEBOOK, PAGE
from qdisclab.analysis.site.notebookpage import data_root
from qdisclab.analysis.site.points import points
from qdisclab.analysis.site.tables import MISSES, header, sentence, texts
from qdisclab.analysis.words import ranges
from qdisclab.emulation.model.run import era_and_kernel, variant_name

MOST_ROWS: Final = 150  # of a table on a page; a longer one is linked
SECTIONS: Final = ("", "Today's Linux", "How exact it is, and why")  # in front of others
OPEN_ROWS: Final = 30  # a longer one is folded
AGREES: Final = header("agrees")
CHARTS: Final = {
    outputs.TABLE: "Draw its values",
    outputs.RUNS: "Run by run",
    outputs.SERIES: "Over time",
}


@dataclass(frozen=True)
class Shown:
    """One figure as the templates take it."""

    folder: str  # relative to the results
    summary: outputs.Summary
    headers: list[str]
    rows: list[list[str]]
    has_page: bool
    size: tuple[int, int] | None = (760, 500)  # of the image in pixels; None for a table
    sentence: str = ""  # what it shows, computed from its table
    tables: Sequence[Path] = ()  # those of CHARTS that it has
    claims: Sequence[Claim] = ()  # that belong to it, on its page
    notes: Sequence[str] = ()  # on its runs

    @property
    def name(self) -> str:
        """Its folder's name: `fig2a`."""
        return self.folder.rpartition("/")[2]

    @cached_property  # only for a page that is written: long tables take a second
    def charts(self) -> Mapping[str, dict[str, Any]]:
        """Points of its tables that are drawn in the page, by heading."""
        forget_others()
        ours = Setting(*self.summary.setting).title if self.summary.setting else ""
        drawn = {CHARTS[path.name]: points(_table(path), ours) for path in self.tables}
        return {heading: chart for heading, chart in drawn.items() if chart}

    @cached_property  # a page asks for each label several times
    def of_paper(self) -> bool:
        """Whether it stands for a figure of a paper."""
        return pages.has_paper(self.summary.paper)

    @property
    def label(self) -> str:
        """ "Fig. 2a", "Table 2", or the title of a figure that no paper has."""
        name = self.summary.figure
        if not self.of_paper:
            return self.summary.title
        return f"Fig. {name}" if name[:1].isdigit() else name

    @property
    def section(self) -> str:
        """The heading below which the page of its study shows it."""
        return self.summary.section or ("The paper's figures" if self.of_paper else "Figures")

    @property
    def counts(self) -> bool:
        """Whether its printed values count: not where they stand in another figure already."""
        return self.of_paper and not self.summary.section

    @property
    def measured(self) -> bool:
        """Whether it was made from runs; a table without any, as one of parameters, was not."""
        return bool(self.summary.cells)

    @property
    def agreement(self) -> dict[str, int]:
        """How many of its printed values agree, or else are off by how much."""
        if AGREES not in self.headers:
            return {}
        counts = Counter(row[self.headers.index(AGREES)] for row in self.rows)
        return {word: counts[word] for word in ("yes", *MISSES, "no") if counts[word]}

    @property
    def counted(self) -> dict[str, int]:
        """Of its `agreement` what counts among measured values."""
        return self.agreement if self.counts and self.measured else {}

    @property
    def commands(self) -> list[str]:
        """What draws it again, and what makes one of its runs, where it has any."""
        lines = [f"./reproduce-all --figure {self.folder}"]
        setting = self.summary.setting
        cells = [cell for cell in self.summary.cells if [cell["era"], cell["cc"]] == setting]
        for cell in cells[:1]:
            era, kernel = era_and_kernel(cell["era"])
            options = {name: cell[name] for name in ("link", "qdisc", "cc")} | {"era": era}
            options |= {"kernel": (kernel or "").removeprefix("linux-")}
            words = [f"--{key} {value}" for key, value in options.items() if value.strip("-")]
            words += [f"--seed {cell['seeds'][0]}", "--output results/data"]
            name = f"{self.summary.paper}/{cell['experiment']}"
            lines.append(f".venv/bin/emulate run {name} {' '.join(words)}")
        return lines

    @property
    def experiments(self) -> set[str]:
        """The experiments whose runs it shows."""
        return {cell["experiment"] for cell in self.summary.cells}

    @property
    def runs(self) -> int:
        """Of all its cells."""
        return sum(len(cell["seeds"]) for cell in self.summary.cells)

    @property
    def folded(self) -> bool:
        """Whether the table is long."""
        return len(self.rows) > OPEN_ROWS

    @property
    def listed(self) -> bool:
        """Whether the table is on the page, and not only in a file."""
        return len(self.rows) <= MOST_ROWS

    @property
    def ran(self) -> list[dict[str, str]]:
        """What ran, by experiment, era, congestion control and link: `variant`, `link`, `text`.

        The text is "rrul, Linux of 2014, CUBIC, 10/1 Mbit/s: seeds 1–3 of ared, pie".
        """
        return _listed(self.summary.cells)

    @property
    def lacking(self) -> list[dict[str, str]]:
        """What has no run, of the settings that it shows, as `ran` but without seeds."""
        return _listed(self.summary.lacking)


def _listed(cells: Iterable[Mapping[str, Any]]) -> list[dict[str, str]]:
    groups: dict[tuple[str, str, str, str], dict[str, list[str]]] = {}
    for cell in cells:
        key = (cell["experiment"], cell["era"], cell["cc"], cell["link"])
        seeds = groups.setdefault(key, {})
        of = f"seeds {ranges(cell['seeds'])} of " if "seeds" in cell else ""
        seeds.setdefault(of, []).append(cell["qdisc"])
    return [
        {
            "variant": variant_name(experiment, *era_and_kernel(era)),
            "link": link,
            "text": f"{experiment}, {in_headers(Setting(era, cc).title)}, {link} Mbit/s: "
            + "; ".join(f"{of}{', '.join(in_order(q))}" for of, q in seeds.items()),
        }
        for (experiment, era, cc, link), seeds in groups.items()
    ]


def collect(results: Path) -> list[Shown]:
    """Return the figures below `results`, in the order of papers and figures, without those of
    studies that are not known and whose runs are no longer there.

    Raises DataError when there is none.
    """
    figures = []
    names = {folder.name for folder in study.known()}
    for path in sorted(results.glob(f"*/*/{outputs.SUMMARY}")):
        summary = outputs.read_summary(path)
        of = summary.paper if summary.cells else ""  # others need no runs, but a folder
        if summary.paper not in names and _gone(path.with_name(NOTEBOOK), of):
            continue
        values = _table(path.with_name(outputs.TABLE))
        table = texts(values)
        figures.append(
            Shown(
                folder=path.parent.relative_to(results).as_posix(),
                summary=summary,
                headers=list(table.columns),
                rows=table.to_numpy().tolist(),
                has_page=path.with_name(PAGE).is_file(),
                size=image_size(path.with_name(f"{outputs.FIGURE}.svg")) if summary.files else None,
                sentence=sentence(values),
                tables=[there for name in CHARTS if (there := path.with_name(name)).is_file()],
            )
        )
    if not figures:
        todo = "Make one with `python -m qdisclab.analysis.site.execute`"
        raise DataError.of(results, "no figure in it", todo)
    order = study.in_order({shown.summary.paper for shown in figures})

    def place(shown: Shown) -> tuple[Any, ...]:
        of, section = shown.summary, shown.summary.section
        rank = SECTIONS.index(section) if section in SECTIONS else len(SECTIONS)
        return order.index(of.paper), rank, section, _natural(shown.name)

    return sorted(figures, key=place)


def agreement(figures: Iterable[Shown]) -> dict[str, int]:
    """Count printed values beside ours, each once: `compared` and `agreeing` where they were
    measured, `settings` and `as_set` where they are parameters, which are read back."""
    counts = dict.fromkeys(("compared", "agreeing", "settings", "as_set"), 0)
    for shown in figures:
        if shown.counts:
            total, equal = ("compared", "agreeing") if shown.measured else ("settings", "as_set")
            counts[total] += shown.summary.compared
            counts[equal] += shown.summary.agreeing
    return counts


def _gone(notebook: Path, of: str) -> bool:
    """Return whether what an executed notebook read its runs from is no longer there: the folder of
    the study `of`, as several may share a root, or the root."""
    return bool(root := data_root(notebook)) and not Path(root, of).exists()


def _table(path: Path) -> pd.DataFrame:
    with refused(path, "no table ({2})", "Make the figure again", ValueError):
        return read_csv(path)


def _natural(name: str) -> list[tuple[int, str]]:
    """To sort by: fig2a before fig10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def image_size(svg: Path) -> tuple[int, int]:
    """Return the width and height in CSS pixels of an image of `style.save`.

    Raises DataError for a file that is no such image.
    """
    todo = "Make the figure again"
    with refused(svg, "cannot be read ({})", todo, OSError), svg.open(encoding="utf-8") as file:
        head = file.read(2000)
    size = re.search(r'<svg[^>]* viewBox="0 0 ([0-9.]+) ([0-9.]+)"', head)
    if size is None:
        raise DataError.of(svg, "an image without a size", todo)
    return round(float(size[1]) * 4 / 3), round(float(size[2]) * 4 / 3)
