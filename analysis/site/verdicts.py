"""The claims that some experiments settle, for the end of a notebook."""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Final

import pandas as pd
from IPython.display import display

from analysis.claims.assessed import design_of
from analysis.claims.check import Check, checks
from analysis.claims.plugin import rules_of
from analysis.claims.summary import era_text, printed, why
from analysis.claims.verdict import Design, assess, condition_of
from analysis.errors import require_one
from analysis.measures.table import measure_study
from analysis.runs.dataset import Dataset
from analysis.runs.statement import Claim, read_claims
from analysis.runs.study import StudyFolder, study_at
from analysis.site.outputs import CLAIMS
from analysis.site.tables import readable

NONE: Final = "No statement rests on these runs alone; the page of all claims has the others."
COLUMNS: Final = ["Claim", "Statement", "Printed", "Verdict", "Era", "Why"]


def require_claimed(
    study: str | Path, *, beside: Collection[str] = (), **places: Collection[str]
) -> None:
    """Raise DataError for an option that says which claims are asked for and means none there is:
    `beside` an experiment of the study in the folder `study`, any other a section or the begin of
    a figure's or table's name. Of a study without claims no place is refused."""
    about = study_at(study)
    for experiment in beside:
        require_one("beside", experiment, about.experiments)
    claims = read_claims(about)
    known = dict.fromkeys(name for one in claims for name in (one.section, one.figure) if name)
    for option, asked in places.items():
        for place in asked:
            if claims and not any(_stands_in(one, [place]) for one in claims):
                require_one(option, place, known)


def of_runs(
    study: str | Path,
    data_root: Path,
    data: Dataset,
    experiments: Collection[str],
    places: Collection[str],
) -> pd.DataFrame:
    """One row per claim: id, statement, printed, verdict, by which era and control, why.

    Those statements of the study in the folder `study` that stand in one of `places` (a section, or
    the begin of a figure's or table's name) and whose rules look at `experiments` and at nothing
    else, judged on the runs below `data_root` of the first era and congestion control in `data`.
    Where that is an era of the paper's, its other eras fill in for runs that this one lacks, so
    that the verdict is that of the page of all claims. Nothing else that the notebook shows counts,
    and claims about both congestion controls are on the page.
    """
    about = study_at(study)
    first = data.runs.iloc[0]
    era, cc = (str(first[name]) for name in ("era", "cc"))
    design = design_of(about)
    eras, varied = [era], set[str]()
    if era in design.eras:
        eras += [one for one in design.eras if one != era]
        for one in rules_of(about).variations:
            if one.experiments.keys() & set(experiments):
                varied |= {one.instead, *one.experiments, *one.experiments.values()}
    chosen = []
    for claim, looked_at in _looked_at(about):
        found = {one.experiment for check in looked_at for one in check.quantities}
        if found and found <= set(experiments) and _stands_in(claim, places):
            chosen.append(claim)
    table = measure_study(
        about, data_root, experiments=varied.union(experiments), eras=varied.union(eras), ccs=[cc]
    )
    return _judged(chosen, about, table, replace(design, eras=tuple(eras)))


def of_table(study: str | Path, table: pd.DataFrame) -> pd.DataFrame:
    """The same of the claims whose rules look at metrics in `table`, of MEASURED, and no others."""
    about = study_at(study)
    known = set(table["metric"])
    chosen = []
    for claim, looked_at in _looked_at(about):
        metrics = {one.metric for check in looked_at for one in check.quantities}
        if metrics and metrics <= known:
            chosen.append(claim)
    return _judged(chosen, about, table, design_of(about))


def _looked_at(study: StudyFolder) -> list[tuple[Claim, list[Check]]]:
    """Each claim of the study that has a rule, with the checks that this is made of."""
    rules = rules_of(study).rules
    claims = read_claims(study)
    return [(claim, [*checks(condition_of(claim, claims, rules))]) for claim in claims]


def _judged(
    claims: list[Claim], study: StudyFolder, table: pd.DataFrame, design: Design
) -> pd.DataFrame:
    rules, variations = rules_of(study)
    wanted = {claim.id for claim in claims}
    rows = [
        (
            one.claim.id,
            one.claim.statement,
            printed(one),
            str(one.headline.verdict),
            era_text(one.headline),
            why(one.headline),
        )
        for one in assess(read_claims(study), rules, table, variations, design)
        if one.claim.id in wanted
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def show(claims: pd.DataFrame) -> None:
    """Show a table of of_runs or of_table; its ids go into the output's metadata, for the pages."""
    display(readable(claims, NONE), metadata={CLAIMS: list(claims["Claim"])})  # type: ignore[no-untyped-call]


def _stands_in(claim: Claim, places: Collection[str]) -> bool:
    return any(claim.section == one or claim.figure.startswith(one) for one in places)
