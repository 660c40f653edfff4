"""The claims of studies, assessed on the runs that are there.

A claim is judged in each era and with each congestion control that there are runs of (`verdict`).
Where it disagrees or stays open, a variation of its experiments may explain it (`explanation`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from qdisclab.analysis.claims import record
from qdisclab.analysis.claims.check import Check, Condition, Lacking, Same, leaves
from qdisclab.analysis.claims.explanation import Cell, Variation
from qdisclab.analysis.claims.plugin import MODULE, Rules, rules_of
from qdisclab.analysis.claims.record import Verdict
from qdisclab.analysis.claims.summary import as_json
from qdisclab.analysis.claims.verdict import Assessment, Judgement, Measured, Rule, Values, judge
from qdisclab.analysis.errors import DataError
from qdisclab.analysis.measures.table import measure_study
from qdisclab.analysis.runs.statement import Claim, read_claims
from qdisclab.analysis.runs.study import StudyFolder
from qdisclab.emulation.config import ownfile
from qdisclab.emulation.model.era import ERAS
from qdisclab.emulation.model.run import DEFAULT_ERA

#: The eras that decide where a study fixes none: the latest first.
ALL_ERAS: Final = tuple(sorted({*ERAS} - {DEFAULT_ERA}, reverse=True))
CCS: Final = ("cubic", "reno")  # the papers show CUBIC; others come behind
_LOAD: Final = ["experiment", "link", "cc"]  # of several eras the first that has it counts


def verdicts(
    data: Path,
    studies: Iterable[StudyFolder],
    anew: Callable[[StudyFolder], None] = lambda study: None,
    *,
    jobs: int | None = None,
) -> list[record.Claim]:
    """Return every claim of `studies` with its verdicts on the runs below `data`.

    They are computed once (`record`); `anew` gets each study whose claims are assessed now, before
    that. Raises DataError as `assess_study` does, and where claims of two studies have one id.
    """
    studies = list(studies)
    claims: list[record.Claim] = []
    for study in studies:

        def compute(study: StudyFolder = study) -> list[record.Claim]:
            anew(study)
            return as_json(assess_study(study, data, jobs=jobs))

        claims += record.verdicts(study, data, compute) or []
    record.require_distinct(claims, studies)
    return claims


def assess_study(study: StudyFolder, data: Path, *, jobs: int | None = None) -> list[Assessment]:
    """Assess every claim of `study` on the runs below `data`.

    `jobs` processes read the runs, by default one per core. Raises DataError as `read` does, and
    for a run that cannot be used.
    """
    claims, reading = read(study)
    if not claims:
        return []
    table = measure_study(study, study.runs_root(data), jobs=jobs)
    return assess(claims, reading.rules, table, reading.variations, design_of(study))


def read(study: StudyFolder) -> tuple[list[Claim], Rules]:
    """Return the claims of `study` and what they mean.

    Raises DataError for a file that cannot be used, where a rule has no claim or names an unknown
    one, and where it asks for a metric or a cell that does not exist.
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


@dataclass(frozen=True)
class Design:
    """What a study fixes of its experiments before their runs are made, by their names."""

    loads: Mapping[str, int] = field(default_factory=dict)  # loads that repetitions take in turn
    seeds: Mapping[str, int] = field(default_factory=dict)  # repetitions; others are not looked at
    seen: Mapping[str, int] = field(default_factory=dict)  # of them looked at before, at most
    eras: tuple[str, ...] = ALL_ERAS  # of the paper's kernel, in the order in which they decide
    cells: frozenset[Cell] | None = None  # that the study itself has; None: whatever was run

    def rows(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of the repetitions that are fixed."""
        if not self.seeds or table.empty:
            return table
        return table[table["seed"] <= table["experiment"].map(dict(self.seeds)).fillna(np.inf)]


def design_of(study: StudyFolder) -> Design:
    """Return what the study's file fixes of its experiments, by the labels of their points."""
    fixed, experiments = study.about.fixed, study.about.experiments
    labels = [(label, of) for of in experiments for label in (of.name, *of.labels)]
    points, own = [point for of in experiments for point in of.points], ownfile.names(study.name)
    return Design(
        {label: of.traffic.loads_in_turn for label, of in labels if of.traffic.loads_in_turn > 1},
        {label: fixed.repetitions[of.name] for label, of in labels if of.name in fixed.repetitions},
        {label: fixed.seen[of.name] for label, of in labels if of.name in fixed.seen},
        fixed.eras or ALL_ERAS,
        frozenset((of.label, of.link.name, of.qdisc) for of in points if of.qdisc not in own),
    )


def assess(
    claims: Sequence[Claim],
    rules: Mapping[str, Rule],
    table: pd.DataFrame,
    variations: Sequence[Variation] = (),
    design: Design | None = None,
) -> list[Assessment]:
    """Judge every claim in every era and congestion control of which `table` has anything, that of
    another kernel than the default last.

    `table` is one of MEASURED. A claim that disagrees or stays open is explained where one of
    `variations`, run for all cells of its experiments, makes it agree; one that disagrees in
    today's era also where it agrees in the paper's.
    """
    design = design or Design()
    table = design.rows(table)
    papers = [era for era in design.eras if era in set(table["era"])]
    first = _first_of(papers, table)
    joined = " or ".join(papers)  # of each load the first era that has it
    table = pd.concat([table, first.assign(era=joined)], ignore_index=True)
    papers.append(joined)
    run = {(str(era), str(cc)) for era, cc in table[["era", "cc"]].drop_duplicates().to_numpy()}
    ccs = [*CCS, *sorted({cc for _, cc in run} - {*CCS})]
    kernels = sorted({era for era, _ in run if era.startswith(f"{DEFAULT_ERA}@")})
    eras = dict.fromkeys((*papers, DEFAULT_ERA, *kernels))
    contexts = [(era, cc) for era in eras for cc in ccs if (era, cc) in run]
    contexts = contexts or [(design.eras[0], CCS[0])]
    conditions = {claim.id: condition_of(claim, claims, rules) for claim in claims}
    measured = Measured(table)
    judgements: dict[tuple[str, str], dict[str, Judgement]] = {}
    for era, cc in contexts:
        values = Values(measured, era, cc, loads=design.loads)
        judged = {id_: judge(condition, values) for id_, condition in conditions.items()}
        for variation in variations:
            if variation.era == era:
                judged |= _explained(variation, judged, conditions, values, table, design.cells)
        if era == DEFAULT_ERA or era in kernels:
            past = [judgements[paper, cc] for paper in papers if (paper, cc) in judgements]
            judged |= _agreeing_before(judged, past)
        judgements[era, cc] = judged
    loads = first[[*_LOAD, "era"]].drop_duplicates().itertuples(index=False)
    era_of = {tuple(load): str(era) for *load, era in loads}
    for (era, _), judged in judgements.items():
        if era == joined:
            judged.update({id_: _named(of, era_of, design.eras) for id_, of in judged.items()})
    contexts.sort(key=lambda context: (context[0] in kernels, ccs.index(context[1])))
    assessments = []
    for claim in claims:
        own: dict[tuple[str, str], Judgement] = {}
        for context in contexts:
            judgement = judgements[context][claim.id]
            own.setdefault((judgement.era, judgement.cc), judgement)
        rule = rules.get(claim.id)
        same = rule.claim if isinstance(rule, Same) else ""
        assessment = Assessment(claim, tuple(own.values()), same)
        # it rests on runs that were looked at before the rules were fixed
        seen = any(design.seen.get(name, 0) > 0 for name in assessment.headline.experiments)
        assessments.append(replace(assessment, in_sample=seen))
    return assessments


def _first_of(eras: Sequence[str], table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the first of `eras` that has the most qdiscs, for each experiment, link
    and control: a trial of three of seven decides nothing.

    One era needs no such table; the result is then empty.
    """
    if len(eras) < 2:
        return table.iloc[:0]
    rows = table[table["era"].isin(eras)]
    qdiscs = rows.groupby([*_LOAD, "era"])["qdisc"].transform("nunique")
    whole = rows[qdiscs == qdiscs.groupby([rows[name] for name in _LOAD]).transform("max")]
    rank = whole["era"].map(eras.index)
    return whole[rank == rank.groupby([whole[name] for name in _LOAD]).transform("min")]


def _named(
    judgement: Judgement, era_of: Mapping[tuple[str, ...], str], eras: Sequence[str]
) -> Judgement:
    """Call a judgement over several `eras` by those that it looked at; `era_of` has each load's."""
    quantities = (of for finding in judgement.findings for of in finding.check.quantities)
    used = {era_of.get((of.experiment, of.link, of.cc or judgement.cc)) for of in quantities}
    named = " or ".join(era for era in eras if era in used)
    return replace(judgement, era=named or judgement.era)


def condition_of(claim: Claim, claims: Iterable[Claim], rules: Mapping[str, Rule]) -> Condition:
    """Return what `rules` say of a claim, or of the one that says the same."""
    none = Lacking("no rule yet", "rule")
    rule = rules.get(claim.id, none)
    if isinstance(rule, Same):
        same = next((other for other in claims if other.id == rule.claim), None)
        if isinstance(rules.get(rule.claim), Same):
            remedy = f"Name the claim that {rule.claim} is the same as"
            raise DataError.of(f"RULES[{claim.id!r}]", f"{rule.claim} has no rule itself", remedy)
        return condition_of(same, claims, rules) if same else none
    return rule(claim) if callable(rule) else rule


def _explained(
    variation: Variation,
    judged: Mapping[str, Judgement],
    conditions: Mapping[str, Condition],
    values: Values,
    table: pd.DataFrame,
    own_cells: frozenset[Cell] | None,
) -> dict[str, Judgement]:
    """Return the judgements that `variation` changes: those that it explains, wholly or in part.

    Only cells that are `known` have to be run: a qdisc of the reader's is none of the paper's.
    """
    wanted, run = variation.cells(table, values.cc)
    if own_cells is not None:
        wanted, run = wanted & own_cells, run & own_cells
    if not run:
        return {}
    changed = replace(values, changed=Measured(variation.measured(table)))
    looks_at = {
        id_: {of.experiment for check in leaves(rule, Check) for of in check.quantities}
        & set(variation.experiments)
        for id_, rule in conditions.items()
    }
    varied = {id_: judge(conditions[id_], changed).verdict for id_ in judged if looks_at[id_]}
    fails = (id_ for id_, verdict in varied.items() if verdict != Verdict.AGREES)
    worse = tuple(id_ for id_ in fails if judged[id_].verdict == Verdict.AGREES)
    changes = {}
    for id_, verdict in varied.items():
        judgement = judged[id_]
        judgement = replace(judgement, varied={**judgement.varied, str(variation): verdict})
        changes[id_] = judgement
        is_open = judgement.complete and judgement.lacks is not None
        if verdict != Verdict.AGREES or not (is_open or judgement.verdict == Verdict.DISAGREES):
            continue
        own, own_run = (sum(cell[0] in looks_at[id_] for cell in cells) for cells in (wanted, run))
        if own_run == own:
            changes[id_] = judgement.explained(str(variation), worse)
        else:
            cells = f"{own_run} of {own} cells"
            changes[id_] = replace(judgement, partly=f"{variation}, of which {cells} are run")
    return changes


def _agreeing_before(
    judged: Mapping[str, Judgement], papers: Sequence[Mapping[str, Judgement]]
) -> dict[str, Judgement]:
    """Explain what disagrees, and agrees in the first of the paper's eras that has all data."""
    agreeing = {}
    for id_, judgement in judged.items():
        past = next((era[id_] for era in papers if era[id_].complete), None)
        if judgement.verdict == Verdict.DISAGREES and past and past.verdict == Verdict.AGREES:
            agreeing[id_] = judgement.explained(f"era {past.era}")
    return agreeing
