"""The figure of notebooks/parameters.ipynb: the qdiscs' parameters as the paper lays them out."""

from collections.abc import Mapping
from typing import Any, Final

import pandas as pd
from matplotlib.figure import Figure

from analysis.plots.style import Palette
from analysis.runs.order import in_order

ROW_INCH: Final = 0.3


def parameter_table(table: pd.DataFrame, palette: Palette) -> Figure:
    """The parameters as the paper lays them out: a row per parameter, a column per rate.

    `table` is from compare. A value that differs from the printed one stands before it.
    """
    rates = list(dict.fromkeys(table["rate"]))
    rows = list(dict.fromkeys(table[["qdisc", "parameter"]].itertuples(index=False, name=None)))
    order = in_order([qdisc for qdisc, _ in rows])
    rows.sort(key=lambda row: order.index(row[0]))
    keys = table[["qdisc", "parameter", "rate"]].itertuples(index=False, name=None)
    known = dict(zip(keys, table.to_dict("records"), strict=True))
    figure = Figure(figsize=(7.6, 0.5 + ROW_INCH * (len(rows) + 1)))
    axes = figure.add_axes((0.02, 0.01, 0.96, 0.98))
    axes.set_axis_off()
    axes.set_xlim(0, 1)
    axes.set_ylim(len(rows) + 0.5, -0.9)
    places = [0.4 + 0.2 * number for number in range(len(rates))]
    for x, rate in zip(places, rates, strict=True):
        axes.text(x, -0.35, rate, ha="left", va="center", color=palette.soft, fontsize=11)
    for y, (qdisc, parameter) in enumerate(rows):
        if y == 0 or rows[y - 1][0] != qdisc:
            axes.axhline(y + 0.1, color=palette.grid, linewidth=0.9)
            axes.text(0, y + 0.6, qdisc, va="center", color=palette.color(qdisc),
                      fontweight="bold", fontsize=11)  # fmt: skip
        axes.text(0.2, y + 0.6, parameter, va="center", fontsize=11)
        for x, rate in zip(places, rates, strict=True):
            if (qdisc, parameter, rate) in known:
                text = _shown(known[qdisc, parameter, rate])
                axes.text(x, y + 0.6, text, va="center", fontsize=11)
    return figure


def _shown(row: Mapping[Any, Any]) -> str:
    return str(row["published"]) if row["agrees"] else f"{row['ours']} ({row['published']})"


def describe_parameters(table: pd.DataFrame) -> str:
    """The text that stands for parameter_table."""
    parts = [f"{row.qdisc} {row.parameter} at {row.rate} {row.ours}" for row in table.itertuples()]
    return f"Table of the qdiscs' parameters: {'; '.join(parts)}."
