"""Claims: statements are complete, effects have honest intervals, one rule decides."""

import math
import re
import shutil
from collections import Counter
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.claims import check, verdict
from analysis.claims.assessed import assess_studies
from analysis.claims.check import (
    DIFFERENCE,
    RANKS,
    RATIO,
    SPREAD,
    VALUE,
    Check,
    Quantity,
    every,
    some,
)
from analysis.claims.effect import Effect, effect
from analysis.claims.explanation import Variation
from analysis.claims.summary import count, why
from analysis.claims.verdict import Design, Verdict, assess, decide
from analysis.errors import DataError
from analysis.measures.table import MEASURED
from analysis.runs.statement import CLAIMS, Claim, read_claims
from analysis.runs.study import Study, known, open_study
from tests import ROOT

GOLDEN = ROOT / "tests" / "data" / "golden"

CODEL = Quantity("induced_latency_ms", "rrul", "10/10", "codel")
PIE = Quantity("induced_latency_ms", "rrul", "10/10", "pie")


def claim(number: str = "g038", low: float = math.nan, high: float = math.nan) -> Claim:
    return Claim(number, "gbw2015", "5.1.1", "", "ordering", "A statement.", low, high, "", "")


def measured(
    values: dict[Quantity, list[float]], era: str = "modern", cc: str = "cubic"
) -> pd.DataFrame:
    """A table of MEASURED; seeds count from 1."""
    rows = [
        (era, q.experiment, q.link, q.qdisc, q.cc or cc, seed, q.metric, value)
        for q, sample in values.items()
        for seed, value in enumerate(sample, start=1)
    ]
    return MEASURED.validate(pd.DataFrame(rows, columns=list(MEASURED.columns)))


def verdict_of(rule: verdict.Rule, table: pd.DataFrame) -> verdict.Judgement:
    (one,) = assess([claim()], {"g038": rule}, table)
    return one.headline


# --- statements -----------------------------------------------------------------------------------


def test_every_statement_is_there_and_has_its_own_id() -> None:
    claims = [one for study in known() for one in read_claims(study)]
    papers = {"gbw2015": 221, "khademi2013": 87, "codel2012": 63, "battling2013": 10}
    assert Counter(one.paper for one in claims) == papers
    assert list(dict.fromkeys(one.paper for one in claims)) == list(papers)  # the largest first
    assert len({one.id for one in claims}) == 381
    assert all(one.statement.endswith(".") for one in claims)
    letters = {"gbw2015": "g", "khademi2013": "k", "codel2012": "c", "battling2013": "b"}
    assert all(one.id[0] == letters[one.paper] for one in claims)


def test_the_page_has_the_columns(root: Path) -> None:
    table = (root / "docs/claims.md").read_text().partition("| column |")[2].partition("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines()[2:]]
    assert re.findall(r"`(\w+)`", "".join(cells)) == list(CLAIMS.columns)


def test_a_statement_knows_its_place_and_value() -> None:
    by_id = {one.id: one for one in read_claims(open_study("gbw2015"))}
    assert by_id["g057"].place == "Sec. 5.2.1, Fig. 3f"
    assert by_id["g071"].place == "Table 2"
    assert by_id["g071"].value == 7.95
    assert by_id["g001"].place == "Abstract"
    with pytest.raises(ValueError, match="g026 prints 82 to 96"):
        _ = by_id["g026"].value


def test_damaged_statements_are_refused(tmp_path: Path) -> None:
    study = Study(tmp_path / "battling2013")
    study.folder.mkdir()
    assert read_claims(study) == []
    text = open_study("battling2013").statements.read_text()
    study.statements.write_text(text.replace(",ratio,", ",rumour,"))
    with pytest.raises(DataError, match=r"claims\.csv: not a table of claims .*kind"):
        read_claims(study)
    study.statements.write_text(text.replace("section,figure", "figure,section"))
    with pytest.raises(
        DataError, match=r"claims\.csv: not a table of claims .*out-of-order\)\. Cor"
    ):
        read_claims(study)
    study.statements.write_text(text.replace("battling2013,", "gbw2015,"))
    with pytest.raises(DataError, match=r"claims\.csv: has claims of gbw2015"):
        read_claims(study)


def test_losses_of_the_tables_are_those_of_the_statements() -> None:
    table = pd.read_csv(open_study("gbw2015").published / "voip-loss.csv")
    claims = {one.id: one for one in read_claims(open_study("gbw2015"))}
    wired = [claims[f"g{number:03d}"].value for number in range(70, 112)]
    wifi = [claims[f"g{number:03d}"].value for number in range(192, 206)]
    assert table["loss_percent"].tolist() == wired + wifi
    cell = table[(table["link"] == "10/1") & (table["cross_traffic"] == "rrul")]
    assert cell.set_index("qdisc")["loss_percent"]["ared"] == 26.33


def test_a_study_with_another_congestion_control_is_judged() -> None:
    table = measured({CODEL: [1.0, 1.1, 1.2], PIE: [5.0, 5.1, 5.2]}, cc="bbr")
    found = verdict_of(check.less(CODEL, PIE), table)
    assert (found.verdict, found.era, found.cc) == (Verdict.AGREES, "modern", "bbr")


# --- effects --------------------------------------------------------------------------------------


def test_interval_of_a_mean_is_students() -> None:
    sample = np.array([3.0, 5.0, 4.0, 8.0, 6.0])
    found = effect([sample], VALUE)
    half = stats.t.ppf(0.975, 4) * stats.sem(sample)
    low, high = found.interval()
    assert found.value == pytest.approx(5.2)
    assert (high - low) / 2 == pytest.approx(half, rel=0.04)  # 2000 resamples


def test_values_of_a_seed_belong_together() -> None:
    a = np.array([10.0, 20.0, 30.0, 40.0])
    found = effect([a + 1, a], DIFFERENCE)
    assert found.interval() == (pytest.approx(1), pytest.approx(1))
    alone = effect([a + 1, a[::-1]], DIFFERENCE)
    assert alone.interval()[1] - alone.interval()[0] > 50


def test_a_ratio_has_the_interval_of_a_factor() -> None:
    found = effect([np.array([8.0, 10, 12]), np.array([2.0, 2, 2])], RATIO)
    low, high = found.interval()
    assert found.value == pytest.approx(5)
    assert math.sqrt(low * high) == pytest.approx(5)
    with pytest.raises(ValueError, match="not all positive"):
        effect([np.array([1.0, 2.0]), np.array([0.0, 1.0])], RATIO)


def test_rank_correlation_against_scipy() -> None:
    mean = np.array([3.0, 1.0, 2.0, 5.0, 10.0, 8.0, 7.0, 9.0])
    expected = stats.spearmanr(mean[:4], mean[4:]).statistic
    assert float(RANKS.of(mean)) == pytest.approx(expected)
    assert RANKS.of(np.column_stack([mean, mean])).shape == (2,)


def test_a_spread_is_the_standard_deviation_over_seeds() -> None:
    narrow, wide = np.array([9.0, 10, 11, 9, 10, 11]), np.array([2.0, 10, 18, 2, 10, 18])
    found = effect([narrow, wide], SPREAD)
    assert found.value == pytest.approx(-7 * np.sqrt(2 / 3))
    low, high = found.interval()
    assert low < found.value < high < 0  # six seeds tell such a difference
    assert effect([narrow, narrow + 100], SPREAD).value == pytest.approx(0)


def test_one_seed_has_no_interval() -> None:
    found = effect([np.array([4.0])], VALUE)
    assert (found.value, found.seeds) == (4, 1)
    assert all(math.isnan(bound) for bound in found.interval())


@pytest.mark.parametrize("seeds", [3, 5])
def test_intervals_cover_as_often_as_they_say(seeds: int) -> None:
    random = np.random.default_rng(7)
    draws = random.normal(0.0, 1.0, (300, 2, seeds)) + np.array([[[5.0]], [[4.0]]])[:, 0]
    covered = [low <= 1 <= high for low, high in (effect(d, DIFFERENCE).interval() for d in draws)]
    assert np.mean(covered) == pytest.approx(0.95, abs=0.035)


# --- the decision ---------------------------------------------------------------------------------


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
    assert one.lacks[0] == "distance"
    # another part may still be told by more seeds, or has told already
    assert verdict_of(rule, measured({CODEL: at, PIE: far})).verdict == Verdict.NOT_YET
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


LOW, HIGH, WIDE = [1.0, 1.1, 0.9, 1.0], [3.0, 3.1, 2.9, 3.0], [0.0, 4.0, 1.0, 5.0]


@pytest.mark.parametrize(
    ("codel", "pie", "expected"),
    [(LOW, HIGH, Verdict.AGREES), (HIGH, LOW, Verdict.DISAGREES), (LOW, WIDE, Verdict.NOT_YET)],
)
def test_verdicts(codel: list[float], pie: list[float], expected: Verdict) -> None:
    one = verdict_of(check.less(CODEL, PIE), measured({CODEL: codel, PIE: pie}))
    assert one.verdict == expected
    if expected == Verdict.NOT_YET:
        assert one.lacks is not None
        assert one.lacks[0] == "seeds"
        assert "10/10: codel − pie" in one.lacks[1]


def test_every_and_some_over_all_answers() -> None:
    """Against Kleene's tables, with checks that hold, fail and are open."""
    parts = {True: check.within(CODEL, high=2), False: check.within(CODEL, low=2),
             None: check.within(PIE, low=2)}  # fmt: skip
    table = measured({CODEL: LOW, PIE: WIDE})
    words = {True: Verdict.AGREES, False: Verdict.DISAGREES, None: Verdict.NOT_YET}
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
        (sample, Verdict.NOT_YET, Verdict.NOT_YET),
        (middle, Verdict.DISAGREES, Verdict.NOT_YET),
        (clear, Verdict.DISAGREES, Verdict.DISAGREES),
    ):
        table = measured({CODEL: values, PIE: LOW})
        fails, holds = check.within(CODEL, high=2), check.within(PIE, high=2)
        assert verdict_of(fails, table).verdict == alone
        assert verdict_of(every(fails, *[holds] * 7), table).verdict == among


def test_what_is_missing_is_said() -> None:
    table = measured({CODEL: LOW})
    goodput = Quantity("goodput_upload_mbit_s", "rrul", "10/10", "codel")
    for rule, kind, text in (
        (check.less(CODEL, PIE), "data", "runs of rrul, 10/10, pie, cubic, era modern"),
        (check.within(goodput, low=1), "metric", "upload goodput of rrul, 10/10, codel, cubic"),
        (check.Lacking("a capture"), "data", "a capture"),
        (check.setting("a default"), "setting", "a default"),
    ):
        assert verdict_of(rule, table).lacks == (kind, text)
    (unruled,) = assess([claim()], {}, table)
    assert unruled.headline.lacks == ("rule", "no rule yet")
    one_seed = verdict_of(check.within(CODEL, high=2), measured({CODEL: [1.0]}))
    assert one_seed.verdict == Verdict.NOT_YET
    assert one_seed.lacks is not None
    assert "one seed has no interval" in one_seed.lacks[1]


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


# --- eras and explanations ------------------------------------------------------------------------


def test_the_era_of_the_paper_counts_and_explains_todays() -> None:
    rule = check.within(CODEL, high=2)
    both = pd.concat([measured({CODEL: HIGH}), measured({CODEL: LOW}, era="2014")])
    (one,) = assess([claim()], {"g038": rule}, both)
    assert [(j.era, j.verdict) for j in one.judgements] == [
        ("2014", Verdict.AGREES),
        ("modern", Verdict.EXPLAINED),
    ]
    assert one.headline.era == "2014"
    assert one.judgements[1].explained_by == "era 2014"


def test_todays_era_counts_where_the_other_lacks_runs() -> None:
    both = pd.concat([measured({CODEL: LOW}), measured({PIE: LOW}, era="2014")])
    (one,) = assess([claim()], {"g038": check.within(CODEL, high=2)}, both)
    assert (one.headline.era, one.headline.verdict) == ("modern", Verdict.AGREES)


def test_either_of_the_papers_eras_counts_where_neither_has_all_cells() -> None:
    """Of 10/1 the era by code has no run; at 10/10 its runs count, and not those of the other."""
    slow = replace(CODEL, link="10/1")
    rule = every(check.within(CODEL, high=2), check.within(slow, high=2))
    by_code, by_release = measured({CODEL: LOW}, "2014c"), measured({slow: LOW}, "2014")
    one = verdict_of(rule, pd.concat([by_code, by_release]))
    assert (one.verdict, one.era) == (Verdict.AGREES, "2014c or 2014")
    one = verdict_of(rule, pd.concat([by_code, by_release, measured({CODEL: HIGH}, "2014")]))
    assert (one.verdict, one.era) == (Verdict.DISAGREES, "2014")  # which has all cells


def test_another_kernel_is_judged_last() -> None:
    eras = ("modern@linux-7.2", "2014", "modern")
    several = pd.concat([
        *(measured({CODEL: HIGH}, era=era) for era in eras[:1]),
        *(measured({CODEL: LOW}, era=era, cc="reno") for era in eras[1:]),
    ])  # fmt: skip
    (one,) = assess([claim()], {"g038": check.within(CODEL, high=2)}, several)
    assert [(j.era, j.cc, j.verdict) for j in one.judgements] == [
        ("2014", "reno", Verdict.AGREES),
        ("modern", "reno", Verdict.AGREES),
        ("modern@linux-7.2", "cubic", Verdict.DISAGREES),
    ]


def test_an_open_result_of_the_papers_era_is_not_passed_over() -> None:
    both = pd.concat([measured({CODEL: LOW}), measured({CODEL: WIDE}, era="2014")])
    (one,) = assess([claim()], {"g038": check.within(CODEL, high=2)}, both)
    assert (one.headline.era, one.headline.verdict) == ("2014", Verdict.NOT_YET)


RRUL = {"rrul": "rrul"}
NO_RACK = Variation("2014", "2014-no_rack", RRUL, "a test")


@pytest.mark.parametrize(
    ("changed", "expected"), [(LOW, Verdict.EXPLAINED), (HIGH, Verdict.DISAGREES)]
)
def test_a_variation_explains_only_what_it_makes_agree(
    changed: list[float], expected: Verdict
) -> None:
    rule = check.within(CODEL, high=2)
    table = measured({CODEL: HIGH}, era="2014")
    switched = measured({CODEL: changed}, era="2014-no_rack")
    (one,) = assess([claim()], {"g038": rule}, pd.concat([table, switched]), [NO_RACK])
    assert one.headline.verdict == expected
    assert one.headline.explained_by == ("era 2014-no_rack" if expected == "explained" else "")


def test_a_variation_that_is_not_run_for_all_cells_explains_nothing() -> None:
    rule = check.within(CODEL, high=2)
    table = measured({CODEL: HIGH, PIE: HIGH}, era="2014")
    switched = measured({CODEL: LOW}, era="2014-no_rack")
    (one,) = assess([claim()], {"g038": rule}, pd.concat([table, switched]), [NO_RACK])
    assert one.headline.verdict == Verdict.DISAGREES
    assert "era 2014-no_rack, of which 1 of 2 cells are run" in why(one.headline)


def test_what_a_variation_makes_worse_is_beside_what_it_explains() -> None:
    rules = {"g038": check.within(CODEL, high=2), "g039": check.within(PIE, high=2)}
    table = measured({CODEL: HIGH, PIE: LOW}, era="2014")
    switched = measured({CODEL: LOW, PIE: HIGH}, era="2014-no_rack")
    claims = [claim("g038"), claim("g039")]
    first, second = assess(claims, rules, pd.concat([table, switched]), [NO_RACK])
    assert (first.headline.verdict, first.headline.worse) == (Verdict.EXPLAINED, ("g039",))
    assert "with which g039 no longer agree" in why(first.headline)
    assert (second.headline.verdict, second.headline.worse) == (Verdict.AGREES, ())


def test_another_rig_explains_what_it_makes_agree() -> None:
    rule = check.within(CODEL, high=2)
    reason = Variation("2014", "2014", {CODEL.experiment: "another_rig"}, "a test")
    for changed, expected in ((LOW, "explained"), (HIGH, "disagrees")):
        other = measured({replace(CODEL, experiment="another_rig"): changed}, era="2014")
        table = pd.concat([measured({CODEL: HIGH}, era="2014"), other])
        (one,) = assess([claim()], {"g038": rule}, table, [reason])
        assert one.headline.verdict == expected
        assert one.headline.explained_by.startswith("another_rig") == (expected == "explained")
    # Without a run of it nothing is explained.
    table = measured({CODEL: HIGH}, era="2014")
    (one,) = assess([claim()], {"g038": rule}, table, [reason])
    assert one.headline.verdict == Verdict.DISAGREES


def test_the_same_statement_has_the_same_verdict_and_counts_once() -> None:
    rules: dict[str, verdict.Rule] = {
        "g038": check.within(CODEL, high=2),
        "g039": check.Same("g038"),
    }
    both = assess([claim("g038"), claim("g039")], rules, measured({CODEL: LOW}))
    assert [(one.headline.verdict, one.same) for one in both] == [
        (Verdict.AGREES, ""),
        (Verdict.AGREES, "g038"),
    ]
    (counted,) = count(both)
    assert counted.claims == 1


def test_what_each_run_reads_back_is_as_set() -> None:
    one = verdict_of(check.read_back("Table 1"), measured({CODEL: LOW}))
    assert (one.verdict, why(one)) == (Verdict.AS_SET, "Table 1")


def test_a_tie_to_the_resolution_says_nothing() -> None:
    """The percentile of the queuing delay tells 0.1 ms: 0.2 and 0.2 may be 0.16 and 0.24."""
    low, high = (Quantity("queuing_p10_ms", "rrul", "10/10", name) for name in ("codel", "pie"))
    floor, above = [0.2, 0.2, 0.2], [0.9, 1.0, 1.1]
    tie = measured({low: floor, high: floor})
    one = verdict_of(check.less(low, high), tie)
    assert (one.verdict, one.lacks and one.lacks[0]) == (Verdict.NOT_YET, "resolution")
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


def test_loads_of_a_design_are_no_repetitions() -> None:
    """Two loads that differ by a factor of 10, each repeated with 1 % between repetitions."""
    runs = [1.0, 10.0, 1.01, 10.1]
    rule = check.within(CODEL, high=6)
    table = measured({CODEL: runs})
    as_one, as_design = (
        assess([claim()], {"g038": rule}, table, design=design)[0].headline
        for design in (Design(), Design(loads={"rrul": 2}))
    )
    assert (as_one.verdict, as_design.verdict) == (Verdict.NOT_YET, Verdict.AGREES)
    once = measured({CODEL: runs[:3]})  # the second load has one run
    one = assess([claim()], {"g038": rule}, once, design=Design(loads={"rrul": 2}))[0].headline
    assert one.lacks is not None
    assert "3 seeds of 2 loads" in one.lacks[1]


def test_repetitions_beyond_those_that_are_fixed_are_not_looked_at() -> None:
    rule = check.within(CODEL, high=2)
    table = measured({CODEL: [*LOW, *HIGH]})
    design = Design(seeds={"rrul": 4}, seen={"rrul": 2})
    (one,) = assess([claim()], {"g038": rule}, table, design=design)
    assert (one.headline.verdict, one.in_sample) == (Verdict.AGREES, True)
    (one,) = assess([claim()], {"g038": rule}, table)
    assert (one.headline.verdict, one.in_sample) == (Verdict.NOT_YET, False)


def test_eras_that_a_study_fixes_decide_in_their_order() -> None:
    rule = check.within(CODEL, high=2)
    table = pd.concat([measured({CODEL: LOW}, "2014"), measured({CODEL: HIGH}, "2013c-host_noise")])
    for eras, counts, expected in (
        (("2013c-host_noise",), "2013c-host_noise", Verdict.DISAGREES),
        (("2014", "2013c-host_noise"), "2014", Verdict.AGREES),
        (Design().eras, "2014", Verdict.AGREES),  # in which the other has no part
    ):
        (one,) = assess([claim()], {"g038": rule}, table, design=Design(eras=eras))
        assert (one.headline.era, one.headline.verdict) == (counts, expected)


def test_a_mean_of_factors_has_the_interval_of_a_factor() -> None:
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


def test_what_seeds_leave_open_can_be_explained() -> None:
    rules = {"g038": check.within(CODEL, high=2)}
    table = measured({CODEL: WIDE}, era="2014")
    for changed, expected in ((LOW, Verdict.EXPLAINED), (HIGH, Verdict.NOT_YET)):
        switched = measured({CODEL: changed}, era="2014-no_rack")
        (one,) = assess([claim()], rules, pd.concat([table, switched]), [NO_RACK])
        assert one.headline.verdict == expected
        assert (one.headline.lacks is None) == (expected == Verdict.EXPLAINED)
        assert CODEL.qdisc in why(one.headline)


def test_what_todays_seeds_leave_open_is_not_explained_by_the_papers_era() -> None:
    both = pd.concat([measured({CODEL: WIDE}), measured({CODEL: LOW}, era="2014")])
    (one,) = assess([claim()], {"g038": check.within(CODEL, high=2)}, both)
    assert [each.verdict for each in one.judgements] == [Verdict.AGREES, Verdict.NOT_YET]


def test_an_experiment_without_a_run_explains_nothing() -> None:
    table = measured({CODEL: HIGH}, era="2014")
    rules = {"g038": check.within(CODEL, high=2)}
    (one,) = assess([claim()], rules, table, [NO_RACK])
    assert one.headline.verdict == Verdict.DISAGREES


# --- rules and texts ---------------------------------------------------------------------------


def test_rules_without_a_claim_are_refused(tmp_path: Path) -> None:
    study = Study(tmp_path / "gbw2015")
    shutil.copytree(open_study("gbw2015").folder, study.folder)
    lines = study.statements.read_text().splitlines()
    kept = [line for line in lines if not line.startswith("g038")]
    study.statements.write_text("\n".join(kept) + "\n")
    with pytest.raises(DataError, match=r"claims\.csv: lacks g038"):
        assess_studies(tmp_path, [study])


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
