"""Mutants of the data: each rule of each study fails where what was measured is wrong enough."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain

import numpy as np
import pandas as pd
import pytest

from qdisclab.analysis.claims import check, effect
from qdisclab.analysis.claims.assess import condition_of
from qdisclab.analysis.claims.check import Check, Every, Quantity, leaves
from qdisclab.analysis.claims.plugin import Rules, rules_of
from qdisclab.analysis.claims.verdict import Measured, Values, Verdict, judge
from qdisclab.analysis.measures.registry import metrics
from qdisclab.analysis.measures.table import MEASURED
from qdisclab.analysis.runs.statement import Claim, read_claims
from qdisclab.analysis.runs.study import known, study_at

NOISE = np.array([-0.002, 0.0, 0.002])  # of three seeds, as a share
MUTANTS = 24  # of shuffled values

Mutant = Callable[[Sequence[Quantity]], Sequence[float]]


@cache
def statements(study: str) -> tuple[Rules, tuple[Claim, ...]]:
    found = study_at(study)
    return rules_of(found), tuple(read_claims(found))


def ruled() -> Iterator[tuple[str, str]]:
    """Study and id of each claim that has something to measure."""
    for study in known():
        rules, claims = statements(study.name)
        for claim in claims:
            if any(True for _ in leaves(condition_of(claim, claims, rules.rules), Check)):
                yield study.name, claim.id


def most(quantity: Quantity) -> float:
    """The greatest value that the metric can have in its cell; 1000 where there is no such."""
    unit = metrics()[quantity.metric].unit
    if "jain" in quantity.metric:
        return 1.0
    if unit == "%":
        return 100.0
    if unit == "Mbit/s" and "/" in quantity.link:
        rates = [float(rate) for rate in quantity.link.split("/")]
        return sum(rates) if "total" in quantity.metric else max(rates)
    return 1000.0


def values(shares: Sequence[float], quantities: Sequence[Quantity]) -> list[float]:
    return [share * most(one) for share, one in zip(shares, quantities, strict=True)]


def shuffled(seed: int) -> Mutant:
    def of(quantities: Sequence[Quantity]) -> list[float]:
        shares = np.geomspace(0.01, 0.99, len(quantities))
        return values(np.random.default_rng(seed).permutation(shares), quantities)

    return of


def mutants() -> Iterator[Mutant]:
    """All alike; rising and falling in the order of the rule; all low, all high; shuffled."""
    yield lambda of: values([0.3] * len(of), of)
    yield lambda of: values(np.geomspace(0.01, 0.99, len(of)), of)
    yield lambda of: values(np.geomspace(0.99, 0.01, len(of)), of)
    yield lambda of: values([1e-6] * len(of), of)
    yield lambda of: values([1.0] * len(of), of)
    yield from map(shuffled, range(MUTANTS))


class Mutated(Values):
    """Three seeds of each quantity about the value that it is given."""

    def __init__(self, found: Mapping[Quantity, float]) -> None:
        super().__init__(Measured(pd.DataFrame(columns=list(MEASURED.columns))), "2014", "cubic")
        object.__setattr__(self, "found", found)

    def of(self, quantity: Quantity) -> dict[int, float]:
        """By seed, within what the metric can be."""
        value = self.found[quantity] * (1 + NOISE)  # type: ignore[attr-defined]
        return dict(enumerate(np.minimum(value, most(quantity)).tolist(), start=1))


def verdict(condition: check.Condition, mutant: Mutant) -> Verdict:
    quantities = list(dict.fromkeys(chain(*(one.quantities for one in leaves(condition, Check)))))
    found = dict(zip(quantities, mutant(quantities), strict=True))
    return judge(condition, Mutated(found)).verdict


def kind(condition: check.Condition) -> object:
    """What parts that differ in their cells alone have in common."""
    return tuple(
        (one.statistic.name, one.low, one.high, *(most(each) for each in one.quantities))
        for one in leaves(condition, Check)
    )


def can_fail(condition: check.Condition) -> bool:
    return any(verdict(condition, mutant) == Verdict.DISAGREES for mutant in mutants())


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is wrong enough is so by any interval."""
    monkeypatch.setattr(effect, "RESAMPLES", 100)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # ranks of equal values
@pytest.mark.parametrize(("study", "number"), list(ruled()))
def test_a_rule_fails_on_data_that_is_wrong_enough(study: str, number: str) -> None:
    rules, claims = statements(study)
    (claim,) = (one for one in claims if one.id == number)
    condition = condition_of(claim, claims, rules.rules)
    assert can_fail(condition)
    if isinstance(condition, Every):  # and so does each of its parts, or it tells nothing
        parts = {
            kind(part): part for part in condition.parts if any(True for _ in leaves(part, Check))
        }
        for part in parts.values():
            assert can_fail(part), next(leaves(part, Check)).text


@pytest.mark.parametrize("study", [study.name for study in known()])
def test_each_claim_has_a_rule_about_cells_and_metrics_that_there_are(study: str) -> None:
    rules, claims = statements(study)
    assert set(rules.rules) == {claim.id for claim in claims}
    for claim in claims:  # a rule with others raises DataError
        condition_of(claim, claims, rules.rules)


def test_what_cannot_fail_is_found() -> None:
    jain = Quantity("jain_index", "rtt_fairness", "10/10", "codel")
    goodput = Quantity("goodput_download_mbit_s", "rrul", "10/10", "codel")
    assert can_fail(check.within(jain, high=0.9))
    assert not can_fail(check.within(jain, 0, 1.2))
    assert not can_fail(check.within(goodput, high=10))
