"""The one rule that says what a claim's check comes to, and its use on all claims of a paper.

A check is decided by the interval of its effect over seeds: it holds where the interval lies within
the bounds, fails where it lies outside of them, and is open where it straddles one. A claim agrees,
disagrees, or, where it is open, needs more seeds; unless all of the interval is close to the bound
(docs/claims.md).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

import numpy as np
import pandas as pd

from analysis.claims.check import (
    DIFFERENCE,
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
    Some,
)
from analysis.claims.effect import Effect, effect, number
from analysis.claims.explanation import Explanation
from analysis.measures.names import METRICS
from analysis.runs.flentfile import Floats
from analysis.runs.statement import Claim
from emulation.model import DEFAULT_ERA

Rule = Condition | Callable[[Claim], Condition]
"""A condition, or what makes one of the values that the claim prints."""

ALPHA: Final = 0.05
CLOSE: Final = 0.03  # of the bound, or of what is compared: what the papers call identical
ERAS: Final = ("2014", "2013", DEFAULT_ERA)  # those of the papers first
CCS: Final = ("cubic", "reno")  # the papers show CUBIC; others come behind


#: What a claim lacks of which everything was measured.
OPEN: Final[tuple[Missing, ...]] = ("seeds", "distance")


class Verdict(StrEnum):
    """What can be said of a claim."""

    AGREES = "agrees"
    DISAGREES = "disagrees"
    EXPLAINED = "explained"
    AT_BOUND = "at the bound"
    NOT_YET = "not yet testable"


@dataclass(frozen=True)
class Finding:
    """One check with its effect; `holds` is None where that is open, `lacks` says why."""

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
    lacks: tuple[Missing, str] | None = None  # only of AT_BOUND and NOT_YET
    explained_by: str = ""  # only of EXPLAINED


@dataclass(frozen=True)
class Assessment:
    """A claim and what came of it; `headline` is the judgement that counts."""

    claim: Claim
    judgements: tuple[Judgement, ...]

    @property
    def headline(self) -> Judgement:
        """Of the papers' era and CUBIC, or of the first that has all data."""
        complete = (one for one in self.judgements if one.lacks is None or one.lacks[0] in OPEN)
        return next(complete, self.judgements[0])


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
    """Looks up what runs of one era measured; `changed` come before those of the era."""

    measured: Measured = field(repr=False)
    era: str
    cc: str
    changed: Measured | None = field(default=None, repr=False)

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
    holds = _decide(condition, values, ALPHA, ALPHA, findings)
    where = (values.era, values.cc)
    if holds is not None:
        verdict = Verdict.AGREES if holds else Verdict.DISAGREES
        return Judgement(*where, verdict, tuple(findings))
    lacks = _what_lacks(condition, findings)
    verdict = Verdict.AT_BOUND if lacks[0] == "distance" else Verdict.NOT_YET
    return Judgement(*where, verdict, tuple(findings), lacks)


def _decide(
    condition: Condition, values: Values, hold: float, fail: float, findings: list[Finding]
) -> bool | None:
    """Whether `condition` holds, None where it is open (Kleene's logic).

    `hold` and `fail` are the error probabilities allowed for either answer. `Every` fails if any
    of its parts does, so that each gets its share of `fail`, as Bonferroni has it; all of them
    have to hold, each at the whole `hold`. `Some` is the other way round.
    """
    match condition:
        case Lacking():
            return None
        case Check():
            findings.append(_find(condition, values, hold, fail))
            return findings[-1].holds
        case Every(parts):
            share = fail / len(parts)
            answers = [_decide(part, values, hold, share, findings) for part in parts]
            return False if False in answers else None if None in answers else True
        case Some(parts):
            share = hold / len(parts)
            answers = [_decide(part, values, share, fail, findings) for part in parts]
            return True if True in answers else None if None in answers else False


def _find(check: Check, values: Values, hold: float, fail: float) -> Finding:
    by_seed = [values.of(quantity) for quantity in check.quantities]
    for quantity, found in zip(check.quantities, by_seed, strict=True):
        if not found:
            return Finding(check, None, None, _no_value(quantity, values))
    seeds = sorted(set.intersection(*(set(found) for found in by_seed)))
    if not seeds:
        return Finding(check, None, None, ("seeds", f"{check.text}: no seed in common"))
    samples: list[Floats] = [np.array([found[seed] for seed in seeds]) for found in by_seed]
    try:
        medians = [quantity.median for quantity in check.quantities]
        found_effect = effect(samples, check.statistic, medians)
    except ValueError as error:
        return Finding(check, None, None, ("metric", f"{check.text}: {error}"))
    if isinstance(check, Printed):
        check = check.bounded(samples[0])
        holds = agrees(check, found_effect)
    else:
        holds = decide(check, found_effect, hold, fail)
    lacks: tuple[Missing, str] | None = None
    if holds is None:
        sizes = [abs(float(sample.mean())) for sample in samples]
        near = at_bound(check, found_effect, max(sizes))
        lacks = ("distance" if near else "seeds", _open(check, found_effect))
    return Finding(check, found_effect, holds, lacks)


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


def at_bound(check: Check, found: Effect, largest: float) -> bool:
    """Whether all of the effect's interval is within CLOSE of each bound that it straddles.

    Of a mean or a ratio that is relative to the bound, of differences to the `largest` of the means
    that are compared, as their bound is mostly 0.
    """
    if check.statistic not in (VALUE, RATIO, DIFFERENCE, GROWTH):
        return False
    low, high = found.interval()
    relative = check.statistic in (VALUE, RATIO)
    straddled = [bound for bound in (check.low, check.high) if low <= bound <= high]
    return bool(straddled) and all(
        max(bound - low, high - bound) <= CLOSE * (abs(bound) if relative else largest)
        for bound in straddled
    )


def _open(check: Check, found: Effect) -> str:
    if found.seeds < 2:
        return f"{check.text}: one seed has no interval"
    low, high = found.interval()
    interval = f"{number(low)} to {number(high)}, {found.seeds} seeds"
    return f"{check.text}: {interval}; asked for {check.bounds}"


def _no_value(quantity: Quantity, values: Values) -> tuple[Missing, str]:
    cell = f"{quantity.experiment}, {quantity.link}, {quantity.qdisc}, {quantity.cc or values.cc}"
    if values.has_runs(quantity):
        return "metric", f"{METRICS[quantity.metric].title} of {cell}"
    return "data", f"runs of {cell}, era {values.era}"


def _what_lacks(condition: Condition, findings: Sequence[Finding]) -> tuple[Missing, str]:
    """What stands first in the way: runs that are missing before seeds that are few, and last that
    an effect is at its bound."""
    own = [(one.missing, one.what) for one in _lacking(condition)]
    reasons = own + [one.lacks for one in findings if one.lacks]
    order: tuple[Missing, ...] = ("setting", "rule", "data", "metric", *OPEN)
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


def assess(
    claims: Sequence[Claim],
    rules: Mapping[str, Rule],
    table: pd.DataFrame,
    explanations: Mapping[str, Explanation] | None = None,
) -> list[Assessment]:
    """Every claim in every era and congestion control of which `table` has anything.

    `table` is of measure.MEASURED. A claim that disagrees or stays open is explained where its
    explanation's measurements, put in place of the era's, make it agree; one that disagrees in
    today's era also where it agrees in the papers'.
    """
    measured = Measured(table)
    known = {(str(era), str(cc)) for era, cc in table[["era", "cc"]].drop_duplicates().to_numpy()}
    ccs = [*CCS, *sorted({cc for _, cc in known} - {*CCS})]
    contexts = [(era, cc) for era in ERAS for cc in ccs if (era, cc) in known]
    results = []
    for claim in claims:
        given = rules.get(claim.id, Lacking("no rule yet", "rule"))
        rule = given(claim) if callable(given) else given
        reason = (explanations or {}).get(claim.id)
        judgements: list[Judgement] = []
        for era, cc in contexts or [(ERAS[0], CCS[0])]:
            values = Values(measured, era, cc)
            one = judge(rule, values)
            disagrees = one.verdict == Verdict.DISAGREES
            by = ""
            if disagrees or (one.lacks and one.lacks[0] in OPEN):
                by = _explained_by(rule, values, reason, table)
            if disagrees and not by:
                by = _era_that_agrees(values, judgements)
            if by:
                one = replace(one, verdict=Verdict.EXPLAINED, lacks=None, explained_by=by)
            judgements.append(one)
        judgements.sort(key=lambda one: ccs.index(one.cc))
        results.append(Assessment(claim, tuple(judgements)))
    return results


def _explained_by(
    rule: Condition, values: Values, reason: Explanation | None, table: pd.DataFrame
) -> str:
    """The experiment that makes the claim agree; empty where none does."""
    if reason is None or reason.era != values.era:
        return ""
    changed = Measured(reason.measured(table))
    agrees = judge(rule, replace(values, changed=changed)).verdict == Verdict.AGREES
    return str(reason) if agrees else ""


def _era_that_agrees(values: Values, before: Sequence[Judgement]) -> str:
    """The papers' era, where the claim agrees in it; empty otherwise."""
    then = [one for one in before if (one.era, one.cc) == (ERAS[0], values.cc)]
    agrees = values.era != ERAS[0] and then and then[0].verdict == Verdict.AGREES
    return f"era {ERAS[0]}" if agrees else ""
