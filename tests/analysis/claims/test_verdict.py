"""One rule decides: what a check asks for, what is measured, and what is missing."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest

from qdisclab.analysis.claims import check, verdict
from qdisclab.analysis.claims.assess import Design, assess
from qdisclab.analysis.claims.check import (
    DIFFERENCE,
    RANKS,
    RATIO,
    VALUE,
    Check,
    Quantity,
    every,
    some,
)
from qdisclab.analysis.claims.effect import Effect
from qdisclab.analysis.claims.summary import effect_text, why
from qdisclab.analysis.claims.verdict import Verdict, decide
from qdisclab.analysis.measures.registry import registry_of
from qdisclab.analysis.measures.table import SAME_AS
from qdisclab.analysis.runs.study import study_at
from tests.analysis.claims.cases import CODEL, HIGH, LOW, PIE, WIDE, claim, measured, verdict_of


@pytest.mark.parametrize(
    ("value", "error", "expected"),
    [(-5, 1, True), (5, 1, False), (-2, 1, None), (2, 1, None), (0, 0, False)],
)
def test_an_interval_across_the_bound_is_open(
    value: float, error: float, expected: bool | None
) -> None:
    # t(0.975, 4) = 2.776
    assert decide(check.less(CODEL, PIE), Effect(value, error, 5)) is expected


def test_bounds_belong_to_the_range() -> None:
    exactly = check.within(CODEL, 0, 0)
    assert decide(exactly, Effect(0, 0, 5)) is True
    assert decide(exactly, Effect(0.001, 0, 5)) is False
    assert decide(exactly, Effect(0.001, 0.001, 5)) is None
    assert decide(exactly, Effect(0, float("nan"), 1)) is None  # one seed proves nothing


@pytest.mark.parametrize(
    ("statistic", "low", "high", "interval", "close"),
    [
        (VALUE, -math.inf, 80, (77.7, 82.3), True),  # within 2.4
        (VALUE, -math.inf, 80, (77.5, 81), False),
        (RATIO, 0.5, 2, (1.95, 2.05), True),
        (RATIO, 0.5, 2, (1.95, 2.07), False),
        (VALUE, 79, 80, (78.8, 80.2), True),  # straddles both, and is close to both
        (VALUE, 79, 81, (78.8, 82.4), False),
        (DIFFERENCE, -math.inf, 0, (-2.9, 2.9), True),  # of values of 100
        (DIFFERENCE, -math.inf, 0, (-2.9, 3.1), False),
        (VALUE, 0, 0, (-0.001, 0.001), False),  # nothing is close to zero
        (RANKS, 0.8, math.inf, (0.79, 0.81), False),
        (VALUE, -math.inf, 80, (70, 79), False),  # does not straddle it
        (VALUE, -math.inf, 80, (math.nan, math.nan), False),
    ],
)
def test_an_interval_all_of_which_is_close_to_the_bound(
    statistic: check.Statistic, low: float, high: float, interval: tuple[float, float], close: bool
) -> None:
    class Known(Effect):
        def interval(self, alpha: float = 0.05) -> tuple[float, float]:
            return interval

    asked = Check(statistic, (CODEL, PIE), low, high)
    assert verdict.at_bound(asked, Known(0, 0, 5), 100.0) is close
    if statistic is DIFFERENCE:  # one of the wrong sign is not at its bound
        assert verdict.at_bound(asked, Known(0.1, 0, 5), 100.0) is False


def test_what_is_at_its_bound_needs_no_seeds() -> None:
    at, far = [1.98, 2.02, 2.0, 1.99, 2.01], [1.0, 3.0, 2.0, 1.5, 2.5]
    rule = every(check.within(CODEL, high=2), check.within(PIE, high=2))
    one = verdict_of(rule, measured({CODEL: at, PIE: LOW}))
    assert one.verdict == Verdict.AT_BOUND
    assert one.lacks is not None
    assert one.lacks.missing == "distance"
    # another part may still be told by more seeds, or has told already
    assert verdict_of(rule, measured({CODEL: at, PIE: far})).verdict == Verdict.UNDECIDED
    assert verdict_of(rule, measured({CODEL: at, PIE: HIGH})).verdict == Verdict.DISAGREES


@pytest.mark.parametrize(
    ("values", "value", "error", "expected"),
    [
        # t(0.975, 2) = 4.30265; s = 1: half of the interval is 2.605
        ([9.0, 10.0, 11.0], 12.5, 0.1, Verdict.AGREES),
        ([9.0, 10.0, 11.0], 12.7, 0.1, Verdict.DISAGREES),
        ([9.0, 10.0, 11.0], 12.7, 3.0, Verdict.AGREES),
        ([10.0, 10.0, 10.0], 10.2, 0.1, Verdict.DISAGREES),
        ([10.0], 10.05, 0.1, Verdict.AGREES),
        ([10.0], 10.2, 0.1, Verdict.NOT_YET),
    ],
)
def test_a_printed_value(
    values: list[float], value: float, error: float, expected: Verdict
) -> None:
    rule = check.printed(CODEL, value, error)
    assert verdict_of(rule, measured({CODEL: values})).verdict == expected


def test_the_distance_from_a_printed_value_is_said() -> None:
    found = verdict_of(check.printed(CODEL, 12.5, 0.1), measured({CODEL: [9.0, 10.0, 11.0]}))
    assert "asked for 12.5 ± 2.6 ms as printed, 20 % less" in why(found)
    none = verdict_of(check.printed(CODEL, 0, 0.1), measured({CODEL: [9.0, 10.0, 11.0]}))
    assert "nothing is printed" in why(none)


def test_what_no_seed_had_may_have_been_missed() -> None:
    table = measured({CODEL: [0.0, 0.0, 0.0]})
    seen = check.printed(CODEL, 0.009, 0.001)
    assert verdict_of(seen, table).verdict == Verdict.DISAGREES
    missed = check.printed(CODEL, 0.009, 0.001, step=0.01)
    assert verdict_of(missed, table).verdict == Verdict.AGREES
    too_much = check.printed(CODEL, 0.011, 0.001, step=0.01)
    assert verdict_of(too_much, table).verdict == Verdict.DISAGREES


def test_near_takes_the_wider_of_factor_and_margin() -> None:
    bounds = [(one.low, one.high) for one in (check.near(CODEL, v, 1.5, 0.2) for v in (6, 0.1, 0))]
    assert bounds == [(4, 9), (-np.inf, pytest.approx(0.3)), (0, 0)]


@pytest.mark.parametrize(
    ("codel", "pie", "expected"),
    [(LOW, HIGH, Verdict.AGREES), (HIGH, LOW, Verdict.DISAGREES), (LOW, WIDE, Verdict.UNDECIDED)],
)
def test_verdicts(codel: list[float], pie: list[float], expected: Verdict) -> None:
    one = verdict_of(check.less(CODEL, PIE), measured({CODEL: codel, PIE: pie}))
    assert one.verdict == expected
    if expected == Verdict.UNDECIDED:
        assert one.lacks is not None
        assert one.lacks.missing == "spread"
        assert "10/10: codel − pie" in one.lacks.what


def test_every_and_some_over_all_answers() -> None:
    """Against Kleene's tables, with checks that hold, fail and are open."""
    parts = {True: check.within(CODEL, high=2), False: check.within(CODEL, low=2),
             None: check.within(PIE, low=2)}  # fmt: skip
    table = measured({CODEL: LOW, PIE: WIDE})
    words = {True: Verdict.AGREES, False: Verdict.DISAGREES, None: Verdict.UNDECIDED}
    rank: dict[bool | None, int] = {False: 0, None: 1, True: 2}
    for a, b in product(parts, parts):
        both, either = min(a, b, key=rank.__getitem__), max(a, b, key=rank.__getitem__)
        assert verdict_of(every(parts[a], parts[b]), table).verdict == words[both]
        assert verdict_of(some(parts[a], parts[b]), table).verdict == words[either]


def test_one_of_many_has_to_fail_more_clearly() -> None:
    # Student's interval of four values: t = 3.18 standard errors at 5 %, 6.74 at 5 % / 8
    sample = [2.3, 1.9, 2.5, 2.4]  # 2.275, error 0.13: above 2 by 2.1 errors
    clear = [2.6, 2.4, 2.7, 2.5]  # 2.55, error 0.065: above 2 by 8.5 errors
    middle = [2.5, 2.1, 2.6, 2.4]  # 2.4, error 0.108: by 3.7 errors
    for values, alone, among in (
        (sample, Verdict.UNDECIDED, Verdict.UNDECIDED),
        (middle, Verdict.DISAGREES, Verdict.UNDECIDED),
        (clear, Verdict.DISAGREES, Verdict.DISAGREES),
    ):
        table = measured({CODEL: values, PIE: LOW})
        fails, holds = check.within(CODEL, high=2), check.within(PIE, high=2)
        assert verdict_of(fails, table).verdict == alone
        assert verdict_of(every(fails, *[holds] * 7), table).verdict == among


def test_what_is_missing_is_said() -> None:
    table = measured({CODEL: LOW})
    goodput = Quantity("goodput_upload_mbit_s", "rrul", "10/10", "codel")
    cell = "rrul, 10/10, codel, cubic, era modern"
    none = f"upload goodput, which the runs of {cell}, do not have"
    cases: list[tuple[check.Condition, check.Missing, str]] = [
        (check.less(CODEL, PIE), "data", "runs of rrul, 10/10, pie, cubic, era modern"),
        (check.within(goodput, low=1), "metric", none),
        (check.Lacking("a capture"), "data", "a capture"),
        (check.setting("a default"), "setting", "a default"),
    ]
    for rule, kind, text in cases:
        assert verdict_of(rule, table).lacks == check.Lacking(text, kind)
    (unruled,) = assess([claim()], {}, table)
    assert unruled.headline.lacks == check.Lacking("no rule yet", "rule")
    one_seed = verdict_of(check.within(CODEL, high=2), measured({CODEL: [1.0]}))
    assert one_seed.verdict == Verdict.NOT_YET
    assert one_seed.lacks is not None
    assert "one seed has no interval" in one_seed.lacks.what


def test_a_part_that_fails_decides_though_others_are_missing() -> None:
    table = measured({CODEL: HIGH})
    assert verdict_of(
        every(check.within(CODEL, high=2), check.less(CODEL, PIE)), table
    ).verdict == (Verdict.DISAGREES)


def test_only_common_seeds_are_compared() -> None:
    table = measured({CODEL: [1.0, 2.0, 3.0, 90.0], PIE: [2.0, 3.0, 4.0]})
    (finding,) = verdict_of(check.less(CODEL, PIE), table).findings
    assert finding.effect is not None
    assert (finding.effect.value, finding.effect.seeds) == (-1, 3)


def test_seeds_that_came_out_the_same_count_once() -> None:
    """Only where that is so of all cells that a check compares: else chance of one is in it."""
    same = replace(CODEL, metric=SAME_AS), replace(PIE, metric=SAME_AS)
    values = {CODEL: [1.0] * 4, PIE: HIGH}
    rows = measured({same[0]: [0.0, 1, 1, 1], same[1]: [0.0, 1, 0, 3]})
    twins = rows[rows["value"] > 0]
    alone, both = check.within(CODEL, high=2), check.less(CODEL, PIE)
    once = verdict_of(alone, measured(values))
    assert (once.verdict, once.findings[0].effect.seeds) == (Verdict.AGREES, 4)
    table = pd.concat([measured(values), twins])
    one = verdict_of(alone, table)
    assert (one.verdict, one.findings[0].effect.seeds) == (Verdict.AGREES, 4), "by its value"
    assert effect_text(one.findings[0]) == "1 ms, 4 seeds that came out the same"
    assert effect_text(once.findings[0]) == "1 ms (1 to 1), 4 seeds"
    (finding,) = verdict_of(both, table).findings
    assert (finding.holds, finding.effect.seeds) == (True, 2), "1 and 2 are the same, 3 and 4"
    assert finding.effect.value == pytest.approx(1 - (3.0 + 2.9) / 2)


def test_what_each_run_reads_back_is_as_set() -> None:
    one = verdict_of(check.read_back("Table 1"), measured({CODEL: LOW}))
    assert (one.verdict, why(one)) == (Verdict.AS_SET, "Table 1")


def test_a_tie_to_the_resolution_says_nothing() -> None:
    registry_of(study_at("khademi2013"))  # which has the metric
    """The percentile of the queuing delay tells 0.1 ms: 0.2 and 0.2 may be 0.16 and 0.24."""
    low, high = (Quantity("queuing_p10_ms", "rrul", "10/10", name) for name in ("codel", "pie"))
    floor, above = [0.2, 0.2, 0.2], [0.9, 1.0, 1.1]
    tie = measured({low: floor, high: floor})
    one = verdict_of(check.less(low, high), tie)
    assert (one.verdict, one.lacks and one.lacks.missing) == (Verdict.NOT_YET, "resolution")
    apart = measured({low: floor, high: floor, CODEL: LOW, PIE: HIGH})
    for other, expected in (
        (check.less(CODEL, PIE), Verdict.AGREES),
        (check.less(PIE, CODEL), Verdict.DISAGREES),
    ):
        assert verdict_of(every(check.less(low, high), other), apart).verdict == expected
        assert verdict_of(some(check.less(low, high), other), apart).verdict == expected
    clear = measured({low: floor, high: above})
    assert verdict_of(check.less(low, high), clear).verdict == Verdict.AGREES
    assert verdict_of(check.less(high, low), clear).verdict == Verdict.DISAGREES


@pytest.mark.parametrize(
    ("codel", "pie", "low", "expected"),
    [
        ([-0.2, -0.1, -0.3], [90, 95, 100], -math.inf, Verdict.AGREES),
        ([-0.2, 80, 90], [90, 95, 100], -math.inf, Verdict.UNDECIDED),
        ([-0.2, 10, 12], [-5, 95, 100], -math.inf, Verdict.NOT_YET),  # of nothing there is no half
        ([-0.2, -0.1, -0.3], [0.1, 0.2, 0.1], -1.25, Verdict.NOT_YET),
    ],
)
def test_at_most_half_may_be_less_than_nothing(
    codel: list[float], pie: list[float], low: float, expected: Verdict
) -> None:
    """A latency may be below that of the idle link, of which a factor has no logarithm."""
    rule = check.ratio(CODEL, PIE, low, 0.5)
    assert verdict_of(rule, measured({CODEL: codel, PIE: pie})).verdict is expected


def test_loads_of_a_design_are_no_repetitions() -> None:
    """Two loads that differ by a factor of 10, each repeated with 1 % between repetitions."""
    runs = [1.0, 10.0, 1.01, 10.1]
    rule = check.within(CODEL, high=6)
    table = measured({CODEL: runs})
    as_one, as_design = (
        assess([claim()], {"g038": rule}, table, design=design)[0].headline
        for design in (Design(), Design(loads={"rrul": 2}))
    )
    assert (as_one.verdict, as_design.verdict) == (Verdict.UNDECIDED, Verdict.AGREES)
    once = measured({CODEL: runs[:3]})  # the second load has one run
    one = assess([claim()], {"g038": rule}, once, design=Design(loads={"rrul": 2}))[0].headline
    assert one.lacks is not None
    assert "3 seeds of 2 loads" in one.lacks.what


def test_repetitions_beyond_those_that_are_fixed_are_not_looked_at() -> None:
    rule = check.within(CODEL, high=2)
    table = measured({CODEL: [*LOW, *HIGH]})
    design = Design(seeds={"rrul": 4}, seen={"rrul": 2})
    (one,) = assess([claim()], {"g038": rule}, table, design=design)
    assert (one.headline.verdict, one.in_sample) == (Verdict.AGREES, True)
    (one,) = assess([claim()], {"g038": rule}, table)
    assert (one.headline.verdict, one.in_sample) == (Verdict.UNDECIDED, False)


def test_a_mean_of_factors_has_the_interval_of_a_factor() -> None:
    registry_of(study_at("codel2012"))  # whose measures bring a metric that is a factor
    fall = Quantity("fall_2_times", "dynamic", "100/100", "codel_830")
    (found,) = verdict_of(
        check.within(fall, 2), measured({fall: [4.72, 30.94, 13.09, 17.49, 4.63]})
    ).findings
    assert found.effect is not None
    low, high = found.effect.interval()
    assert found.effect.value == pytest.approx(14.17, abs=0.01)
    assert math.sqrt(low * high) == pytest.approx(found.effect.value)
    assert found.holds is True


def test_the_check_to_look_at_is_one_that_decided() -> None:
    """A part of `some` that fails, where another holds, is not why the whole fails."""
    rule = every(
        some(check.within(PIE, high=2), check.within(CODEL, high=2)), check.within(PIE, high=2.4)
    )
    one = verdict_of(rule, measured({CODEL: LOW, PIE: HIGH}))
    assert one.verdict == Verdict.DISAGREES
    assert "asked for ≤ 2.4 ms" in why(one)


def test_texts_say_what_is_looked_at() -> None:
    peak = Quantity("startup_peak_ms", "rrul", "10/10", "codel")
    steady = Quantity("steady_latency_ms", "rrul", "10/10", "codel")
    loss = Quantity("voip_loss_percent", "voip_rrul", "10/1", "ared")
    texts = [
        (check.less(CODEL, PIE), "mean induced latency, 10/10: codel − pie", "< 0 ms"),
        (check.ratio(peak, steady, low=2),
         "codel, 10/10: peak at start-up / induced latency of the second half", "≥ 2"),
        (check.within(loss, 0, 0), "VoIP loss, voip_rrul, 10/1: ared", "= 0 %"),
        (Check(VALUE, (CODEL,), 1, 2), "mean induced latency, 10/10: codel", "1 to 2 ms"),
    ]  # fmt: skip
    for one, text, bounds in texts:
        assert (one.text, one.bounds) == (text, bounds)


def test_an_open_check_says_its_unit_and_how_many_are_open_as_it() -> None:
    table = measured({CODEL: WIDE, PIE: WIDE})
    parts = [check.within(of, 1, 2) for of in (CODEL, PIE, CODEL)]
    text = " ms, 4 seeds; asked for 1 to 2 ms"
    assert why(verdict_of(every(*parts), table)).endswith(f"{text}; 2 more checks are open")
    assert why(verdict_of(every(*parts[:2]), table)).endswith(f"{text}; 1 more check is open")
    assert why(verdict_of(parts[0], table)).endswith(text)


def test_a_check_names_what_differs_and_not_what_there_is_not() -> None:
    metric, other = "induced_latency_ms", "goodput_upload_mbit_s"
    case, reno = Quantity(metric, "case", "-", "-"), replace(CODEL, cc="reno")
    titles = {
        check.within(case): "mean induced latency, case",
        check.less(case, replace(case, experiment="b")): "mean induced latency, case: case − b",
        check.less(CODEL, reno): "mean induced latency, 10/10: codel − codel reno",
        check.less(reno, CODEL): "mean induced latency, 10/10, reno: codel − codel in this setting",
        check.less(CODEL, replace(CODEL, metric=other)): (
            "codel, 10/10: mean induced latency − upload goodput"
        ),
        check.tending(CODEL, PIE, low=0.8).parts[0]: "trend of mean induced latency, 10/10: "
        "codel to pie",
    }
    assert [of.text for of in titles if isinstance(of, Check)] == [*titles.values()]
