"""Bars of means over runs, a qdisc each: page fetch times (web) and fairness."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from qdisclab.analysis.plots import marks
from qdisclab.analysis.plots.panels import PUBLISHED_CC, common_top, grid, legend, qdisc_ticks
from qdisclab.analysis.plots.style import Palette
from qdisclab.analysis.runs.order import in_order
from qdisclab.analysis.runs.settings import Setting, of_setting


def bars(
    per_run: pd.DataFrame,
    value: str,
    settings: Sequence[Setting],
    palette: Palette,
    *,
    label: str,
    reference: float | None = None,
) -> Figure:
    """Draw a bar per qdisc: the mean of the column `value` over runs and their standard deviation.

    Each run is a dot. A dashed line is at `reference`.
    """
    table = per_run.astype({"qdisc": str})
    qdiscs = in_order(list(table["qdisc"]))
    by_cell = table.groupby(["era", "cc", "qdisc"], observed=True)[value]
    cells = by_cell.agg(["mean", "std"]).reset_index()
    top = _top(cells, settings)

    def draw(axes: Axes, setting: Setting) -> None:
        runs = of_setting(table, setting)
        for _, _, qdisc, mean, std in of_setting(cells, setting).to_numpy().tolist():
            place = qdiscs.index(qdisc)
            axes.bar(place, mean, 0.72, color=(palette.color(qdisc), 0.75))
            marks.whisker(axes, place, mean, (std, std), palette)
            _value(axes, place, mean, std, top, palette)
        # without jitter, which is of chance: the same runs give the same picture
        sns.stripplot(runs, x="qdisc", y=value, order=qdiscs, ax=axes, jitter=False, size=2.6,
                      color=palette.ink, alpha=0.55)  # fmt: skip
        if reference is not None:
            marks.reference(axes, reference, palette)
        axes.set(ylim=(0, top), xlabel="", ylabel=label)
        qdisc_ticks(axes, qdiscs, palette)

    return grid(settings, per_run, draw)


def grouped_bars(
    cells: pd.DataFrame,
    settings: Sequence[Setting],
    palette: Palette,
    *,
    by: str,
    names: Sequence[str],
    title: str,
    label: str,
    published: pd.DataFrame | None = None,
) -> Figure:
    """Draw a group of bars per qdisc, a bar for each of `names` in the column `by`, pale to full.

    Bars are means over runs with their standard deviations. `published` is from
    published.read_published: diamonds on the bars, and none beside New Reno.
    """
    printed: dict[Any, float] = {}
    if published is not None:
        printed = published.set_index(["qdisc", by])["value"].to_dict()
    qdiscs = in_order(list(cells["qdisc"].astype(str)))
    top = max(_top(cells, settings), 1.05 * max(printed.values(), default=0))

    def draw(axes: Axes, setting: Setting) -> None:
        shown = of_setting(cells, setting)
        keys = zip(shown["qdisc"].astype(str), shown[by], strict=True)
        values = dict(zip(keys, zip(shown["mean"], shown["std"], strict=True), strict=True))
        beside = printed if setting.cc == PUBLISHED_CC else {}
        marks.bars(axes, values, qdiscs, names, palette, beside)
        axes.set(ylim=(0, top), ylabel=label)
        qdisc_ticks(axes, qdiscs, palette)

    figure = grid(settings, cells, draw)
    title = f"{title} (◇: published)" if printed else title
    legend(figure, marks.shade_handles(names, palette), title=title, alignment="left")
    return figure


def _top(cells: pd.DataFrame, settings: Sequence[Setting]) -> float:
    reach = cells["mean"] + cells["std"].fillna(0)
    first = reach[of_setting(cells, settings[0]).index]
    return common_top(float(first.max()), float(reach.max()))


def _value(axes: Axes, x: float, mean: float, std: float, top: float, palette: Palette) -> None:
    """Write the bar's value above it; of a bar that goes beyond the axis, in it with an arrow."""
    above = mean + (std if np.isfinite(std) else 0) + 0.012 * top
    text = f"{mean:.2f}" if mean < 10 else f"{mean:.1f}"
    behind = None
    if mean > 0.94 * top:
        above, text = 0.94 * top, f"{text} ↑"
        behind = {"facecolor": palette.paper, "linewidth": 0, "pad": 1}  # the bar may be dark
    axes.text(
        x, min(above, 0.95 * top), text, ha="center", va="bottom", fontsize=9, color=palette.ink,
        bbox=behind,
    )  # fmt: skip
