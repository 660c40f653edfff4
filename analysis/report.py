"""The results page: `python -m analysis.report --results results` writes results/index.html.

It shows the figures that `analysis.execute` left in `<results>/<paper>/<figure>/`, and leads to the
page of the claims where `analysis.claims` left one; the page needs no network and no script, and
follows the reader's light or dark setting. Exit status 1 when there is nothing to show.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from analysis.errors import DataError
from analysis.execute import PAGE
from analysis.outputs import FIGURE, SUMMARY, TABLE, Summary, ranges, read_summary, readable
from analysis.settings import Setting
from analysis.style import in_order

PAPERS: Final = {
    "gbw2015": (
        "The Good, the Bad and the WiFi",
        "Høiland-Jørgensen, Hurtig, Brunstrom, Computer Networks 89 (2015)",
        "https://doi.org/10.1016/j.comnet.2015.07.014",
    ),
    "khademi2013": (
        "The New AQM Kids on the Block",
        "Khademi, Ros, Welzl, Technical Report 434, University of Oslo (2013)",
        "https://www.duo.uio.no/handle/10852/37381",
    ),
    "codel2012": (
        "Controlling Queue Delay",
        "Nichols, Jacobson, Communications of the ACM 55(7) (2012)",
        "https://queue.acm.org/detail.cfm?id=2209336",
    ),
    "battling2013": (
        "Battling Bufferbloat",
        "Høiland-Jørgensen, student project, Roskilde University (2013)",
        "",
    ),
}
"""paper -> title, authors and place, address"""
OWN: Final = ("The emulation itself", "Measurements of this project, of no paper", "")
CLAIMS: Final = "claims.json"


@dataclass(frozen=True)
class Shown:
    """One figure as the template takes it."""

    anchor: str
    folder: str  # relative to the page
    summary: Summary
    headers: list[str]
    rows: list[list[str]]
    has_page: bool

    @property
    def figure(self) -> str:
        """File stem of the image, relative to the page."""
        return f"{self.folder}/{FIGURE}"

    @property
    def of_paper(self) -> bool:
        """Whether it stands for a figure of a paper, made of runs."""
        return self.summary.paper in PAPERS

    @property
    def label(self) -> str:
        """ "Fig. 2a", "Table 2", or the title of a figure that no paper has."""
        name = self.summary.figure
        if not self.of_paper:
            return self.summary.title
        return f"Fig. {name}" if name[:1].isdigit() else name

    @property
    def runs(self) -> int:
        """Of all its cells."""
        return sum(len(cell["seeds"]) for cell in self.summary.cells)

    @property
    def ran(self) -> list[str]:
        """What ran, a line an experiment, era, congestion control and link."""
        lines: dict[str, dict[str, list[str]]] = {}
        for cell in self.summary.cells:
            title = Setting(cell["era"], cell["cc"]).title
            seeds = lines.setdefault(f"{cell['experiment']}, {title}, {cell['link']} Mbit/s", {})
            seeds.setdefault(ranges(cell["seeds"]), []).append(cell["qdisc"])
        return [
            f"{line}: " + "; ".join(f"seeds {s} of {', '.join(in_order(q))}" for s, q in of.items())
            for line, of in lines.items()
        ]


def collect(results: Path) -> list[Shown]:
    """The figures below `results`, in the order of papers and figures.

    Raises DataError when there is none.
    """
    found = []
    for path in sorted(results.glob(f"*/*/{SUMMARY}")):
        summary = read_summary(path)
        table = readable(pd.read_csv(path.with_name(TABLE)))
        found.append(
            Shown(
                anchor=f"{summary.paper}-{path.parent.name}",
                folder=path.parent.relative_to(results).as_posix(),
                summary=summary,
                headers=list(table.columns),
                rows=table.to_numpy().tolist(),
                has_page=path.with_name(PAGE).is_file(),
            )
        )
    if not found:
        raise DataError.of(results, "no figure in it", "Make one with `python -m analysis.execute`")
    return found


def environment() -> Environment:
    """What pages are rendered with."""
    loader = PackageLoader("analysis", "templates")
    found = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    found.filters["duration"] = duration
    return found


def render(figures: list[Shown], verdicts: Mapping[str, int] | None = None) -> str:
    """The page's HTML; `verdicts` are the numbers of claims by verdict, where there are any."""
    papers = []
    for paper, group in groupby(figures, key=lambda shown: shown.summary.paper):
        title, source, address = PAPERS.get(paper, OWN)
        papers.append({"title": title, "source": source, "address": address, "figures": [*group]})
    template = environment().get_template("report.html")
    return template.render(papers=papers, verdicts=verdicts or {}, **_totals(figures))


def read_verdicts(results: Path) -> dict[str, int]:
    """How many claims have come to which verdict; empty where they were not assessed.

    Raises DataError for a file that is not what `analysis.claims` writes.
    """
    path = results / CLAIMS
    if not path.is_file():
        return {}
    try:
        return dict(Counter(one["verdict"] for one in json.loads(path.read_text())))
    except (ValueError, KeyError, TypeError) as error:
        remedy = "Make it again with `python -m analysis.claims`"
        raise DataError.of(path, f"not a list of claims ({error})", remedy) from error


def write_report(results: Path) -> Path:
    """Write `<results>/index.html` and return its path."""
    page = results / "index.html"
    page.write_text(render(collect(results), read_verdicts(results)), encoding="utf-8")
    return page


def duration(seconds: float) -> str:
    """Seconds as people say them: "48 s", "12 min", "3.4 h"."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def _totals(figures: list[Shown]) -> dict[str, Any]:
    """Facts over all figures of papers; figures that share runs count them once."""
    summaries = [shown.summary for shown in figures if shown.of_paper]
    key = ("experiment", "era", "link", "qdisc", "cc")
    cells = {
        (one.paper, tuple(one.lengths_s), *(cell[name] for name in key)): cell
        for one in summaries
        for cell in one.cells
    }.values()
    kernels = {(k["release"], k["digest"]) for one in summaries for k in one.kernels}
    return {
        "runs": sum(len(cell["seeds"]) for cell in cells),
        "virtual_s": sum(cell["virtual_s"] for cell in cells),
        "wall_s": sum(cell["wall_s"] for cell in cells),
        "kernels": sorted(kernels),
        "compared": sum(one.compared for one in summaries),
        "agreeing": sum(one.agreeing for one in summaries),
    }


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m analysis.report", description=__doc__)
    parser.add_argument("--results", type=Path, default=Path("results"), help="where figures are")
    given = parser.parse_args(arguments)
    try:
        print(write_report(given.results))
    except DataError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
