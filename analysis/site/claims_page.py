"""What `results/` and the README show of the claims."""

import json
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from analysis.claims.summary import as_json, count, effect_text, era_text, printed, why
from analysis.claims.verdict import ALPHA, Assessment, Verdict
from analysis.site import pages
from analysis.site.report import CLAIMS


def write_claims(results: Path, assessments: Sequence[Assessment]) -> Path:
    """Write claims.json and the page claims.html into `results`; returns the page's path."""
    results.mkdir(parents=True, exist_ok=True)
    text = json.dumps(as_json(assessments), indent=1, ensure_ascii=False)
    (results / CLAIMS).write_text(text + "\n", encoding="utf-8")
    page = results / pages.CLAIMS_PAGE
    page.write_text(render(assessments), encoding="utf-8")
    return page


def render(assessments: Sequence[Assessment]) -> str:
    """The page's HTML."""
    filters = {"why": why, "era": era_text, "effect": effect_text, "printed": printed}
    environment = pages.environment()
    environment.filters.update(filters)
    counts = {tally.paper: tally for tally in count(assessments)}
    papers = []
    for paper, group in groupby(assessments, key=lambda one: one.claim.paper):
        about = {"paper": pages.of_paper(paper), "count": counts[paper]}
        papers.append({**about, "assessments": [*group]})
    totals = {v: sum(one.by_verdict[v] for one in counts.values()) for v in Verdict}
    lacks = sorted({kind for one in counts.values() for kind in one.by_lack})
    return environment.get_template(pages.CLAIMS_PAGE).render(
        root="", here=pages.CLAIMS_PAGE, there=[pages.INDEX, pages.CLAIMS_PAGE, pages.RUNS_PAGE],
        papers=papers, verdicts=list(Verdict), totals=totals, lacks=lacks,
        claims=len(assessments), level=round(100 * (1 - ALPHA)),
    )  # fmt: skip
