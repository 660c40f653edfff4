"""When a value that a paper prints agrees with ours."""

import math

import numpy as np
import pytest

from qdisclab.analysis.measures import agreement


def test_spread_is_a_prediction_interval_of_thirty_runs() -> None:
    # t(0.975, 4) = 2.776445
    expected = 2.776445 * 2 * math.sqrt(1 / 5 + 1 / 30)
    assert float(agreement.spread(2, 5)) == pytest.approx(expected, rel=1e-6)
    median = float(agreement.spread(2, 5, median=True))
    assert median == pytest.approx(expected * math.sqrt(math.pi / 2), rel=1e-6)
    assert math.isnan(agreement.spread(math.nan, 1))


def test_means_of_thirty_more_runs_lie_in_it_as_often_as_it_says() -> None:
    random = np.random.default_rng(1)
    ours, theirs = random.normal(5, 2, (4000, 5)), random.normal(5, 2, (4000, 30)).mean(axis=1)
    reach = agreement.spread(ours.std(axis=1, ddof=1), np.full(4000, 5))
    inside = np.abs(ours.mean(axis=1) - theirs) <= reach
    assert inside.mean() == pytest.approx(0.95, abs=0.015)


@pytest.mark.parametrize(
    ("ours", "printed", "spread", "expected"),
    [
        (10.0, 10.4, math.nan, [True]),  # within the reading error
        (10.0, 11.0, math.nan, [None]),  # one seed, and outside of it
        (10.0, 11.0, 0.9, [False]),
        (10.0, 11.0, 1.1, [True]),
        (10.0, 10.4, 0.1, [True]),  # the larger of the two counts
        (math.nan, 10.0, 1.0, [None]),
    ],
)
def test_agreement(ours: float, printed: float, spread: float, expected: list[bool | None]) -> None:
    found = agreement.agrees([ours], [printed], [0.5], [spread])
    assert [None if one is not True and one is not False else one for one in found.tolist()] == (
        expected
    )


def test_of_what_no_seed_had_there_may_be_as_much_as_would_not_be_seen() -> None:
    # three seeds of 15000 packets: a share of 1/15000 would have shown with 95 %
    assert agreement.unseen(100 / 15000, 3) == pytest.approx(100 / 15000)
    none_of_all = (1 - 1 / 15000) ** 45000
    assert none_of_all == pytest.approx(0.05, abs=0.001)


def test_a_printed_ratio_is_compared_as_a_factor() -> None:
    """Ratios 1, 2 and 4 have logarithms ln 2 apart: 4.30265 * ln 2 * sqrt(1/3 + 1/10)."""
    reach = agreement.factor([1.0, 2.0, 4.0], 2.0, 0.0005, repetitions=10)
    assert np.log(reach) == pytest.approx(4.30265 * np.log(2) * np.sqrt(1 / 3 + 1 / 10), rel=1e-5)
    assert agreement.factor([2.0], 2.0, 0.1) == pytest.approx(1.05)
    assert agreement.factor([2.0, 2.0], 2.0, 0.1) == pytest.approx(1.05)
