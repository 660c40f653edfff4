"""`python -m qdisclab.analysis.site.claims --data data --results results` writes the claims with
their verdicts, and their page.

Exit status 1 where data or statements cannot be used.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from qdisclab.analysis.claims import assess
from qdisclab.analysis.claims.record import Claim
from qdisclab.analysis.claims.verdict import ALPHA, Verdict
from qdisclab.analysis.runs import study
from qdisclab.analysis.site import pages, verdicts
from qdisclab.emulation.host.storage import command


def write_claims(results: Path, claims: Sequence[Claim]) -> Path:
    """Write verdicts.json and the page claims.html into `results`; return the page's path."""
    results.mkdir(parents=True, exist_ok=True)
    text = json.dumps(claims, indent=1, ensure_ascii=False)
    (results / verdicts.FILE).write_text(text + "\n", encoding="utf-8")
    page = results / pages.CLAIMS_PAGE
    page.write_text(render(claims), encoding="utf-8")
    return page


def render(claims: Sequence[Claim]) -> str:
    """Return the page's HTML."""
    papers = []
    for name, group in groupby(claims, key=lambda claim: claim["paper"]):
        own = [*group]
        counted = [claim for claim in own if not claim["same_as"]]
        untested = (claim for claim in counted if claim["verdict"] == Verdict.NOT_YET)
        lacks = Counter(claim["lacks"] for claim in untested)
        papers.append(
            {
                "name": name,
                "paper": pages.of_paper(name),
                "claims": own,
                "counted": len(counted),
                "verdicts": verdicts.count(own),
                "lacks": dict(sorted(lacks.items())),
            }
        )
    return pages.render(
        pages.CLAIMS_PAGE,
        here=pages.CLAIMS_PAGE,
        there=[pages.INDEX, pages.CLAIMS_PAGE, pages.RUNS_PAGE, pages.SEARCH_PAGE],
        scripts=["claims.js"],
        papers=papers,
        verdicts=list(Verdict),
        totals=verdicts.count(claims),
        lacks=sorted({kind for paper in papers for kind in paper["lacks"]}),
        claims=len(claims),
        level=round(100 * (1 - ALPHA)),
    )


@command
def main(arguments: list[str] | None = None) -> int:
    """Run the command line, and return the exit status."""
    parser = argparse.ArgumentParser("python -m qdisclab.analysis.site.claims", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("data"), help="where runs are")
    parser.add_argument("--results", type=Path, default=Path("results"), help="where the page goes")
    parser.add_argument("--jobs", type=int, help="processes that read runs (default: one per core)")
    given = parser.parse_args(arguments)
    claims = assess.verdicts(given.data, study.known(), jobs=given.jobs)
    print(write_claims(given.results, claims))
    return 0


if __name__ == "__main__":
    sys.exit(main())
