"""The one rule that decides a claim's condition on measured values.

A check is decided by the interval of its effect over seeds: it holds where the interval lies within
the bounds, fails where it lies outside of them, and is open where it straddles one. A claim agrees,
disagrees or, where it is open, is undecided, unless all of the interval is close to the bound
(docs/claims.md).
"""

import itertools
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final, Literal

import numpy as np
import pandas as pd

from qdisclab.analysis.claims.check import (
    RATIO,
    Check,
    Condition,
    Every,
    Lacking,
    Missing,
    Printed,
    Quantity,
    Same,
    Some,
    leaves,
)
from qdisclab.analysis.claims.effect import Effect, effect, number
from qdisclab.analysis.claims.record import Verdict as Verdict
from qdisclab.analysis.measures.registry import metrics
from qdisclab.analysis.measures.table import SAME_AS
from qdisclab.analysis.runs.flentfile import Floats
from qdisclab.analysis.runs.statement import Claim

Rule = Condition | Same | Callable[[Claim], Condition]
"""A condition, or a function that makes one of the values that the claim prints; or the rule of
another claim."""

ALPHA: Final = 0.05
CLOSE: Final = 0.03  # of the bound, or of what is compared: what the papers call identical

#: What a claim lacks of which everything was measured.
OPEN: Final[tuple[Missing, ...]] = ("seeds", "spread", "distance", "resolution")

#: What stands first in the way of a verdict: runs that are missing before seeds that are few, and
#: last that an effect is at its bound.
_ORDER: Final[tuple[Missing, ...]] = ("read back", "setting", "rule", "data", "metric", *OPEN)


#: What a claim lacks -> what can be said of it; NOT_YET of others.
OF_LACKS: Final[Mapping[Missing, Verdict]] = {
    "distance": Verdict.AT_BOUND,
    "spread": Verdict.UNDECIDED,
    "read back": Verdict.AS_SET,
}


TIE: Final = "tie"
Answer = bool | Literal["tie"] | None
"""Whether a condition holds; None where that is open, TIE where the values that are compared are
the same to the resolution of the measure."""


@dataclass(frozen=True)
class Finding:
    """One check with its effect; `holds` is None where that is open or a tie, `lacks` says why."""

    check: Check
    effect: Effect | None
    holds: bool | None
    lacks: Lacking | None = None

    @property
    def answer(self) -> Answer:
        """Whether the check holds, or that it is a tie."""
        return TIE if self.lacks and self.lacks.missing == "resolution" else self.holds


@dataclass(frozen=True)
class Judgement:
    """A claim in one era and with one congestion control."""

    era: str
    cc: str
    verdict: Verdict
    findings: tuple[Finding, ...] = ()
    lacks: Lacking | None = None  # of AT_BOUND, UNDECIDED, AS_SET, NOT_YET
    deciding: tuple[Finding, ...] = ()  # of the findings, those that have the whole's answer
    explained_by: str = ""  # only of EXPLAINED,
    before: Verdict | None = None  # and what it was without that
    worse: tuple[str, ...] = ()  # claims that agree but for the variation that explains this one
    partly: str = ""  # a variation that makes it agree, but is not run for all cells
    varied: Mapping[str, Verdict] = field(default_factory=dict)  # with each variation that it has

    @property
    def experiments(self) -> frozenset[str]:
        """The experiments whose runs its checks look at."""
        return frozenset(of.experiment for f in self.findings for of in f.check.quantities)

    @property
    def complete(self) -> bool:
        """Whether everything was measured that it needs."""
        return self.lacks is None or self.lacks.missing in OPEN

    def explained(self, by: str, worse: tuple[str, ...] = ()) -> "Judgement":
        """Return it as explained `by` something that makes it agree."""
        agreeing = replace(self, verdict=Verdict.EXPLAINED, lacks=None, before=self.verdict)
        return replace(agreeing, explained_by=by, worse=worse)


@dataclass(frozen=True)
class Assessment:
    """A claim and its judgements; `headline` is the one that counts."""

    claim: Claim
    judgements: tuple[Judgement, ...]
    same: str = ""  # the claim that says the same, and is counted
    in_sample: bool = False  # runs that it rests on were looked at before its rule was fixed

    @property
    def headline(self) -> Judgement:
        """The judgement of the paper's era and CUBIC, or the first that has all data."""
        return next((of for of in self.judgements if of.complete), self.judgements[0])


class Measured:
    """A table of MEASURED, looked up by cell and metric."""

    def __init__(self, table: pd.DataFrame) -> None:
        self._values: dict[tuple[str, ...], dict[int, float]] = {}
        columns = [*CELL, "metric", "seed", "value"]
        for *key, seed, value in table[columns].sort_values("seed").itertuples(index=False):
            self._values.setdefault(tuple(key), {})[seed] = value
        self.cells = {key[:-1] for key in self._values}  # that have any run, whatever it measured

    def of(self, cell: tuple[str, ...], metric: str) -> Mapping[int, float]:
        """Return the metric of the runs of a cell by seed; empty where no run has it."""
        return self._values.get((*cell, metric), {})


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

    def distinct(self, quantities: Sequence[Quantity], seeds: Sequence[int]) -> list[int]:
        """Return those of `seeds` that do not equal an earlier one in all `quantities`."""
        sames = [self._source(of).of(self._cell(of), SAME_AS) for of in quantities]
        first: dict[tuple[float, ...], int] = {}
        for seed in seeds:
            first.setdefault(tuple(same.get(seed, seed) for same in sames), seed)
        return [*first.values()]

    def of(self, quantity: Quantity) -> Mapping[int, float]:
        """Return the quantity by seed; empty where no run has it."""
        return self._source(quantity).of(self._cell(quantity), quantity.metric)

    def _source(self, quantity: Quantity) -> Measured:
        """Return the table that has the quantity: of what is changed, or of the era."""
        changed = self.changed and self.changed.of(self._cell(quantity), quantity.metric)
        return self.changed if self.changed and changed else self.measured

    def lack(self, quantity: Quantity) -> Lacking:
        """Return why there is no value: no run of the cell, or none that measured the metric."""
        cell = self._cell(quantity)
        text = f"{', '.join(cell[1:])}, era {self.era}"
        if cell in self.measured.cells:
            title = metrics()[quantity.metric].title
            return Lacking(f"{title}, which the runs of {text}, do not have", "metric")
        return Lacking(f"runs of {text}", "data")

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
    lacks = [*leaves(condition, Lacking), *(finding.lacks for finding in findings if finding.lacks)]
    first = min(lacks, key=lambda lack: _ORDER.index(lack.missing))
    if more := sum(lack.missing == first.missing for lack in lacks) - 1:
        others = ("1 more check is", f"{more} more checks are")[more > 1]
        and_more = f"; {others} open" if first.missing in OPEN else f", and {more} more"
        first = replace(first, what=f"{first.what}{and_more}")
    verdict = OF_LACKS.get(first.missing, Verdict.NOT_YET)
    return Judgement(*where, verdict, tuple(findings), first)


def _decide(
    condition: Condition, values: Values, hold: float, fail: float, findings: list[Finding]
) -> tuple[Answer, list[Finding]]:
    """Return whether `condition` holds (Kleene's logic; None: open), and the checks that say so.

    Parts that are a tie say nothing; where all are, the whole is one.

    `hold` and `fail` are the error probabilities allowed for either answer. `Every` fails if any
    of its parts does, so that each gets its share of `fail`, as Bonferroni has it; all of them
    have to hold, each at the whole `hold`. `Some` is the other way round.
    """
    match condition:
        case Lacking():
            return None, []
        case Check():
            finding = _find(condition, values, hold, fail)
            findings.append(finding)
            return finding.answer, [finding]
        case Every(parts):
            fail /= len(parts)
            order = (False, None, True)
        case Some(parts):
            hold /= len(parts)
            order = (True, None, False)
    answers = [_decide(part, values, hold, fail, findings) for part in parts]
    whole: Answer = next((answer for answer in order if answer in [of for of, _ in answers]), TIE)
    return whole, [finding for answer, own in answers if answer is whole for finding in own]


def _find(check: Check, values: Values, hold: float, fail: float) -> Finding:
    """Return the effect of a check, and whether it holds or what it lacks."""
    by_seed = [values.of(quantity) for quantity in check.quantities]
    for quantity, of_seed in zip(check.quantities, by_seed, strict=True):
        if not of_seed:
            return Finding(check, None, None, values.lack(quantity))
    seeds = sorted(set.intersection(*map(set, by_seed)))
    if not seeds:
        return Finding(check, None, None, Lacking(f"{check.text}: no seed in common", "seeds"))
    distinct = values.distinct(check.quantities, seeds)
    alike = len(distinct) == 1 < len(seeds)  # decided by the value: nothing was random
    seeds = seeds if alike else distinct
    table = tuple(tuple(of_seed[seed] for seed in seeds) for of_seed in by_seed)
    samples: list[Floats] = list(map(np.array, table))
    medians = tuple(quantity.median for quantity in check.quantities)
    loads = values.loads.get(check.quantities[0].experiment, 1)
    strata = tuple((seed - 1) % loads for seed in seeds)
    statistic = check.statistic
    if statistic is RATIO and np.isinf(check.low) and min(table[0]) <= 0 < min(table[1]):
        # "at most half": holds of a latency below the idle link's, which has no logarithm
        statistic = replace(RATIO, logarithmic=False)
    try:
        size = replace(_effect(table, statistic, medians, strata), alike=alike)
    except ValueError as error:
        return Finding(check, None, None, Lacking(f"{check.text}: {error}", "metric"))
    if isinstance(check, Printed):
        check = check.bounded(samples)
        holds = agrees(check, size)
    else:
        holds = decide(check, size, hold, fail)
    if holds is None:
        largest = max(abs(float(sample.mean())) for sample in samples)
        straddles: Missing = "distance" if at_bound(check, size, largest) else "spread"
        missing = "seeds" if np.isnan(size.interval()[0]) else straddles
        return Finding(check, size, None, Lacking(_open(check, size), missing))
    if _tie(check, samples):
        same = f"{check.text}: the same to the resolution of the measure"
        return Finding(check, size, None, Lacking(same, "resolution"))
    return Finding(check, size, holds)


#: Variations and eras ask for the same effect many times.
_effect: Final = lru_cache(maxsize=2**14)(effect)


def agrees(check: Printed, size: Effect) -> bool | None:
    """Return whether the effect is within the bounds of a printed value.

    One seed outside them says nothing of the spread: None.
    """
    inside = check.low <= size.value <= check.high
    return None if not inside and size.seeds < 2 else inside


def decide(check: Check, size: Effect, hold: float = ALPHA, fail: float = ALPHA) -> bool | None:
    """Return True within the bounds, False outside, None across one of them or for one seed."""
    low, high = size.interval(hold)
    if np.isnan(low):
        return None
    within, apart = (operator.lt, operator.le) if check.strict else (operator.le, operator.lt)
    if within(check.low, low) and within(high, check.high):
        return True
    low, high = size.interval(fail)
    return False if apart(high, check.low) or apart(check.high, low) else None


def _tie(check: Check, samples: Sequence[Floats]) -> bool:
    """Return whether the answer changes if each mean is off by half of its measure's resolution."""
    steps = [metrics()[quantity.metric].step for quantity in check.quantities]
    if check.statistic.spread or not any(steps):
        return False
    means = np.array([sample.mean() for sample in samples])
    reach = [(-step / 2, step / 2) if step else (0.0,) for step in steps]
    values = (float(check.statistic.of(means + off)) for off in itertools.product(*reach))
    return len({check.low <= value <= check.high for value in values}) > 1


def at_bound(check: Check, size: Effect, largest: float) -> bool:
    """Return whether all of the effect's interval is within CLOSE of each bound that it straddles.

    For a mean or a ratio that is relative to the bound, for differences to the `largest` of the
    means that are compared, as their bound is mostly 0.
    """
    low, high = size.interval()
    relative = check.statistic.relative
    if relative is None or not (relative or check.low <= size.value <= check.high):
        return False  # of no size to compare with, or of the wrong sign
    straddled = [bound for bound in (check.low, check.high) if low <= bound <= high]
    near = [CLOSE * (abs(bound) if relative else largest) for bound in straddled]
    off = [max(bound - low, high - bound) for bound in straddled]
    return bool(straddled) and all(map(operator.le, off, near))


def _open(check: Check, size: Effect) -> str:
    """Return why a check is open, for people."""
    seeds = f"{size.seeds} seeds"
    unit = f" {check.unit}" if check.unit else ""
    if size.alike:
        measured = f"{number(size.value)}{unit}, {seeds} that came out the same"
    elif size.seeds < 2:
        return f"{check.text}: one seed has no interval"
    elif np.isnan(size.error):
        return f"{check.text}: {seeds} of {size.strata} loads, of one load one only"
    else:
        measured = f"{' to '.join(map(number, size.interval()))}{unit}, {seeds}"
    return f"{check.text}: {measured}; asked for {check.bounds}"
