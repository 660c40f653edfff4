"""The figure of the notebook `ablation`: what each switch of an era does."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from analysis.errors import require_several
from analysis.measures.metrics import GOODPUT, INDUCED
from analysis.plots.panels import DASHED, qdisc_legend
from analysis.plots.style import Palette, look
from analysis.runs.order import in_order
from emulation.model.era import SWITCHES
from emulation.model.run import DEFAULT_ERA

from ..measures.ablation import ALL

WIDTH_INCH: Final = 9.2
ROW_INCH: Final = 0.46
LABELS: Final = {
    INDUCED: "Change of induced latency (ms)",
    GOODPUT["download"]: "Change of download (Mbit/s)",
    GOODPUT["upload"]: "Change of upload (Mbit/s)",
}


def switch_effects(effects: pd.DataFrame, palette: Palette, quantities: Sequence[str]) -> Figure:
    """One row per switch, one panel per quantity: the change that the switch makes, with its
    interval.

    `effects` is from ablation.effects, `quantities` are columns of it. A filled marker is the
    switch added to today's Linux, a hollow one the switch within or on top of that of 2014.
    """
    require_several("quantities", quantities, LABELS)
    names = [one for one in (ALL, *(s.name for s in SWITCHES)) if one in set(effects["switch"])]
    qdiscs = in_order(list(effects["qdisc"].astype(str)))
    figure = Figure(figsize=(WIDTH_INCH, 1.6 + ROW_INCH * len(names)), layout="constrained")
    panels = figure.subplots(1, len(quantities), sharey=True, squeeze=False)[0]
    for axes, quantity in zip(panels, quantities, strict=True):
        here = effects[effects["quantity"] == quantity]
        for row, name in enumerate(names):
            _row(axes, row, here[here["switch"] == name], qdiscs, palette)
        axes.axvline(0, color=palette.soft, linewidth=1, linestyle=DASHED, zorder=1)
        for row in range(1, len(names)):
            axes.axhline(row - 0.5, color=palette.grid, linewidth=0.8, zorder=0)
        axes.set_xlabel(LABELS[quantity], fontsize=11)
        axes.grid(visible=False, axis="y")
        axes.tick_params(axis="y", length=0)
    panels[0].set_yticks(range(len(names)), [_title(name) for name in names], fontsize=10)
    panels[0].set_ylim(len(names) - 0.45, -0.55)
    qdisc_legend(figure, qdiscs, palette)
    _legend(figure, palette)
    return figure


def describe_effects(effects: pd.DataFrame, link: str) -> str:
    """The text that stands for switch_effects: the largest change of latency of each qdisc."""
    latency = effects[(effects["quantity"] == INDUCED) & (effects["switch"] != ALL)]
    largest = latency.loc[latency.groupby("qdisc", observed=True)["effect"].apply(_furthest)]
    parts = [
        f"{row.qdisc}: {row.switch} {row.effect:+.3g} ms" for row in largest.itertuples(index=False)
    ]
    return (
        f"Effects of single switches between today's Linux and that of 2014 on RRUL at {link} "
        f"Mbit/s, with intervals. Largest change of latency by qdisc: {'; '.join(parts)}."
    )


def _furthest(effect: pd.Series) -> object:
    return effect.abs().idxmax()


def _row(
    axes: Axes, row: int, effects: pd.DataFrame, qdiscs: Sequence[str], palette: Palette
) -> None:
    marks = len(qdiscs)
    for one in effects.itertuples(index=False):
        qdisc, added = str(one.qdisc), one.base == DEFAULT_ERA
        place = qdiscs.index(qdisc) + (0 if added else 0.5)
        y = row + 0.74 * ((place + 0.25) / marks - 0.5)
        color = palette.color(qdisc)
        effect, low, high = (float(str(v)) for v in (one.effect, one.ci_low, one.ci_high))
        if np.isfinite(low):
            axes.plot([low, high], [y, y], color=color, linewidth=1.2, zorder=2)
        axes.plot(
            effect, y, marker=look(qdisc).marker, markersize=5.5, linestyle="none", zorder=3,
            markerfacecolor=color if added else palette.paper, markeredgecolor=color,
            markeredgewidth=1.1,
        )  # fmt: skip


def _title(switch: str) -> str:
    return "all of 2014" if switch == ALL else switch


def _legend(figure: Figure, palette: Palette) -> None:
    handles = [
        Line2D(
            [], [], marker="o", markersize=7, linestyle="none", markerfacecolor=face,
            markeredgecolor=palette.soft, markeredgewidth=1.3,
        )
        for face in (palette.soft, palette.paper)
    ]  # fmt: skip
    names = ["added to today's Linux", "with that of 2014"]
    figure.legend(handles, names, loc="outside lower left", ncols=2, handletextpad=0.3)
