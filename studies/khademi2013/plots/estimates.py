"""Estimates of the queuing delay against what packets waited."""

from collections.abc import Sequence
from typing import Final

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from analysis.plots.style import Palette

from ..measures.estimates import EVERY_PING

LEAST_MS: Final = 0.1
"""What is less, or below 0 by ping's rounding, is drawn here."""


def against_truth(
    table: pd.DataFrame, palette: Palette, *, flows: Sequence[int], qdiscs: Sequence[str]
) -> Figure:
    """One panel per load and qdisc: each estimate over what was true, on logarithmic axes.

    `table` is from estimates.estimates. On the dashed line an estimate is right. Own statistics are
    filled, pings open.
    """
    size = (2.7 * len(qdiscs) + 0.6, 2.7 * len(flows) + 0.9)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(len(flows), len(qdiscs), sharex=True, sharey=True, squeeze=False)
    most = 1.5 * float(table[["true_ms", "estimated_ms"]].max().max())
    for row, load in enumerate(flows):
        for column, qdisc in enumerate(qdiscs):
            axes = panels[row][column]
            there = table[(table["flows"] == load) & (table["qdisc"] == qdisc)]
            color = palette.color(there["aqm"].iloc[0]) if len(there) else palette.ink
            for pings in (True, False):
                one = there[(there["estimate"] == EVERY_PING) == pings]
                axes.plot(
                    one["true_ms"].clip(lower=LEAST_MS), one["estimated_ms"].clip(lower=LEAST_MS),
                    linestyle="none", marker="o", markersize=2.2 if pings else 3.6,
                    markerfacecolor=palette.soft if pings else color,
                    markeredgewidth=0, alpha=0.25 if pings else 0.9, rasterized=True,
                )  # fmt: skip
            axes.plot([LEAST_MS, most], [LEAST_MS, most], color=palette.ink, linestyle="dashed",
                      linewidth=0.9)  # fmt: skip
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.set_title(f"{qdisc}, {load} flows", fontsize=10, color=palette.soft, loc="left")
            if row == len(flows) - 1:
                axes.set_xlabel("Waited (ms)")
            if column == 0:
                axes.set_ylabel("Estimated (ms)")
    handles = [
        Line2D([], [], linestyle="none", marker="o", markersize=5, markeredgewidth=0, color=color)
        for color in (palette.ink, palette.soft)
    ]
    words = ["what the qdisc says", "what ping prints, without the base RTT"]
    figure.legend(handles, words, loc="outside upper left", ncols=2)
    return figure
