"""The claims of studies, assessed on the runs that are there."""

from pathlib import Path

from analysis.claims.check import Same
from analysis.claims.plugin import MODULE, Rules, rules_of
from analysis.claims.verdict import Assessment, Design, assess, condition_of
from analysis.errors import DataError
from analysis.measures.table import measure_study
from analysis.runs.statement import Claim, read_claims
from analysis.runs.study import StudyFolder
from emulation.config import ownfile


def assess_study(study: StudyFolder, data: Path, *, jobs: int | None = None) -> list[Assessment]:
    """Every claim of `study` on the runs below `data`.

    `jobs` processes read the runs, by default one a core. Raises DataError as `read` does, and for
    a run that cannot be used.
    """
    claims, reading = read(study)
    if not claims:
        return []
    table = measure_study(study, study.runs_root(data), jobs=jobs)
    return assess(claims, reading.rules, table, reading.variations, design_of(study))


def read(study: StudyFolder) -> tuple[list[Claim], Rules]:
    """The claims of `study` and what they mean.

    Raises DataError for a file that cannot be used, where a rule has no claim or is the same as one
    that there is not, and where it asks for what there is not.
    """
    claims, reading = read_claims(study), rules_of(study)
    same = {rule.claim for rule in reading.rules.values() if isinstance(rule, Same)}
    stray = sorted({*reading.rules, *same} - {claim.id for claim in claims})
    if stray:
        what = f"lacks {', '.join(stray)}, of which {study.path_of(MODULE)} has a rule"
        raise DataError.of(study.statements, what, "Add the statement or remove the rule")
    for claim in claims:
        condition_of(claim, claims, reading.rules)
    return claims, reading


def design_of(study: StudyFolder) -> Design:
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
    joined = ownfile.names(study.name)
    cells = frozenset(
        (point.label, point.link.name, point.qdisc)
        for one in study.about.experiments
        for point in one.points
        if point.qdisc not in joined
    )
    return Design(loads, seeds, seen, fixed.eras, cells)
