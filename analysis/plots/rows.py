"""A row per rig, a panel per quantity: means with their intervals, a marker per qdisc."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.errors import require_several
from analysis.plots.panels import qdisc_legend
from analysis.plots.style import Palette, look
from analysis.runs.order import in_order

PANEL_INCH: Final = 2.5
ROW_INCH: Final = 0.72


def rigs(
    table: pd.DataFrame,
    names: Sequence[str],
    quantities: Sequence[str],
    palette: Palette,
    labels: Mapping[str, str],
) -> Figure:
    """A row per rig of `names`, a panel per quantity, a marker a qdisc with its 95 % interval.

    `table` has one row per rig, qdisc and quantity, with mean, ci_low and ci_high; `labels` has the
    names of its quantities. Raises DataError for a quantity that `table` has nothing of.
    """
    there = {*table["quantity"]}
    require_several("quantities", quantities, [one for one in labels if one in there])
    qdiscs = in_order(list(table["qdisc"]))
    size = (2.2 + PANEL_INCH * len(quantities), 1.7 + ROW_INCH * len(names))
    figure = Figure(figsize=size)
    figure.set_layout_engine("constrained", wspace=0.04)  # the ends of two axes are two numbers
    panels = figure.subplots(1, len(quantities), sharey=True, squeeze=False)[0]
    for axes, quantity in zip(panels, quantities, strict=True):
        here = table[table["quantity"] == quantity]
        for row, name in enumerate(names):
            _row(axes, row, here[here["rig"] == name], qdiscs, palette)
        for row in range(1, len(names)):
            axes.axhline(row - 0.5, color=palette.grid, linewidth=0.8, zorder=0)
        most = float(np.nanmax(here[["mean", "ci_high"]].to_numpy()))
        axes.set_xlim(0, 1.08 * most or 1)
        axes.set_xlabel(labels[quantity], fontsize=11)
        axes.grid(visible=False, axis="y")
        axes.tick_params(axis="y", length=0)
    panels[0].set_yticks(range(len(names)), [_lines(name) for name in names], fontsize=10)
    panels[0].set_ylim(len(names) - 0.45, -0.55)
    qdisc_legend(figure, qdiscs, palette)
    return figure


def _row(
    axes: Axes, row: int, cells: pd.DataFrame, qdiscs: Sequence[str], palette: Palette
) -> None:
    for place, qdisc in enumerate(qdiscs):
        found = cells[cells["qdisc"] == qdisc]
        if found.empty:
            continue
        y = row + 0.74 * ((place + 0.5) / len(qdiscs) - 0.5)
        color = palette.color(qdisc)
        mean, low, high = (float(found[name].iloc[0]) for name in ("mean", "ci_low", "ci_high"))
        if np.isfinite(low):
            axes.plot([max(low, 0), high], [y, y], color=color, linewidth=1.2, zorder=2)
        axes.plot(
            mean, y, marker=look(qdisc).marker, markersize=6, linestyle="none", zorder=3,
            markerfacecolor=color, markeredgecolor=palette.paper, markeredgewidth=0.6,
            clip_on=False,  # at zero it lies on the axis
        )  # fmt: skip


def _lines(name: str) -> str:
    """`name` in lines of at most 22 characters."""
    lines = [""]
    for word in name.split():
        if len(lines[-1]) + len(word) > 21 and lines[-1]:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)
