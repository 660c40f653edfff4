"""Effects have honest intervals."""

import math

import numpy as np
import pytest
from scipy import stats

from qdisclab.analysis.claims.check import DIFFERENCE, RANKS, RATIO, SPREAD, TREND, VALUE
from qdisclab.analysis.claims.effect import effect


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


def test_a_trend_is_the_rank_correlation_with_the_order() -> None:
    mean = np.array([3.0, 1.0, 5.0, 7.0, 6.0])
    expected = stats.spearmanr(range(5), mean).statistic
    assert float(TREND.of(mean)) == pytest.approx(expected)
    both = TREND.of(np.column_stack([mean, mean[::-1]]))
    assert both == pytest.approx([expected, -expected])


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
