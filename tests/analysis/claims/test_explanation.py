"""Which era counts, and what an era, a switch or another rig explains."""

from dataclasses import replace

import pandas as pd
import pytest

from qdisclab.analysis.claims import check, verdict
from qdisclab.analysis.claims.assess import Design, assess, design_of
from qdisclab.analysis.claims.check import every
from qdisclab.analysis.claims.explanation import Variation
from qdisclab.analysis.claims.summary import as_json, why
from qdisclab.analysis.claims.verdict import Verdict
from qdisclab.analysis.errors import DataError
from qdisclab.analysis.runs import study
from qdisclab.analysis.site import verdicts
from tests import OwnFile
from tests.analysis.claims.cases import (
    CODEL,
    HIGH,
    LOW,
    NO_RACK,
    PIE,
    WIDE,
    claim,
    measured,
    verdict_of,
)


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
    beside = measured({replace(CODEL, experiment="voip_rrul"): LOW}, "2013")
    one = verdict_of(rule, pd.concat([by_code, by_release, beside]))
    assert one.era == "2014c or 2014"  # of the eras those that the claim looks at
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
    assert (one.headline.era, one.headline.verdict) == ("2014", Verdict.UNDECIDED)


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


def test_a_variation_need_not_be_run_for_what_the_study_does_not_have() -> None:
    rule = check.within(CODEL, high=2)
    table = measured({CODEL: HIGH, PIE: HIGH}, era="2014")  # PIE stands for a qdisc of the reader's
    switched = measured({CODEL: LOW}, era="2014-no_rack")
    design = Design(cells=frozenset({(CODEL.experiment, CODEL.link, CODEL.qdisc)}))
    (one,) = assess([claim()], {"g038": rule}, pd.concat([table, switched]), [NO_RACK], design)
    assert one.headline.verdict == Verdict.EXPLAINED


def test_the_cells_of_a_study_are_its_own(own_file: OwnFile) -> None:
    own_file("papers: [gbw2015]\nqdiscs: {mine: {kind: pfifo}}\n")
    cells = design_of(study.study_at("gbw2015")).cells
    assert cells is not None
    assert ("rrul", "10/10", "codel") in cells
    assert not {qdisc for _, _, qdisc in cells} & {"mine", "cake"}


def test_what_a_variation_makes_worse_is_beside_what_it_explains() -> None:
    rules = {"g038": check.within(CODEL, high=2), "g039": check.within(PIE, high=2)}
    table = measured({CODEL: HIGH, PIE: LOW}, era="2014")
    switched = measured({CODEL: LOW, PIE: HIGH}, era="2014-no_rack")
    claims = [claim("g038"), claim("g039")]
    first, second = assess(claims, rules, pd.concat([table, switched]), [NO_RACK])
    assert (first.headline.verdict, first.headline.worse) == (Verdict.EXPLAINED, ("g039",))
    assert "with which g039 no longer agrees" in why(first.headline)
    assert (second.headline.verdict, second.headline.worse) == (Verdict.AGREES, ())
    three = replace(first.headline, worse=("g039", "g041", "g042"))
    assert "with which g039, g041 and g042 no longer agree" in why(three)


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
    assert verdicts.count(as_json(both)) == {"agrees": 1}


def test_the_same_as_one_that_is_the_same_is_refused() -> None:
    rules: dict[str, verdict.Rule] = {"g038": check.Same("g039"), "g039": check.Same("g038")}
    with pytest.raises(DataError, match="g039 has no rule itself"):
        assess([claim("g038"), claim("g039")], rules, measured({CODEL: LOW}))


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


def test_what_seeds_leave_open_can_be_explained() -> None:
    rules = {"g038": check.within(CODEL, high=2)}
    table = measured({CODEL: WIDE}, era="2014")
    for changed, expected in ((LOW, Verdict.EXPLAINED), (HIGH, Verdict.UNDECIDED)):
        switched = measured({CODEL: changed}, era="2014-no_rack")
        (one,) = assess([claim()], rules, pd.concat([table, switched]), [NO_RACK])
        assert one.headline.verdict == expected
        assert (one.headline.lacks is None) == (expected == Verdict.EXPLAINED)
        assert CODEL.qdisc in why(one.headline)


def test_what_todays_seeds_leave_open_is_not_explained_by_the_papers_era() -> None:
    both = pd.concat([measured({CODEL: WIDE}), measured({CODEL: LOW}, era="2014")])
    (one,) = assess([claim()], {"g038": check.within(CODEL, high=2)}, both)
    assert [each.verdict for each in one.judgements] == [Verdict.AGREES, Verdict.UNDECIDED]
