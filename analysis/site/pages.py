"""What all pages of `results/` share: the papers, how templates are rendered, and where pages are.

    index.html                       the papers, and what they come to
    <paper>/index.html               its figures, small
    <paper>/<figure>/index.html      a figure, what it shows, and how to make it
    <paper>/<figure>/notebook.html   the executed notebook of a figure
    claims.html                      every claim of every paper
    search.html                      all figures, statements and runs by name
    runs.html                        what ran, a line per experiment and era
    runs/<paper>/<variant>.html      what ran, run by run

No page needs a network, a server or, but for filters and what a pointer shows, a script; each names
the only scripts that it allows, and all follow the reader's light or dark setting.
"""

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from qdisclab.analysis.claims.record import Claim
from qdisclab.analysis.runs import study
from qdisclab.analysis.runs.settings import in_headers, in_words
from qdisclab.analysis.site import verdicts
from qdisclab.analysis.words import duration
from qdisclab.emulation import project
from qdisclab.emulation.model.era import SWITCHES, TESTBED
from qdisclab.emulation.model.run import Study

TEMPLATES: Final = Path(__file__).parent / "templates"
INDEX: Final = "index.html"
CLAIMS_PAGE: Final = "claims.html"
RUNS_PAGE: Final = "runs.html"
SEARCH_PAGE: Final = "search.html"


#: How a count says what "Agrees" of a table says.
COUNTED: Final = {"yes": "agree", "no": "do not", "agrees": "agree", "disagrees": "disagree"}


def of_paper(name: str) -> Study:
    """Return what the study of that name says of its paper.

    A study of none is introduced by its title alone, and one that this call does not know by its
    name.
    """
    abouts = (folder.about for folder in study.known() if folder.name == name)
    return next(abouts, Study(name, name, "", ()))


def has_paper(name: str) -> bool:
    """Return whether the study of that name is of a paper, whose figures its own stand for."""
    return bool(of_paper(name).source)


def citation() -> str:
    """Return how to cite the project, of its CITATION.cff; nothing where it does not lie here."""
    path = project.ROOT / "CITATION.cff"
    if not path.is_file():
        return ""
    about = yaml.safe_load(path.read_text(encoding="utf-8"))
    authors = ", ".join(author["name"] for author in about["authors"])
    return f"{authors}: {about['title']}. Version {about['version']}."


def cited(text: str, claims: Iterable[Claim], page: str = "") -> Markup:
    """Return `text` with each claim that it names linked to `page`, where there is one, and with
    its verdict beside it."""
    by_id = {claim["id"]: claim["verdict"] for claim in claims}

    def link(match: re.Match[str]) -> str:
        name, verdict = match[0], by_id.get(match[0])
        if verdict is None or not page:
            return name
        html = Markup('<a href="{}#{}">{}</a> <span class="{}">{}</span>')
        return html.format(page, name, name, kind(verdict), verdict)

    return Markup(re.sub(r"\b[a-z]\d{3}\b", link, str(escape(text))))


def kind(word: str) -> str:
    """Return a word or a heading as the name of a class or an anchor: "not-yet-testable"."""
    return re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-")


def changes(eras: str) -> list[str]:
    """Return in which ways these eras differ from a release of Linux: "without: the emulated delay
    varies"."""
    restores = {switch.name: switch.restores for switch in (*SWITCHES, *TESTBED)}
    pairs = dict.fromkeys(re.findall(r"([+-])(\w+)", eras.replace("@linux-", "")))
    words = {"+": "with", "-": "without"}
    return [f"{words[sign]} {name.replace('_', ' ')}: {restores[name]}" for sign, name in pairs]


@cache  # it keeps the templates that it has compiled
def common() -> Environment:
    """Return what all pages are rendered with."""
    loader = PackageLoader("qdisclab.analysis.site", "templates")
    templates = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    templates.filters |= {
        "duration": duration, "linux": in_words, "headers": in_headers, "changes": changes,
        "decided": verdicts.decided, "cited": cited, "kind": kind, "anchor": kind,
        "counted": lambda word: COUNTED.get(word, word), "hashes": hashes, "source": source,
    }  # fmt: skip
    return templates


def source(script: str) -> Markup:
    """Return one of the scripts that pages may have."""
    return Markup((TEMPLATES / script).read_text(encoding="utf-8"))


def hashes(scripts: Sequence[str]) -> str:
    """Return what the policy of a page allows: these scripts and no other."""
    digests = (hashlib.sha256(source(script).encode()).digest() for script in scripts)
    return " ".join(f"'sha256-{b64encode(of).decode()}'" for of in digests) or "'none'"


def render(template: str, root: str = "", scripts: Sequence[str] = (), **facts: Any) -> str:
    """Return a page's HTML; `root` is where index.html lies as seen from the page: "" or "../"."""
    return common().get_template(template).render(root=root, scripts=scripts, **facts)
