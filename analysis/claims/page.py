"""What `results/` and the README show of the claims."""

import json
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from analysis.claims.summary import as_json, count, effect_text, era_text, printed, why
from analysis.claims.verdict import ALPHA, Assessment, Verdict

PAGE: Final = "claims.html"
JSON: Final = "claims.json"
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
    "battling2013": ("Battling Bufferbloat", "Student project, Roskilde University (2013)", ""),
}
"""paper -> title, authors and place, address"""


def write_claims(results: Path, assessments: Sequence[Assessment]) -> Path:
    """Write claims.json and the page claims.html into `results`; returns the page's path."""
    results.mkdir(parents=True, exist_ok=True)
    text = json.dumps(as_json(assessments), indent=1, ensure_ascii=False)
    (results / JSON).write_text(text + "\n", encoding="utf-8")
    page = results / PAGE
    page.write_text(render(assessments), encoding="utf-8")
    return page


def render(assessments: Sequence[Assessment]) -> str:
    """The page's HTML."""
    loader = PackageLoader("analysis", "templates")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    filters = {"why": why, "era": era_text, "effect": effect_text, "printed": printed}
    environment.filters.update(filters)
    counts = {one.paper: one for one in count(assessments)}
    papers = []
    for paper, group in groupby(assessments, key=lambda one: one.claim.paper):
        title, source, address = PAPERS[paper]
        facts = {"title": title, "source": source, "address": address}
        papers.append({**facts, "count": counts[paper], "assessments": [*group]})
    totals = {v: sum(one.by_verdict[v] for one in counts.values()) for v in Verdict}
    lacks = sorted({kind for one in counts.values() for kind in one.by_lack})
    return environment.get_template(PAGE).render(
        papers=papers, verdicts=list(Verdict), totals=totals, lacks=lacks,
        claims=len(assessments), level=round(100 * (1 - ALPHA)),
    )  # fmt: skip
