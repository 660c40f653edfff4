"""The claims of studies, assessed on the runs that are there."""

from collections.abc import Iterable
from pathlib import Path

from analysis.claims.plugin import rules_of
from analysis.claims.verdict import Assessment, Design, assess
from analysis.errors import DataError
from analysis.measures.table import measure_study
from analysis.runs.statement import Claim, read_claims
from analysis.runs.study import Study, known


def assess_studies(
    data: Path, studies: Iterable[Study] | None = None, *, jobs: int | None = None
) -> list[Assessment]:
    """Every claim of `studies`, or of all that are known, on the runs below `data`.

    `jobs` processes read the runs, by default one a core. Raises DataError for a file that cannot
    be used, where a rule has no claim, and where claims of two studies have one id.
    """
    found: list[Assessment] = []
    for study in known() if studies is None else studies:
        claims, reading = read_claims(study), rules_of(study)
        stray = sorted({*reading.rules} - {claim.id for claim in claims})
        if stray:
            what = f"lacks {', '.join(stray)}, of which {study.rules} has a rule"
            raise DataError.of(study.statements, what, "Add the statement or remove the rule")
        if not claims:
            continue
        _distinct(study, claims, found)
        root = study.runs_root(data)
        table = measure_study(study, root, jobs=jobs)
        found += assess(claims, reading.rules, table, reading.variations, design_of(study))
    return found


def design_of(study: Study) -> Design:
    """What the study's file fixes of its experiments, by the labels of their points."""
    loads, seeds, seen = {}, {}, {}
    fixed = study.about.fixed
    for one in study.about.experiments:
        for label in (one.name, *one.labels):
            if one.traffic.loads_in_turn > 1:
                loads[label] = one.traffic.loads_in_turn
            if one.name in fixed.repetitions:
                seeds[label] = fixed.repetitions[one.name]
            if one.name in fixed.seen:
                seen[label] = fixed.seen[one.name]
    return Design(loads, seeds, seen, *([fixed.eras] if fixed.eras else []))


def _distinct(study: Study, claims: Iterable[Claim], before: Iterable[Assessment]) -> None:
    """Raise DataError where a claim of `study` has the id of one `before`."""
    taken = {one.claim.id: one.claim.paper for one in before}
    for claim in claims:
        if claim.id in taken:
            wrong = f"'{claim.id}' is a claim of {taken[claim.id]} already"
            raise DataError.of(study.statements, wrong, "Begin its ids with other letters")
