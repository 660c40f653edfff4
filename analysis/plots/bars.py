"""Bars of means over runs, a qdisc each: page fetch times (web) and fairness."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from analysis.plots.panels import DASHED, PUBLISHED_CC, common_top, grid, hollow, qdisc_ticks
from analysis.plots.style import Palette
from analysis.runs.order import in_order
from analysis.runs.settings import Setting, of_setting

WIDTH: Final = 0.72


def bars(
    per_run: pd.DataFrame,
    value: str,
    settings: Sequence[Setting],
    palette: Palette,
    *,
    label: str,
    reference: float | None = None,
) -> Figure:
    """One bar per qdisc: the mean of the column `value` over runs and, as the paper's error bars,
    their standard deviation; each run is a dot. A dashed line is at `reference`.
    """
    table = per_run.astype({"qdisc": str})
    qdiscs = in_order(list(table["qdisc"]))
    colors = {qdisc: palette.color(qdisc) for qdisc in qdiscs}
    by_cell = table.groupby(["era", "cc", "qdisc"], observed=True)[value]
    cells = by_cell.agg(["mean", "std"]).reset_index()
    top = _top(cells, settings)

    def draw(axes: Axes, setting: Setting) -> None:
        here = of_setting(table, setting)
        same = {"data": here, "x": "qdisc", "y": value, "order": qdiscs, "ax": axes}
        sns.barplot(
            **same, hue="qdisc", hue_order=qdiscs, palette=colors, saturation=1, legend=False,
            alpha=0.75, width=WIDTH, errorbar="sd", capsize=0.12,
            err_kws={"color": palette.ink, "linewidth": 1.1},
        )  # fmt: skip
        # without jitter, which is of chance: the same runs give the same picture
        sns.stripplot(**same, jitter=False, size=2.6, color=palette.ink, alpha=0.55)
        known = of_setting(cells, setting).set_index("qdisc")
        for place, qdisc in enumerate(qdiscs):
            if qdisc in known.index:
                mean, std = known["mean"].to_dict()[qdisc], known["std"].to_dict()[qdisc]
                _value(axes, place, mean, std, top, palette)
        if reference is not None:
            axes.axhline(reference, color=palette.soft, linewidth=1, linestyle=DASHED)
        axes.set_ylim(0, top)
        axes.set_xlabel("")
        axes.set_ylabel(label)
        qdisc_ticks(axes, qdiscs, palette)

    return grid(settings, palette, draw)


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
    """One group of bars a qdisc, a bar for each of `names` in the column `by`, pale to full.

    Bars are means over runs with their standard deviations. `published` is from
    published.read_published: hollow markers on the bars, and none beside New Reno.
    """
    theirs = {} if published is None else published.set_index(["qdisc", by])["value"].to_dict()
    qdiscs = in_order(list(cells["qdisc"].astype(str)))
    width = 0.84 / len(names)
    shades = np.linspace(0.25, 0.95, len(names))
    top = max(_top(cells, settings), 1.05 * max(theirs.values(), default=0))

    def draw(axes: Axes, setting: Setting) -> None:
        here = of_setting(cells, setting).set_index(["qdisc", by])
        for place, qdisc in enumerate(qdiscs):
            color = palette.color(qdisc)
            for number, name in enumerate(names):
                if (qdisc, name) in here.index:
                    x = place + width * (number - (len(names) - 1) / 2)
                    mean, std = (here[one].to_dict()[qdisc, name] for one in ("mean", "std"))
                    face = (color, float(shades[number]))
                    axes.bar(x, mean, 0.92 * width, color=face, edgecolor=color, linewidth=0.7)
                    _whisker(axes, x, mean, std, palette)
                    if (qdisc, name) in theirs and setting.cc == PUBLISHED_CC:
                        hollow(axes, x, theirs[qdisc, name], "D", palette.ink, palette)
        axes.set_ylim(0, top)
        axes.set_ylabel(label)
        qdisc_ticks(axes, qdiscs, palette)

    figure = grid(settings, palette, draw)
    handles = [
        Line2D(
            [], [], marker="s", markersize=9, linestyle="none", markeredgecolor=palette.soft,
            markerfacecolor=(palette.soft, float(shade)),
        )
        for shade in shades
    ]  # fmt: skip
    title = f"{title} (◇: published)" if theirs else title
    figure.legend(
        handles, list(names), title=title, loc="outside upper left", ncols=len(names),
        alignment="left", handletextpad=0.3,
    )  # fmt: skip
    return figure


def describe_bars(cells: pd.DataFrame, what: str, unit: str) -> str:
    """The text that stands for bars; `cells` of one setting."""
    parts = [f"{row.qdisc} {row.mean:.3g}{unit}" for row in cells.itertuples(index=False)]
    return f"Bar chart of {what}, a bar per qdisc: {'; '.join(parts)}."


def describe_grouped(cells: pd.DataFrame, by: str, what: str, unit: str) -> str:
    """The text that stands for grouped_bars; `cells` of one setting."""
    parts = []
    for qdisc, rows in cells.groupby("qdisc", observed=True, sort=False):
        values = (
            f"{name} {mean:.3g}{unit}" for name, mean in zip(rows[by], rows["mean"], strict=True)
        )
        parts.append(f"{qdisc} {', '.join(values)}")
    return f"Bar chart of {what}, a group of bars a qdisc: {'; '.join(parts)}."


def _top(cells: pd.DataFrame, settings: Sequence[Setting]) -> float:
    reach = cells["mean"] + cells["std"].fillna(0)
    first = reach[of_setting(cells, settings[0]).index]
    return common_top(float(first.max()), float(reach.max()))


def _whisker(axes: Axes, x: float, mean: float, std: float, palette: Palette) -> None:
    if np.isfinite(std):
        axes.errorbar(
            x, mean, [[min(std, mean)], [std]], color=palette.ink, linewidth=1.1, capsize=2.5
        )


def _value(axes: Axes, x: float, mean: float, std: float, top: float, palette: Palette) -> None:
    """The bar's value above it; of a bar that goes beyond the axis, inside it with an arrow."""
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
