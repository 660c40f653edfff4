"""What all pages of `results/` share: the papers, how templates are rendered, and where pages are.

    index.html                       the papers, and what they come to
    <paper>/index.html               its figures
    <paper>/<figure>/notebook.html   the executed notebook of a figure
    claims.html                      every claim of every paper
    runs.html                        what ran, a line per experiment and era
    runs/<paper>/<variant>.html      what ran, run by run

No page needs a network, a server or, but for the filters of the claims, a script; all follow the
reader's light or dark setting.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from analysis.runs import study
from analysis.site.verdicts import decided
from analysis.words import duration
from emulation.model.run import Study

INDEX: Final = "index.html"
CLAIMS_PAGE: Final = "claims.html"
RUNS_PAGE: Final = "runs.html"


@dataclass(frozen=True)
class Paper:
    """How a paper is introduced."""

    title: str
    source: str  # authors, place and year
    address: str  # empty where there is none


def of_paper(name: str) -> Paper:
    """Return the paper of the study of that name.

    A study of none is introduced by its title alone, and one that this call does not know by its
    name.
    """
    about = _about(name)
    return Paper(about.title, about.source, about.address) if about else Paper(name, "", "")


def has_paper(name: str) -> bool:
    """Return whether the study of that name is of a paper, whose figures its own stand for."""
    about = _about(name)
    return about is not None and bool(about.source)


def _about(name: str) -> Study | None:
    return next((folder.about for folder in study.known() if folder.name == name), None)


@cache  # it keeps the templates that it has compiled
def common() -> Environment:
    """Return what all pages are rendered with."""
    loader = PackageLoader("analysis.site", "templates")
    templates = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    templates.filters |= {"duration": duration, "decided": decided}
    return templates


def render(template: str, root: str = "", **facts: Any) -> str:
    """Return a page's HTML; `root` is where index.html lies as seen from the page: "" or "../"."""
    return common().get_template(template).render(root=root, **facts)
