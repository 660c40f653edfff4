"""The size of an effect, and how certain it is over seeds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
import scipy

from qdisclab.analysis.claims.check import Statistic
from qdisclab.analysis.runs.flentfile import Floats

RESAMPLES: Final = 2000


@dataclass(frozen=True)
class Effect:
    """A statistic over seeds. `error` is its standard error, of its logarithm where it is a factor;
    NaN of one seed."""

    value: float
    error: float
    seeds: int
    logarithmic: bool = False
    strata: int = 1  # kinds of runs, as the loads of a design, that were drawn from one by one
    alike: bool = False  # all seeds came out the same: nothing was random

    def interval(self, alpha: float = 0.05) -> tuple[float, float]:
        """Return bounds that contain the true value with probability 1 − `alpha`; NaN of one
        seed."""
        if math.isnan(self.error):
            return float("nan"), float("nan")
        if self.error == 0:
            return self.value, self.value
        reach = _quantile(1 - alpha / 2, self.seeds - self.strata) * self.error
        if self.logarithmic:
            return self.value * float(np.exp(-reach)), self.value * float(np.exp(reach))
        return self.value - reach, self.value + reach

    @property
    def shown(self) -> tuple[float, float]:
        """The bounds at 95 % to be printed; NaN of one seed, and where all came out the same."""
        return (math.nan, math.nan) if self.alike else self.interval()


def effect(
    samples: Sequence[Floats],
    statistic: Statistic,
    medians: Sequence[bool] = (),
    strata: Sequence[int] = (),
) -> Effect:
    """`statistic` of the means of `samples`, with its bootstrap standard error; of their medians
    where `medians` says so, of their standard deviations where the statistic is of spreads.

    Each sample has a quantity's values, in the order of the same seeds: seeds are drawn, and with
    each all of its values, because runs of one seed share their random numbers. The percentiles of
    a bootstrap are too narrow for a few seeds; so its standard error, times sqrt(n / (n − 1)), is
    taken with Student's t of n − 1 degrees of freedom (T. Hesterberg, "What Teachers Should Know
    About the Bootstrap", The American Statistician 69 (2015), sec. 4 and 5). For a mean that is
    Student's interval. Where `strata` says of each seed which of a design's loads it is, seeds are
    drawn within their load, so that what distinguishes the loads is no error; n − 1 is then
    the number of seeds less that of loads, and without two seeds of each load there is no error.
    Raises ValueError where the statistic is not defined.
    """
    table = np.stack([np.asarray(sample, dtype=np.float64) for sample in samples])
    if statistic.logarithmic and not (table > 0).all():
        raise ValueError("a factor of values that are not all positive")
    seeds = table.shape[1]
    usual = np.std if statistic.spread else np.mean
    centres = [np.median if median else usual for median in medians or [False] * len(table)]
    middle = [centre(row) for centre, row in zip(centres, table, strict=True)]
    value = float(statistic.of(np.array(middle)))
    loads = np.asarray(strata if len(strata) else np.zeros(seeds), dtype=int)
    places_of = [np.flatnonzero(loads == load) for load in np.unique(loads)]
    kinds = len(places_of)
    if min(map(len, places_of)) < 2:
        return Effect(value, float("nan"), seeds, statistic.logarithmic, kinds)
    random = np.random.default_rng(1)
    drawn = np.empty((RESAMPLES, seeds), dtype=int)
    for places in places_of:
        drawn[:, places] = places[random.integers(0, len(places), (RESAMPLES, len(places)))]
    each = zip(centres, table, strict=True)
    values = statistic.of(np.stack([centre(row[drawn], axis=-1) for centre, row in each]))
    values = np.log(values) if statistic.logarithmic else values
    error = float(np.std(values, ddof=1)) * float(np.sqrt(seeds / (seeds - kinds)))
    # rounding: equal values give a mean that differs in its last digits
    error = 0.0 if error <= 1e-12 * max(abs(value), 1e-300) else error
    return Effect(value, error, seeds, statistic.logarithmic, kinds)


@cache
def _quantile(probability: float, degrees: int) -> float:
    """Return a quantile of Student's t."""
    return float(scipy.stats.t.ppf(probability, degrees))


def number(value: float) -> str:
    """Format a number with three significant digits and a true minus sign."""
    return f"{value:.3g}".replace("-", "−")
