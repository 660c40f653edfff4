"""The claims that some experiments settle, for the end of a notebook."""

from collections.abc import Collection
from pathlib import Path
from typing import Final

import pandas as pd

from analysis.claims.check import checks
from analysis.claims.measure import measure_paper
from analysis.claims.papers import RULES
from analysis.claims.statement import Claim, read_claims
from analysis.claims.summary import printed, why
from analysis.claims.verdict import assess
from analysis.dataset import Dataset
from analysis.outputs import Whole

NONE: Final = "No statement rests on these runs alone; the page of all claims has the others."


def settled(
    data_root: Path,
    data: Dataset,
    experiments: Collection[str],
    places: Collection[str],
    published: Path = Path("../data/published"),
) -> pd.DataFrame:
    """One row a claim: id, statement, printed, verdict, why.

    Those of the paper's statements that stand in one of `places` (a section, or the begin of a
    figure's or table's name) and whose rules look at `experiments` and at nothing else, judged on
    the runs below `data_root` of the first era and congestion control in `data`. Claims about both
    congestion controls are on the page of all claims.
    """
    first = data.runs.iloc[0]
    paper, era, cc = (str(first[name]) for name in ("paper", "era", "cc"))
    rules = RULES[paper].rules
    chosen = []
    for claim in read_claims(published, paper):
        given = rules.get(claim.id)
        rule = given(claim) if callable(given) else given
        looks_at = (
            {one.experiment for check in checks(rule) for one in check.quantities} if rule else ()
        )
        if looks_at and set(looks_at) <= set(experiments) and _stands_in(claim, places):
            chosen.append(claim)
    table = measure_paper(data_root, paper, experiments=experiments, eras=[era], ccs=[cc])
    return _judged(chosen, paper, table)


def settled_by(
    table: pd.DataFrame, paper: str, published: Path = Path("../data/published")
) -> pd.DataFrame:
    """The same of the claims whose rules look at metrics in `table`, of MEASURED, and no others."""
    known = set(table["metric"])
    rules = RULES[paper].rules
    chosen = []
    for claim in read_claims(published, paper):
        given = rules.get(claim.id)
        rule = given(claim) if callable(given) else given
        metrics = {q.metric for check in checks(rule) for q in check.quantities} if rule else set()
        if metrics and metrics <= known:
            chosen.append(claim)
    return _judged(chosen, paper, table)


def _judged(claims: list[Claim], paper: str, table: pd.DataFrame) -> pd.DataFrame:
    rows = [
        (
            one.claim.id,
            one.claim.statement,
            printed(one),
            str(one.headline.verdict),
            why(one.headline),
        )
        for one in assess(claims, RULES[paper].rules, table)
    ]
    found = Whole(rows, columns=["Claim", "Statement", "Printed", "Verdict", "Why"])
    found.attrs["none"] = NONE
    return found


def _stands_in(claim: Claim, places: Collection[str]) -> bool:
    return any(claim.section == one or claim.figure.startswith(one) for one in places)
