"""The figures of notebooks/voip.ipynb: one-way delay and loss of a VoIP flow."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from analysis.errors import require_positive
from analysis.measures.voip import INDUCED, cumulative
from analysis.plots.panels import PANEL_INCH, grid, qdisc_legend
from analysis.plots.style import Palette, look
from analysis.runs.order import in_order
from analysis.runs.settings import Setting, of_setting

DELAY_AXIS: Final = "Induced one-way delay (ms)"
MARKERS: Final = 8  # along a curve
FEWEST_PERCENT: Final = 0.001  # of loss; less is drawn here, as none


def delay_cdf(
    delays: pd.DataFrame, settings: Sequence[Setting], palette: Palette, *, until_ms: float | None
) -> Figure:
    """The distribution of all samples of all runs, as gbw2015 Fig. 3: one line per qdisc.

    `delays` is from voip.induced_delays; the axis ends at `until_ms`, the paper's, or where 99.5 %
    of the samples of every qdisc are.
    """
    qdiscs = in_order(list(delays["qdisc"].astype(str)))
    if until_ms is None:
        by = ["era", "cc", "qdisc"]
        until_ms = float(delays.groupby(by, observed=True)[INDUCED].quantile(0.995).max())
    else:
        require_positive("until_ms", until_ms)

    def draw(axes: Axes, setting: Setting) -> None:
        here = of_setting(delays, setting)
        for place, qdisc in enumerate(qdiscs):
            values = here.loc[here["qdisc"] == qdisc, INDUCED].to_numpy()
            if values.size:
                _curve(axes, values, qdisc, palette, place / len(qdiscs))
        axes.set_xlim(0, until_ms)
        axes.set_ylim(0, 1.01)
        axes.set_xlabel(DELAY_AXIS)
        axes.set_ylabel("Cumulative probability")

    figure = grid(settings, palette, draw)
    qdisc_legend(figure, qdiscs, palette)
    return figure


def _curve(axes: Axes, values: np.ndarray, qdisc: str, palette: Palette, offset: float) -> None:
    ms, share = cumulative(values)
    # 400 points of equal steps of probability draw the same line as 20 000 samples
    keep = np.unique(np.linspace(0, ms.size - 1, 400).astype(int))
    every = keep.size / MARKERS
    (line,) = axes.plot(
        np.concatenate([[ms[0]], ms[keep], [1e6]]), np.concatenate([[0], share[keep], [1]]),
        color=palette.color(qdisc), linewidth=1.7, marker=look(qdisc).marker, markersize=6,
        markeredgecolor=palette.paper, markeredgewidth=0.6,
        markevery=(1 + int(every * offset), max(1, round(every))),
    )  # fmt: skip
    if look(qdisc).dashes:
        line.set_dashes(look(qdisc).dashes)


def describe_delay_cdf(pooled: pd.DataFrame, beside: str, link: str) -> str:
    """The text that stands for delay_cdf; `pooled` is from voip.pooled, of the first setting."""
    parts = [
        f"{row.qdisc} {row.median_ms:.3g} ms, {row.p99_ms:.3g} ms"
        for row in pooled.sort_values("median_ms").itertuples(index=False)
    ]
    return (
        f"Cumulative distribution of the induced one-way delay of a VoIP flow beside {beside} at "
        f"{link} Mbit/s, a line per qdisc. Median and 99th percentile of each: {'; '.join(parts)}."
    )


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
