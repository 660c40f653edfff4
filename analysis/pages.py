"""What all pages of `results/` share: the papers, how templates are rendered, and where pages are.

    index.html                       the papers, and what they come to
    <paper>/index.html               its figures
    <paper>/<figure>/notebook.html   the executed notebook of a figure
    claims.html                      every claim of every paper
    runs.html                        what ran, a line an experiment and era
    runs/<paper>/<variant>.html      what ran, run by run

No page needs a network, a server or, but for the filters of the claims, a script; all follow the
reader's light or dark setting.
"""

from dataclasses import dataclass
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

INDEX: Final = "index.html"
CLAIMS_PAGE: Final = "claims.html"
RUNS_PAGE: Final = "runs.html"


@dataclass(frozen=True)
class Paper:
    """How a paper is introduced."""

    title: str
    source: str  # authors, place and year
    address: str  # empty where there is none


PAPERS: Final = {
    "gbw2015": Paper(
        "The Good, the Bad and the WiFi",
        "Høiland-Jørgensen, Hurtig, Brunstrom, Computer Networks 89 (2015)",
        "https://doi.org/10.1016/j.comnet.2015.07.014",
    ),
    "khademi2013": Paper(
        "The New AQM Kids on the Block",
        "Khademi, Ros, Welzl, Technical Report 434, University of Oslo (2013)",
        "https://www.duo.uio.no/handle/10852/37381",
    ),
    "codel2012": Paper(
        "Controlling Queue Delay",
        "Nichols, Jacobson, Communications of the ACM 55(7) (2012)",
        "https://queue.acm.org/detail.cfm?id=2209336",
    ),
    "battling2013": Paper(
        "Battling Bufferbloat",
        "Høiland-Jørgensen, student project, Roskilde University (2013)",
        "",
    ),
}
OWN: Final = Paper("The emulation itself", "Measurements of this project, of no paper", "")


def of_paper(name: str) -> Paper:
    """The paper of that name; what is of none is this project's own."""
    return PAPERS.get(name, OWN)


def in_order(papers: set[str]) -> list[str]:
    """The papers in the order of PAPERS, behind them what is of none."""
    return [one for one in PAPERS if one in papers] + sorted(papers - set(PAPERS))


def environment() -> Environment:
    """What pages are rendered with."""
    loader = PackageLoader("analysis", "templates")
    found = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    found.filters["duration"] = duration
    return found


def render(template: str, root: str = "", **facts: Any) -> str:
    """A page's HTML; `root` is where index.html lies as seen from the page: "" or "../"."""
    return environment().get_template(template).render(root=root, **facts)


def duration(seconds: float) -> str:
    """Seconds as people say them: "48 s", "12 min", "3.4 h"."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
