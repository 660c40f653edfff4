"""Whether a value that a paper prints agrees with ours.

A printed value is a mean or a median over the paper's repetitions, read with some error. Had the
paper repeated ours, its value would differ from ours by chance: by how much follows from the
spread of our seeds. What differs by more than that and by more than the reading error disagrees.
"""

from typing import Final

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike

from qdisclab.analysis.runs.flentfile import Floats

REPETITIONS: Final = 30  # of the papers
MEDIAN: Final = np.sqrt(np.pi / 2)  # its standard error by that of the mean, of normal values
PACKET_PERCENT: Final = 100 / 15000  # of a call: 100 packets a second for 150 s (Secs. 5 and 5.2)
NONE_SEEN: Final = 3.0  # events at most, with 95 % certainty, where none was seen


def spread(
    std: ArrayLike, seeds: ArrayLike, *, repetitions: int = REPETITIONS, median: bool = False
) -> Floats:
    """Return how far the mean of so many `repetitions` may lie from that of ours, by chance alone.

    Half the 95 % prediction interval (Student's t) from the standard deviation `std` of our
    `seeds`, in its unit; NaN of one seed. That of medians is wider by a factor of 1.25.
    """
    n = np.asarray(seeds, dtype=np.float64)
    freedom = np.where(n > 1, n - 1, np.nan)
    error = np.asarray(std, dtype=np.float64) * np.sqrt(1 / np.maximum(n, 1) + 1 / repetitions)
    reach = np.asarray(scipy.stats.t.ppf(0.975, freedom) * error, dtype=np.float64)
    return reach * MEDIAN if median else reach


def allowed(reading_error: ArrayLike, spread: ArrayLike) -> Floats:
    """Return the larger of the two; of one seed, which has no spread, the reading error."""
    return np.fmax(np.asarray(reading_error, dtype=np.float64), spread)


def factor(
    ratios: ArrayLike, printed: float, reading_error: float, *, repetitions: int = REPETITIONS
) -> float:
    """Return the factor by which a `printed` ratio may differ from ours, either way, of the
    `ratios` of our seeds: as `allowed`, in logarithms."""
    logs = np.log(np.asarray(ratios, dtype=np.float64))
    std = logs.std(ddof=1) if logs.size > 1 else np.nan
    reach = spread(std, logs.size, repetitions=repetitions)
    return float(np.exp(allowed(np.log1p(reading_error / printed), reach)))


def unseen(step: float, seeds: int) -> float:
    """Return how much of an event there may be of which no seed has any; `step` is what one of them
    makes of a run's value, a packet of those sent for instance (the rule of three)."""
    return NONE_SEEN * step / seeds


def agrees(
    ours: ArrayLike, printed: ArrayLike, reading_error: ArrayLike, spread: ArrayLike
) -> pd.arrays.BooleanArray:
    """Return whether each of the values, shape (n,), agrees; missing where there is none, or one
    seed that is outside of the reading error."""
    difference = np.abs(np.asarray(ours, dtype=np.float64) - np.asarray(printed, dtype=np.float64))
    inside = difference <= allowed(reading_error, spread)
    unknown = np.isnan(difference) | (~inside & np.isnan(spread))
    return pd.arrays.BooleanArray(inside, unknown)


def judged(table: pd.DataFrame, spread: ArrayLike) -> pd.DataFrame:
    """Return `table`, of columns ours, published and reading_error, with ratio, allowed and
    agrees."""
    ours, printed, error = (table[name] for name in ("ours", "published", "reading_error"))
    return table.assign(
        ratio=ours / printed,
        allowed=allowed(error, spread),
        agrees=agrees(ours, printed, error, spread),
    )
