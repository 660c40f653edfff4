"""Estimates of the queuing delay against what packets waited."""

from collections.abc import Sequence
from typing import Final

import pandas as pd
from matplotlib.figure import Figure

from qdisclab.analysis.plots.marks import handle
from qdisclab.analysis.plots.panels import legend, panels
from qdisclab.analysis.plots.style import Palette

from ..measures.estimates import EVERY_PING

LEAST_MS: Final = 0.1
"""What is less, or below 0 by ping's rounding, is drawn here."""


def against_truth(
    table: pd.DataFrame, palette: Palette, *, flows: Sequence[int], qdiscs: Sequence[str]
) -> Figure:
    """Draw one panel per load and qdisc: each estimate over what was true, on logarithmic axes.

    `table` is from estimates.estimates. On the dashed line an estimate is right. Own statistics are
    filled, pings open.
    """
    size = (2.7 * len(qdiscs) + 0.6, 2.7 * len(flows) + 0.9)
    figure, axes_of = panels(*size, len(flows), len(qdiscs), sharex=True, sharey=True)
    most = 1.5 * float(table[["true_ms", "estimated_ms"]].max().max())
    for row, load in enumerate(flows):
        for column, qdisc in enumerate(qdiscs):
            axes = axes_of[row, column]
            points = table[(table["flows"] == load) & (table["qdisc"] == qdisc)]
            color = palette.color(points["aqm"].iloc[0]) if len(points) else palette.ink
            for pings in (True, False):
                some = points[(points["estimate"] == EVERY_PING) == pings]
                axes.plot(
                    some["true_ms"].clip(lower=LEAST_MS), some["estimated_ms"].clip(lower=LEAST_MS),
                    linestyle="none", marker="o", markersize=2.2 if pings else 3.6,
                    markerfacecolor=palette.soft if pings else color,
                    markeredgewidth=0, alpha=0.25 if pings else 0.9, rasterized=True,
                )  # fmt: skip
            axes.plot([LEAST_MS, most], [LEAST_MS, most], color=palette.ink, linestyle="dashed",
                      linewidth=0.9)  # fmt: skip
            axes.set(xscale="log", yscale="log")
            axes.set_title(f"{qdisc}, {load} flows", fontsize=10)
            if row == len(flows) - 1:
                axes.set_xlabel("Waited (ms)")
            if column == 0:
                axes.set_ylabel("Estimated (ms)")
    names = ("what the qdisc says", "what ping prints, without the base RTT")
    handles = {
        name: handle(color, color, markersize=5, markeredgewidth=0)
        for name, color in zip(names, (palette.ink, palette.soft), strict=True)
    }
    legend(figure, handles)
    return figure
