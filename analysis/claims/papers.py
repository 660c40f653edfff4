"""The claims of all papers, assessed on the runs that are there."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from analysis.claims import battling2013, codel2012, gbw2015, khademi2013
from analysis.claims.explanation import Explanation
from analysis.claims.measure import measure_paper
from analysis.claims.statement import PAPERS, read_claims
from analysis.claims.verdict import Assessment, Rule, assess
from analysis.errors import DataError


class Rules(NamedTuple):
    """What a paper's claims mean, and what explains those that disagree."""

    rules: Mapping[str, Rule]
    explanations: Mapping[str, Explanation]


RULES: Final = {
    "battling2013": Rules(battling2013.RULES, battling2013.EXPLANATIONS),
    "codel2012": Rules(codel2012.RULES, codel2012.EXPLANATIONS),
    "gbw2015": Rules(gbw2015.RULES, gbw2015.EXPLANATIONS),
    "khademi2013": Rules(khademi2013.RULES, khademi2013.EXPLANATIONS),
}
"""Papers without an entry have no rules yet."""


def assess_papers(
    data: Path, published: Path, papers: Iterable[str] = PAPERS, *, jobs: int | None = None
) -> list[Assessment]:
    """Every claim of `papers`, from the files of `published`, on the runs below `data`.

    `jobs` processes read the runs, by default one a core. Raises DataError for a file that cannot
    be used, and where a rule has no claim.
    """
    found: list[Assessment] = []
    for paper in papers:
        claims = read_claims(published, paper)
        rules = RULES.get(paper, Rules({}, {}))
        stray = sorted({*rules.rules, *rules.explanations} - {claim.id for claim in claims})
        if stray:
            path = published / f"claims-{paper}.csv"
            raise DataError.of(path, f"lacks {', '.join(stray)}", "Restore it from the repository")
        table = measure_paper(data, paper, jobs=jobs)
        found += assess(claims, rules.rules, table, rules.explanations, data)
    return found
