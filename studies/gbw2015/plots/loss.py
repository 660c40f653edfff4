"""The figure of the notebook `loss`: losses of VoIP calls beside the printed ones."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from analysis.plots.panels import PANEL_INCH, grid, qdisc_legend
from analysis.plots.style import Palette, look
from analysis.runs.order import in_order
from analysis.runs.settings import Setting, of_setting

FEWEST_PERCENT: Final = 0.001  # of loss; less is drawn here, as none


def losses(
    cells: pd.DataFrame, published: pd.DataFrame, settings: Sequence[Setting], palette: Palette
) -> Figure:
    """VoIP loss of every cell, as gbw2015 Table 2, on a logarithmic scale that ends in "none".

    Both tables have beside (the cross traffic), link and qdisc; `cells` (voip.cell_voip) mean,
    ci_low and ci_high in %, `published` loss_percent. A filled marker is ours with its interval, a
    hollow one the printed value.
    """
    qdiscs = in_order(list(published["qdisc"].astype(str)))
    groups = list(dict.fromkeys(published[["beside", "link"]].itertuples(index=False, name=None)))

    def draw(axes: Axes, setting: Setting) -> None:
        here = of_setting(cells, setting)
        for row, (beside, link) in enumerate(groups):
            for place, qdisc in enumerate(qdiscs):
                y = row + 0.74 * (place / max(1, len(qdiscs) - 1) - 0.5)
                ours = _row(here, beside, link, qdisc)
                theirs = _row(published, beside, link, qdisc)
                _loss(axes, y, qdisc, ours, theirs, palette)
        axes.set_xscale("log")
        axes.set_xlim(FEWEST_PERCENT / 1.8, 100)
        axes.set_xticks([FEWEST_PERCENT, 0.01, 0.1, 1, 10, 100])
        axes.set_xticklabels(["none", "0.01", "0.1", "1", "10", "100"])
        axes.minorticks_off()
        axes.set_ylim(len(groups) - 0.45, -0.55)
        axes.set_yticks(range(len(groups)), [f"{beside}\n{link}" for beside, link in groups])
        axes.tick_params(axis="y", length=0)
        axes.grid(visible=False, axis="y")
        for row in range(1, len(groups)):
            axes.axhline(row - 0.5, color=palette.grid, linewidth=0.8, zorder=0)
        axes.set_xlabel("VoIP packets lost (%)")

    figure = grid(settings, palette, draw)
    width, height = figure.get_size_inches()
    rows = max(1, round(height / PANEL_INCH[1]))
    figure.set_size_inches(width, rows * 6.2)
    qdisc_legend(figure, qdiscs, palette)
    _pair_legend(figure, palette)
    return figure


def _row(table: pd.DataFrame, beside: str, link: str, qdisc: str) -> "pd.Series[float] | None":
    found = table[(table["beside"] == beside) & (table["link"] == link) & (table["qdisc"] == qdisc)]
    return None if found.empty else found.iloc[0]


def _loss(
    axes: Axes,
    y: float,
    qdisc: str,
    ours: "pd.Series[float] | None",
    theirs: "pd.Series[float] | None",
    palette: Palette,
) -> None:
    color, marker = palette.color(qdisc), look(qdisc).marker
    least = FEWEST_PERCENT
    if ours is not None:
        mean = max(float(ours["mean"]), least)
        if np.isfinite(ours["ci_low"]):
            low, high = max(float(ours["ci_low"]), least), max(float(ours["ci_high"]), least)
            axes.plot([low, high], [y, y], color=color, linewidth=1.3, zorder=2)
        axes.plot(
            mean, y, marker=marker, markersize=6.5, color=color, markeredgecolor=palette.paper,
            markeredgewidth=0.6, linestyle="none", zorder=4,
        )  # fmt: skip
    if theirs is not None:
        axes.plot(
            max(float(theirs["loss_percent"]), least), y, marker=marker, markersize=6.5,
            markerfacecolor="none", markeredgecolor=color, markeredgewidth=1.2, linestyle="none",
            zorder=3,
        )  # fmt: skip


def _pair_legend(figure: Figure, palette: Palette) -> None:
    handles = [
        Line2D(
            [], [], marker="o", markersize=7, linestyle="none", markerfacecolor=face,
            markeredgecolor=palette.soft, markeredgewidth=1.3,
        )
        for face in (palette.soft, palette.paper)
    ]  # fmt: skip
    names = ["ours, with 95 % interval", "published"]
    figure.legend(handles, names, loc="outside lower left", ncols=2, handletextpad=0.3)


def describe_losses(table: pd.DataFrame) -> str:
    """The text that stands for losses; `table` has beside, link, qdisc, ours and published in %."""
    parts = [
        f"{row.qdisc} at {row.link} beside {row.beside} {row.ours:.2g} ({row.published:g})"
        for row in table.itertuples(index=False)
        if row.ours or row.published
    ]
    return (
        "Losses of a VoIP flow by cross traffic, link and qdisc in percent, published values in "
        f"brackets; those not named have none: {'; '.join(parts)}."
    )
