"""The pages of `results/`, written by `python -m qdisclab.analysis.site.report`.

`analysis.site.pages` says which there are. They show the figures that `site.execute` left in
`<results>/<paper>/<figure>/`, lead to the page of the claims where `site.claims` left one, and
tell of every run below the folder of the data. Exit status 1 when there is nothing to show.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from qdisclab.analysis.claims.record import Claim
from qdisclab.analysis.claims.verdict import ALPHA
from qdisclab.analysis.errors import DataError
from qdisclab.analysis.plots.style import looks
from qdisclab.analysis.runs import study
from qdisclab.analysis.site import pages, verdicts
from qdisclab.analysis.site.execute import PAGE
from qdisclab.analysis.site.gallery import Shown, collect
from qdisclab.analysis.site.inventory import Variant, variants, write_runs
from qdisclab.analysis.site.outputs import SUMMARY
from qdisclab.analysis.site.tables import MISSES
from qdisclab.emulation.host import storage
from qdisclab.emulation.host.storage import command
from qdisclab.emulation.model.run import era_and_kernel, variant_name
from qdisclab.emulation.study import studies
from qdisclab.emulation.study.schema import unknown

DRAWING: Final = ("uplot.js", "draw.js")  # what draws the points of a table


def claims_of(shown: Shown, claims: Sequence[Claim]) -> list[Claim]:
    """Return the claims that belong to a figure: those in its places that rest on its runs, and all
    that the paper states of it, whatever runs they need and whatever came of them."""
    first = _first(shown, claims)
    own = (claim for claim in claims if claim["paper"] == shown.summary.paper)
    more = (claim for claim in own if verdicts.belongs(claim["figure"], shown.summary.figure))
    return [*first, *(claim for claim in more if claim not in first)]


def _first(shown: Shown, claims: Iterable[Claim]) -> list[Claim]:
    """Return the claims in the places of a figure that rest on its runs."""
    own = (claim for claim in claims if claim["paper"] == shown.summary.paper)
    return verdicts.of_places(own, shown.summary.claims, shown.experiments)


@dataclass(frozen=True)
class Site:
    """What the pages of `results` that show figures are made of."""

    results: Path
    figures: list[Shown]
    claims: list[Claim]
    there: set[str]  # the pages beside index.html
    ran: Sequence[Variant] = ()  # runs that have pages of their own
    failed: Sequence[str] = ()  # ids of the runs, of any paper, that figures lack
    earlier: bool = False  # whether the claims are as an earlier call left them
    grows: bool = False  # whether pages of figures that are newer than these stay as they are

    def index(self) -> str:
        """Return the HTML of the page that leads to all others.

        Raises DataError where a study names a cover or a claim that it does not have.
        """
        papers = []
        for name, group in groupby(self.figures, key=lambda shown: shown.summary.paper):
            own, claims = [*group], self._claims(name)
            papers.append(
                {
                    "name": name,
                    "paper": pages.of_paper(name),
                    "figures": own,
                    "cover": _cover(name, own),
                    "claims": claims,
                    "verdicts": verdicts.count(claims),
                    "counted": counted(own),
                }
            )
        return pages.render(
            "index.html", here=pages.INDEX, there=self.there, papers=papers, looks=looks(),
            of_papers=sum(bool(of["paper"].source) for of in papers),
            verdicts=verdicts.count(self.claims), earlier=self.earlier, failed=self.failed,
            level=round(100 * (1 - ALPHA)), citation=pages.citation(),
            counted=counted(self.figures), **totals(self.figures),
        )  # fmt: skip

    def paper(self, name: str, figures: list[Shown]) -> str:
        """Return the HTML of the page of a paper, or of what is of none, with its `figures`."""
        sections, claims = groupby(figures, key=lambda of: of.section), self._claims(name)
        return pages.render(
            "paper.html", "../", here="", there=self.there, name=name, paper=pages.of_paper(name),
            figures=figures, claims=claims, counted=counted(figures),
            verdicts=verdicts.count(claims), earlier=self.earlier,
            sections=[(section, [*own]) for section, own in sections],
            failed=[run for run in self.failed if run.startswith(f"{name}/")], **totals(figures),
        )  # fmt: skip

    def figure_pages(self, name: str, figures: list[Shown]) -> Iterator[tuple[Path, str]]:
        """Yield the page of each of a paper's `figures`, and its HTML."""
        ran = {variant.name for variant in self.ran if variant.paper == name}
        beside = zip([None, *figures], figures, [*figures[1:], None], strict=False)
        for before, shown, after in beside:
            page = self.results / shown.folder / pages.INDEX
            drawn = page.with_name(SUMMARY)
            if self.grows and page.is_file() and page.stat().st_mtime_ns > drawn.stat().st_mtime_ns:
                continue
            yield page, pages.render(
                "figure.html", "../../", here="", there=self.there, paper=pages.of_paper(name),
                shown=shown, summary=shown.summary, before=before, after=after, variants=ran,
                verdicts=verdicts.count(shown.claims), scripts=DRAWING if shown.charts else (),
            )  # fmt: skip

    def search(self) -> str:
        """Return the HTML of the page that finds figures, statements and experiments by words."""
        figures = [
            (f"{of.folder}/index.html", of.folder, f"{of.label}: {of.summary.title}", of.sentence)
            for of in self.figures
        ]
        claims = [
            (f"{pages.CLAIMS_PAGE}#{of['id']}", of["id"], of["statement"], of["verdict"])
            for of in self.claims
        ]
        runs = [
            (f"runs/{of.paper}/{of.name}.html", f"{of.paper}/{of.name}", "",
             f"{of.facts['runs']} runs: {', '.join(of.qdiscs)}") for of in self.ran
        ]  # fmt: skip
        groups = [("Figures", figures), ("Statements", claims), ("Runs", runs)]
        return pages.render(
            "search.html", here=pages.SEARCH_PAGE, there=self.there, scripts=["search.js"],
            groups=[(what, entries) for what, entries in groups if entries],
        )  # fmt: skip

    def _with_claims(self, figures: Iterable[Shown]) -> list[Shown]:
        """Return figures with the claims that belong to them, and the notes on their runs."""
        notes = {
            (ran.paper, ran.name, *cell): of for ran in self.ran for cell, of in ran.notes.items()
        }
        return [
            replace(shown, claims=claims_of(shown, self.claims), notes=_notes(shown, notes))
            for shown in figures
        ]

    def _claims(self, paper: str) -> list[Claim]:
        return [claim for claim in self.claims if claim["paper"] == paper]

    def write(self) -> list[Path]:
        """Write the pages, each in one step, and return their paths."""
        html = {self.results / pages.INDEX: self.index()}
        if self.ran:
            html[self.results / pages.SEARCH_PAGE] = self.search()
        names = {folder.name for folder in study.known()}
        for name, group in groupby(self.figures, key=lambda shown: shown.summary.paper):
            page = self.results / name / pages.INDEX
            if name not in names and page.is_file():
                continue  # of another call, which knew what the study says of itself
            own = self._with_claims(group)
            html |= {page: self.paper(name, own), **dict(self.figure_pages(name, own))}
        for page, text in html.items():
            storage.write(page, text)
        return [*html]


def _cover(name: str, figures: list[Shown]) -> Shown:
    """Return the figure that stands for a study: what its file names, or else one with a picture
    and printed values."""
    cover = pages.of_paper(name).cover
    folder = next((of for of in study.known() if of.name == name), None)
    if folder and cover and cover not in (names := [path.stem for path in folder.figures]):
        wrong, todo = unknown("figure", cover, names)
        raise DataError.of(folder.folder / studies.FILE, f"cover: {wrong}", todo)
    return max(
        figures, key=lambda of: (of.name == cover, of.size is not None, of.summary.compared > 0)
    )


def counted(figures: Iterable[Shown]) -> dict[str, int]:
    """Return how many printed values of `figures` that count agree, or are off by how much."""
    counts = sum((Counter(shown.counted) for shown in figures), Counter[str]())
    return {word: counts[word] for word in ("yes", *MISSES) if counts[word]}


def _notes(
    shown: Shown, notes: Mapping[tuple[str, str, str, str, str], tuple[str, ...]]
) -> list[str]:
    """Return the notes on the runs of a figure, each with the qdiscs and controls that it is
    about."""
    about: dict[str, list[str]] = {}
    for cell in shown.summary.cells:
        variant = variant_name(cell["experiment"], *era_and_kernel(cell["era"]))
        place = (shown.summary.paper, variant, cell["link"], cell["qdisc"], cell["cc"])
        for note in notes.get(place, ()):
            about.setdefault(note, []).append(f"{cell['qdisc']}, {cell['cc']}")
    return [f"{'; '.join(dict.fromkeys(cells))}: {note}" for note, cells in about.items()]


def write_report(
    results: Path, data: Path, failed: Sequence[str] = (), *, earlier: bool = False
) -> list[Path]:
    """Write all pages but that of the claims into `results`, and return their paths.

    `data` is the folder that the figures' runs are in, `failed` the ids of those that they lack;
    `earlier`: the claims were not settled along with these figures. The pages say both. Raises
    DataError where there is no figure, and for a file that cannot be used.
    """
    figures = collect(results)
    claims = verdicts.read(results)
    for shown in figures if claims else ():
        if shown.has_page:
            page = results / shown.folder / PAGE
            verdicts.fill(page, _first(shown, claims), shown.summary.setting)
    ran = variants(data)
    last = {pages.RUNS_PAGE, pages.SEARCH_PAGE}  # there with runs
    there = (_beside(results) - last) | (last if ran else set())
    runs = write_runs(ran, results, there)
    return [*Site(results, figures, claims, there, ran, failed, earlier).write(), *runs]


def grow(results: Path, failed: Sequence[str] = ()) -> None:
    """Write the pages that show figures, of those that are there by now, while others are drawn;
    `failed` as in `write_report`.

    Raises DataError as `write_report` does.
    """
    figures, claims = collect(results), verdicts.read(results)
    there = _beside(results)
    Site(results, figures, claims, there, failed=failed, earlier=True, grows=True).write()


def _beside(results: Path) -> set[str]:
    """Return index.html and the names of the pages beside it."""
    names = (pages.CLAIMS_PAGE, pages.RUNS_PAGE, pages.SEARCH_PAGE)
    return {pages.INDEX, *(name for name in names if (results / name).is_file())}


def totals(figures: list[Shown]) -> dict[str, Any]:
    """Return the facts over all figures of papers, or over all where none is; figures that share
    runs count them once, and a table of measurements, whose cells have no times, none."""
    summaries = [shown.summary for shown in figures if shown.of_paper]
    summaries = summaries or [shown.summary for shown in figures]
    key = ("experiment", "era", "link", "qdisc", "cc")
    cells = {
        (summary.paper, tuple(summary.lengths_s), *(cell[name] for name in key)): cell
        for summary in summaries
        for cell in summary.cells
        if "virtual_s" in cell
    }.values()
    return {
        "runs": sum(len(cell["seeds"]) for cell in cells),
        **{name: sum(cell[name] for cell in cells) for name in ("virtual_s", "wall_s")},
        "releases": sorted({of["release"] for summary in summaries for of in summary.kernels}),
    }


@command
def main(arguments: list[str] | None = None) -> int:
    """Run the command line, and return the exit status."""
    parser = argparse.ArgumentParser("python -m qdisclab.analysis.site.report", description=__doc__)
    parser.add_argument("--results", type=Path, default=Path("results"), help="where figures are")
    parser.add_argument("--data", type=Path, default=Path("data"), help="root of the runs")
    earlier = "the claims, if any, are of an earlier call"
    parser.add_argument("--earlier-claims", action="store_true", help=earlier)
    parser.add_argument("--failed", nargs="*", default=[], metavar="RUN", help="figures lack it")
    given = parser.parse_args(arguments)
    written = write_report(given.results, given.data, given.failed, earlier=given.earlier_claims)
    print(written[0])
    return 0


if __name__ == "__main__":
    sys.exit(main())
