"""The one rule that says what a claim's check comes to, and its use on all claims of a paper.

A check is decided by the interval of its effect over seeds: it holds where the interval lies within
the bounds, fails where it lies outside of them, and is open where it straddles one. A claim agrees,
disagrees, or, where it is open, needs more seeds; unless all of the interval is close to the bound
(docs/claims.md).
"""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, StrEnum
from functools import lru_cache
from typing import Final

import numpy as np
import pandas as pd

from analysis.claims.check import (
    DIFFERENCE,
    FACTOR,
    GROWTH,
    RATIO,
    VALUE,
    Check,
    Condition,
    Every,
    Lacking,
    Missing,
    Printed,
    Quantity,
    Same,
    Some,
    Statistic,
    checks,
)
from analysis.claims.effect import Effect, effect, number
from analysis.claims.explanation import Cell, Variation
from analysis.errors import DataError
from analysis.measures.registry import metrics
from analysis.runs.flentfile import Floats
from analysis.runs.statement import Claim
from emulation.model.run import DEFAULT_ERA

Rule = Condition | Same | Callable[[Claim], Condition]
"""A condition, or what makes one of the values that the claim prints; or another claim's."""

ALPHA: Final = 0.05
CLOSE: Final = 0.03  # of the bound, or of what is compared: what the papers call identical
CCS: Final = ("cubic", "reno")  # the papers show CUBIC; others come behind


#: What a claim lacks of which everything was measured.
OPEN: Final[tuple[Missing, ...]] = ("seeds", "distance", "resolution")


class Verdict(StrEnum):
    """What can be said of a claim."""

    AGREES = "agrees"
    DISAGREES = "disagrees"
    EXPLAINED = "explained"
    AT_BOUND = "at the bound"
    AS_SET = "as set"
    NOT_YET = "not yet testable"


#: What a claim lacks -> what can be said of it; NOT_YET of others.
OF_LACKS: Final[Mapping[Missing, Verdict]] = {
    "distance": Verdict.AT_BOUND,
    "read back": Verdict.AS_SET,
}


class Tie(Enum):
    """What is compared is the same to the resolution of the measure."""

    TIE = "tie"


TIE: Final = Tie.TIE
_LOAD: Final = ("experiment", "link", "cc")  # of all eras the first that has it counts
Answer = bool | Tie | None
"""Whether a condition holds; None where that is open."""


@dataclass(frozen=True)
class Finding:
    """One check with its effect; `holds` is None where that is open or a tie, `lacks` says why."""

    check: Check
    effect: Effect | None
    holds: bool | None
    lacks: tuple[Missing, str] | None = None


@dataclass(frozen=True)
class Judgement:
    """A claim in one era and with one congestion control."""

    era: str
    cc: str
    verdict: Verdict
    findings: tuple[Finding, ...] = ()
    lacks: tuple[Missing, str] | None = None  # of AT_BOUND, AS_SET and NOT_YET
    deciding: tuple[Finding, ...] = ()  # of the findings, those that have the whole's answer
    explained_by: str = ""  # only of EXPLAINED
    worse: tuple[str, ...] = ()  # claims that agree but for what explains this one
    partly: str = ""  # a variation that makes it agree, but is not run for all cells

    @property
    def experiments(self) -> frozenset[str]:
        """Those whose runs its checks look at."""
        return frozenset(one.experiment for f in self.findings for one in f.check.quantities)

    @property
    def complete(self) -> bool:
        """Whether everything was measured that it needs."""
        return self.lacks is None or self.lacks[0] in OPEN


@dataclass(frozen=True)
class Assessment:
    """A claim and what came of it; `headline` is the judgement that counts."""

    claim: Claim
    judgements: tuple[Judgement, ...]
    same: str = ""  # the claim that says the same, and is counted
    in_sample: bool = False  # runs that it rests on were looked at before its rule was fixed

    @property
    def headline(self) -> Judgement:
        """Of the papers' era and CUBIC, or of the first that has all data."""
        return next((one for one in self.judgements if one.complete), self.judgements[0])


class Measured:
    """A table of MEASURED, looked up by cell and metric."""

    def __init__(self, table: pd.DataFrame) -> None:
        self._values: dict[tuple[str, ...], dict[int, float]] = {}
        columns = [*CELL, "metric", "seed", "value"]
        for *key, seed, value in table[columns].sort_values("seed").itertuples(index=False):
            self._values.setdefault(tuple(key), {})[seed] = value
        self._cells = {key[:-1] for key in self._values}

    def of(self, cell: tuple[str, ...], metric: str) -> Mapping[int, float]:
        """The metric of the runs of a cell by seed; empty where no run has it."""
        return self._values.get((*cell, metric), {})

    def has_runs(self, cell: tuple[str, ...]) -> bool:
        """Whether there is a run of the cell, whatever it measured."""
        return cell in self._cells


@dataclass(frozen=True)
class Values:
    """Looks up what runs of one era measured; `changed` come before those of the era.

    `loads` has the experiments of a design with more than one load: seed 1 is the first, and after
    the last one comes the first again.
    """

    measured: Measured = field(repr=False)
    era: str
    cc: str
    changed: Measured | None = field(default=None, repr=False)
    loads: Mapping[str, int] = field(default_factory=dict, repr=False)

    def of(self, quantity: Quantity) -> Mapping[int, float]:
        """The quantity by seed; empty where no run has it."""
        cell = self._cell(quantity)
        changed = self.changed.of(cell, quantity.metric) if self.changed else {}
        return changed or self.measured.of(cell, quantity.metric)

    def has_runs(self, quantity: Quantity) -> bool:
        """Whether there is a run of the quantity's cell, whatever it measured."""
        return self.measured.has_runs(self._cell(quantity))

    def _cell(self, quantity: Quantity) -> tuple[str, ...]:
        cc = quantity.cc or self.cc
        return (self.era, quantity.experiment, quantity.link, quantity.qdisc, cc)


CELL: Final = ("era", "experiment", "link", "qdisc", "cc")


def judge(condition: Condition, values: Values) -> Judgement:
    """Decide `condition`; never EXPLAINED."""
    findings: list[Finding] = []
    holds, deciding = _decide(condition, values, ALPHA, ALPHA, findings)
    where = (values.era, values.cc)
    if isinstance(holds, bool):
        verdict = Verdict.AGREES if holds else Verdict.DISAGREES
        return Judgement(*where, verdict, tuple(findings), deciding=tuple(deciding))
    lacks = _what_lacks(condition, findings)
    verdict = OF_LACKS.get(lacks[0], Verdict.NOT_YET)
    return Judgement(*where, verdict, tuple(findings), lacks)


def _decide(
    condition: Condition, values: Values, hold: float, fail: float, findings: list[Finding]
) -> tuple[Answer, list[Finding]]:
    """Whether `condition` holds (Kleene's logic; None: open), and the checks that say so.

    Parts that are a tie say nothing; where all are, the whole is one.

    `hold` and `fail` are the error probabilities allowed for either answer. `Every` fails if any
    of its parts does, so that each gets its share of `fail`, as Bonferroni has it; all of them
    have to hold, each at the whole `hold`. `Some` is the other way round.
    """
    match condition:
        case Lacking():
            return None, []
        case Check():
            findings.append(_find(condition, values, hold, fail))
            last = findings[-1]
            tie = last.lacks is not None and last.lacks[0] == "resolution"
            return TIE if tie else last.holds, [last]
        case Every(parts):
            share = fail / len(parts)
            order = (False, None, True)
            answers = [_decide(part, values, hold, share, findings) for part in parts]
        case Some(parts):
            share = hold / len(parts)
            order = (True, None, False)
            answers = [_decide(part, values, share, fail, findings) for part in parts]
    whole = next((one for one in order if one in [answer for answer, _ in answers]), TIE)
    return whole, [one for answer, deciding in answers if answer is whole for one in deciding]


def _find(check: Check, values: Values, hold: float, fail: float) -> Finding:
    by_seed = [values.of(quantity) for quantity in check.quantities]
    for quantity, found in zip(check.quantities, by_seed, strict=True):
        if not found:
            return Finding(check, None, None, _no_value(quantity, values))
    seeds = sorted(set.intersection(*(set(found) for found in by_seed)))
    if not seeds:
        return Finding(check, None, None, ("seeds", f"{check.text}: no seed in common"))
    values_of = tuple(tuple(found[seed] for seed in seeds) for found in by_seed)
    samples: list[Floats] = list(map(np.array, values_of))
    try:
        medians = tuple(quantity.median for quantity in check.quantities)
        loads = values.loads.get(check.quantities[0].experiment, 1)
        strata = tuple((seed - 1) % loads for seed in seeds)
        found_effect = _effect(values_of, check.statistic, medians, strata)
    except ValueError as error:
        return Finding(check, None, None, ("metric", f"{check.text}: {error}"))
    if isinstance(check, Printed):
        check = check.bounded(samples)
        holds = agrees(check, found_effect)
    else:
        holds = decide(check, found_effect, hold, fail)
    lacks: tuple[Missing, str] | None = None
    if holds is not None and _tie(check, samples):
        same = "the same to the resolution of the measure"
        return Finding(check, found_effect, None, ("resolution", f"{check.text}: {same}"))
    if holds is None:
        sizes = [abs(float(sample.mean())) for sample in samples]
        near = at_bound(check, found_effect, max(sizes))
        lacks = ("distance" if near else "seeds", _open(check, found_effect))
    return Finding(check, found_effect, holds, lacks)


@lru_cache(maxsize=2**14)
def _effect(
    values: tuple[tuple[float, ...], ...],
    statistic: Statistic,
    medians: tuple[bool, ...],
    strata: tuple[int, ...],
) -> Effect:
    """`effect`, which the many judgements of a claim, of variations and eras, ask for again."""
    return effect(list(map(np.array, values)), statistic, medians, strata)


def agrees(check: Printed, found: Effect) -> bool | None:
    """Whether the effect is within the bounds of a printed value; None of one seed outside them,
    which says nothing of the spread."""
    inside = check.low <= found.value <= check.high
    return None if not inside and found.seeds < 2 else inside


def decide(check: Check, found: Effect, hold: float = ALPHA, fail: float = ALPHA) -> bool | None:
    """Within the bounds: True; outside: False; across one, or of one seed: None."""
    low, high = found.interval(hold)
    if np.isnan(low):
        return None
    if check.strict:
        inside = low > check.low and high < check.high
    else:
        inside = low >= check.low and high <= check.high
    if inside:
        return True
    low, high = found.interval(fail)
    if check.strict:
        outside = high <= check.low or low >= check.high
    else:
        outside = high < check.low or low > check.high
    return False if outside else None


def _tie(check: Check, samples: Sequence[Floats]) -> bool:
    """Whether the answer changes where each mean is off by half of what its measure can tell."""
    steps = [metrics()[quantity.metric].step for quantity in check.quantities]
    if check.statistic.spread or not any(steps):
        return False
    reach = [(-step / 2, step / 2) if step else (0.0,) for step in steps]
    inside = set()
    for off in itertools.product(*reach):
        mean = np.array([sample.mean() + by for sample, by in zip(samples, off, strict=True)])
        value = float(check.statistic.of(mean))
        inside.add(check.low <= value <= check.high)
    return len(inside) > 1


def at_bound(check: Check, found: Effect, largest: float) -> bool:
    """Whether all of the effect's interval is within CLOSE of each bound that it straddles.

    Of a mean or a ratio that is relative to the bound, of differences to the `largest` of the means
    that are compared, as their bound is mostly 0.
    """
    if check.statistic not in (VALUE, FACTOR, RATIO, DIFFERENCE, GROWTH):
        return False
    low, high = found.interval()
    relative = check.statistic in (VALUE, FACTOR, RATIO)
    if not relative and not check.low <= found.value <= check.high:
        return False  # of the wrong sign
    straddled = [bound for bound in (check.low, check.high) if low <= bound <= high]
    return bool(straddled) and all(
        max(bound - low, high - bound) <= CLOSE * (abs(bound) if relative else largest)
        for bound in straddled
    )


def _open(check: Check, found: Effect) -> str:
    if found.seeds < 2:
        return f"{check.text}: one seed has no interval"
    if np.isnan(found.error):
        return f"{check.text}: {found.seeds} seeds of {found.strata} loads, of one load one only"
    low, high = found.interval()
    interval = f"{number(low)} to {number(high)}, {found.seeds} seeds"
    return f"{check.text}: {interval}; asked for {check.bounds}"


def _no_value(quantity: Quantity, values: Values) -> tuple[Missing, str]:
    cell = f"{quantity.experiment}, {quantity.link}, {quantity.qdisc}, {quantity.cc or values.cc}"
    if values.has_runs(quantity):
        what = metrics()[quantity.metric].title
        return "metric", f"{what}, which the runs of {cell}, era {values.era}, do not have"
    return "data", f"runs of {cell}, era {values.era}"


def _what_lacks(condition: Condition, findings: Sequence[Finding]) -> tuple[Missing, str]:
    """What stands first in the way: runs that are missing before seeds that are few, and last that
    an effect is at its bound."""
    own = [(one.missing, one.what) for one in _lacking(condition)]
    reasons = own + [one.lacks for one in findings if one.lacks]
    order: tuple[Missing, ...] = ("read back", "setting", "rule", "data", "metric", *OPEN)
    kind, what = min(reasons, key=lambda reason: order.index(reason[0]))
    more = sum(reason[0] == kind for reason in reasons) - 1
    return kind, f"{what}, and {more} more" if more else what


def _lacking(condition: Condition) -> list[Lacking]:
    match condition:
        case Lacking():
            return [condition]
        case Every(parts) | Some(parts):
            return [one for part in parts for one in _lacking(part)]
        case _:
            return []


@dataclass(frozen=True)
class Design:
    """What a study fixes of its experiments before their runs are made, by their names."""

    loads: Mapping[str, int] = field(default_factory=dict)  # loads that repetitions take in turn
    seeds: Mapping[str, int] = field(default_factory=dict)  # repetitions; others are not looked at
    seen: Mapping[str, int] = field(default_factory=dict)  # of them looked at before, at most
    eras: tuple[str, ...] = ()  # of the paper's kernel, as they decide; none: all whole ones
    cells: frozenset[Cell] | None = None  # that the study itself has; None: whatever was run


def assess(
    claims: Sequence[Claim],
    rules: Mapping[str, Rule],
    table: pd.DataFrame,
    variations: Sequence[Variation] = (),
    design: Design | None = None,
) -> list[Assessment]:
    """Every claim in every era and congestion control of which `table` has anything, of another
    kernel than the default last.

    `table` has the columns of `table.MEASURED`. A claim that disagrees or stays open is explained
    where one of `variations`, run for all cells of its experiments, makes it agree; one that
    disagrees in today's era also where it agrees in the papers'.
    """
    design = design or Design()
    if design.seeds and not table.empty:
        most = table["experiment"].map(dict(design.seeds)).fillna(np.inf)
        table = table[table["seed"] <= most]
    there = set(table["era"].astype(str))
    whole = sorted((era for era in there - {DEFAULT_ERA} if era.isalnum()), reverse=True)
    former = [era for era in design.eras or whole if era in there]
    fixed = design.eras or tuple(former)
    either = _of_either(table, former)
    joined = " or ".join(former)
    table = pd.concat([table, either.assign(era=joined)], ignore_index=True)
    known = {(str(era), str(cc)) for era, cc in table[["era", "cc"]].drop_duplicates().to_numpy()}
    ccs = [*CCS, *sorted({cc for _, cc in known} - {*CCS})]
    others = sorted({era for era, _ in known if era.startswith(f"{DEFAULT_ERA}@")})
    former.append(joined)
    eras = (*former, DEFAULT_ERA, *others)
    contexts = list(dict.fromkeys((era, cc) for era in eras for cc in ccs if (era, cc) in known))
    contexts = contexts or [((*fixed, DEFAULT_ERA)[0], CCS[0])]
    conditions = {claim.id: condition_of(claim, claims, rules) for claim in claims}
    measured = Measured(table)
    found = {}
    for context in contexts:
        values = Values(measured, *context, loads=design.loads)
        found[context] = {id_: judge(rule, values) for id_, rule in conditions.items()}
        for variation in variations:
            if variation.era == values.era:
                found[context] |= _explained(
                    variation, found[context], conditions, values, table, design.cells
                )
    for context in contexts:
        if context[0] in (DEFAULT_ERA, *others):
            then = [found[era, context[1]] for era in former if (era, context[1]) in found]
            found[context] |= _agreeing_then(found[context], then)
    contexts.sort(key=lambda context: (context[0] in others, ccs.index(context[1])))
    results = []
    loads = either[[*_LOAD, "era"]].drop_duplicates()
    of_load = {tuple(load): str(era) for *load, era in loads.itertuples(index=False)}
    for claim in claims:
        judgements = [
            found[context][claim.id]
            if context[0] != joined
            else _named(found[context][claim.id], of_load, fixed)
            for context in contexts
        ]
        first = {(one.era, one.cc): one for one in reversed(judgements)}
        judgements = [one for one in judgements if first[one.era, one.cc] is one]
        rule = rules.get(claim.id)
        same = rule.claim if isinstance(rule, Same) else ""
        one = Assessment(claim, tuple(judgements), same)
        results.append(replace(one, in_sample=_in_sample(one.headline, design)))
    return results


def _of_either(table: pd.DataFrame, eras: Sequence[str]) -> pd.DataFrame:
    """Of each experiment, link and congestion control the rows of the first of `eras` that has any.
    None where there are less than two."""
    if len(eras) < 2:
        return table.iloc[:0]
    former = table[table["era"].isin(eras)]
    rank = former["era"].map(eras.index)
    first = rank.groupby([former[name] for name in _LOAD]).transform("min")
    return former[rank == first]


def _named(
    judgement: Judgement, of_load: Mapping[tuple[str, ...], str], eras: Sequence[str]
) -> Judgement:
    """One of several `eras` together, by those that it looked at; `of_load` has that of each."""
    looked_at = {
        of_load.get((one.experiment, one.link, one.cc or judgement.cc))
        for found in judgement.findings
        for one in found.check.quantities
    }
    named = " or ".join(era for era in eras if era in looked_at)
    return replace(judgement, era=named or judgement.era)


def condition_of(claim: Claim, claims: Iterable[Claim], rules: Mapping[str, Rule]) -> Condition:
    """What `rules` say of a claim, or of the one that says the same."""
    rule = rules.get(claim.id, Lacking("no rule yet", "rule"))
    if isinstance(rule, Same):
        other = {one.id: one for one in claims}.get(rule.claim)
        if isinstance(rules.get(rule.claim), Same):
            remedy = f"Name the claim that {rule.claim} is the same as"
            raise DataError.of(f"RULES[{claim.id!r}]", f"{rule.claim} has no rule itself", remedy)
        return condition_of(other, claims, rules) if other else Lacking("no rule yet", "rule")
    return rule(claim) if callable(rule) else rule


def _explained(
    variation: Variation,
    found: Mapping[str, Judgement],
    conditions: Mapping[str, Condition],
    values: Values,
    table: pd.DataFrame,
    known: frozenset[Cell] | None,
) -> dict[str, Judgement]:
    """What becomes of the judgements on the experiments that `variation` changes. Only cells that
    are `known` have to be run: a qdisc of the reader's is none of the paper's."""
    wanted, there = variation.cells(table, values.cc)
    if known is not None:
        wanted, there = wanted & known, there & known
    if not there:
        return {}
    changed = replace(values, changed=Measured(variation.measured(table)))
    looks_at = {
        id_: {one.experiment for check in checks(rule) for one in check.quantities}
        & set(variation.experiments)
        for id_, rule in conditions.items()
    }
    varied = {id_: judge(conditions[id_], changed).verdict for id_ in found if looks_at[id_]}
    worse = tuple(
        id_
        for id_, verdict in varied.items()
        if found[id_].verdict == Verdict.AGREES and verdict != Verdict.AGREES
    )
    results = {}
    for id_, verdict in varied.items():
        one = found[id_]
        is_open = one.lacks is not None and one.lacks[0] in OPEN
        if verdict != Verdict.AGREES or not (is_open or one.verdict == Verdict.DISAGREES):
            continue
        own, own_there = (
            [cell for cell in cells if cell[0] in looks_at[id_]] for cells in (wanted, there)
        )
        if len(own_there) == len(own):
            by = str(variation)
            results[id_] = replace(
                one, verdict=Verdict.EXPLAINED, lacks=None, explained_by=by, worse=worse
            )
        else:
            cells = f"{len(own_there)} of {len(own)} cells"
            results[id_] = replace(one, partly=f"{variation}, of which {cells} are run")
    return results


def _agreeing_then(
    found: Mapping[str, Judgement], then: Sequence[Mapping[str, Judgement]]
) -> dict[str, Judgement]:
    """Those that disagree, and agree in the first of the papers' eras that has all data."""
    agreeing = {}
    for id_, one in found.items():
        past = next((era[id_] for era in then if era[id_].complete), None)
        if one.verdict == Verdict.DISAGREES and past and past.verdict == Verdict.AGREES:
            agreeing[id_] = replace(
                one, verdict=Verdict.EXPLAINED, lacks=None, explained_by=f"era {past.era}"
            )
    return agreeing


def _in_sample(judgement: Judgement, design: Design) -> bool:
    """Whether it rests on runs that were looked at before the rules were fixed."""
    return any(design.seen.get(experiment, 0) > 0 for experiment in judgement.experiments)
