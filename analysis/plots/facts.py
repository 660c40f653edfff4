"""Tables that describe: read from a file, shown as they are."""

from pathlib import Path
from typing import Final

import pandas as pd
from matplotlib.figure import Figure

from analysis.errors import DataError
from analysis.plots.style import Palette
from analysis.runs.files import read_csv
from analysis.runs.published import REMEDY

ROW_INCH: Final = 0.32
CHARACTER_INCH: Final = 0.085
GAP: Final = 3  # characters between columns


def read_facts(path: Path) -> pd.DataFrame:
    """A table of texts with a header; raises DataError where it is none."""
    try:
        table = read_csv(path, dtype=str, keep_default_na=False)
    except ValueError as error:
        raise DataError.of(path, f"no table ({error})", REMEDY) from error
    if table.empty or table.columns.size < 2:
        raise DataError.of(path, "has no rows or one column", REMEDY)
    return table


def facts_table(table: pd.DataFrame, palette: Palette) -> Figure:
    """The table as it is, a column as wide as its longest text."""
    names = list(table.columns)
    widths = [GAP + max(len(name), *(len(text) for text in table[name])) for name in names]
    size = (CHARACTER_INCH * sum(widths), ROW_INCH * (len(table) + 1.6))
    figure = Figure(figsize=size)
    axes = figure.add_axes((0.01, 0.01, 0.98, 0.98))
    axes.set_axis_off()
    axes.set_xlim(0, sum(widths))
    axes.set_ylim(len(table) + 0.6, -1)
    at = 0
    for name, width in zip(names, widths, strict=True):
        axes.text(at, -0.4, name, va="center", color=palette.soft, fontsize=11)
        for row, text in enumerate(table[name]):
            axes.text(at, row + 0.6, text, va="center", fontsize=11)
        at += width
    axes.axhline(0.1, color=palette.grid, linewidth=0.9)
    return figure


def describe_facts(table: pd.DataFrame) -> str:
    """The text that stands for facts_table."""
    rows = ["; ".join(map(str, row)) for row in table.itertuples(index=False, name=None)]
    return f"Table of {', '.join(table.columns)}. " + ". ".join(rows)
