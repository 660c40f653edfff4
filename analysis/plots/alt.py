"""The text that stands for a figure where it cannot be seen."""

from collections.abc import Mapping, Sequence

import pandas as pd


def describe(
    figure: str,
    table: pd.DataFrame,
    by: Sequence[str],
    values: Mapping[str, str],
    *,
    how: str = "mean",
) -> str:
    """Return what the figure is, and the values of each row of `table` with their units.

    `by` are the columns that name a row, `values` the columns of numbers and their units. Rows of
    one name are one: their mean, or `how` says what.
    """
    rows = table.groupby(list(by), observed=True, sort=False)[list(values)].agg(how).reset_index()
    parts = []
    for row in rows.to_dict("records"):
        numbers = (f"{row[name]:.3g}{unit}" for name, unit in values.items() if pd.notna(row[name]))
        parts.append(f"{' '.join(str(row[name]) for name in by)} {', '.join(numbers)}")
    return f"{figure}: {'; '.join(parts)}."
