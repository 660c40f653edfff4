"""Numbers and durations as texts for readers."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final

import pandas as pd

NONE: Final = "–"  # where there is no value


def intervals(low: Iterable[float], high: Iterable[float]) -> list[str]:
    """Return pairs of bounds as texts: "4.1 to 5"; a dash where there is none."""
    pairs = zip(low, high, strict=True)
    return [NONE if pd.isna(a) else f"{number(a)} to {number(b)}" for a, b in pairs]


def ranges(numbers: Sequence[int]) -> str:
    """Return 1, 2, 3, 7 as "1–3, 7"; a dash for no number."""
    runs = groupby(enumerate(numbers), key=lambda at: at[1] - at[0])
    parts = [[value for _, value in run] for _, run in runs]
    return ", ".join(f"{p[0]}–{p[-1]}" if len(p) > 1 else f"{p[0]}" for p in parts) or NONE


def listed(names: Sequence[str]) -> str:
    """Return names as a sentence has them: "g001, g002 and g003"."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def number(value: float) -> str:
    """Return four significant digits; a dash where there is no value."""
    return NONE if pd.isna(value) else f"{value:.4g}"


def duration(seconds: float) -> str:
    """Return seconds in a unit that fits: "48 s", "12 min", "3.4 h"."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
