"""Ours over what others measured: one panel per quantity."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullLocator

from analysis.plots.style import Palette, look


def scatter(table: pd.DataFrame, palette: Palette) -> Figure:
    """Each value with both errors, on logarithmic axes; on the dashed line ours is theirs.

    `table` is from distance.errors. The band around the line is the median relative error.
    """
    panels = list(table.groupby(["source", "quantity"], sort=False))
    figure = Figure(figsize=(3.5 * len(panels), 3.9), layout="constrained")
    for axes, ((source, quantity), part) in zip(
        figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True
    ):
        theirs, ours = part["published"], part["ours"]
        ends = np.array([0.8 * min(theirs.min(), ours.min()), 1.25 * max(theirs.max(), ours.max())])
        size = float(part["error"].abs().median())
        axes.fill_between(ends, ends / (1 + size), ends * (1 + size), color=palette.grid, alpha=0.6)
        axes.plot(ends, ends, color=palette.ink, linestyle="dashed", linewidth=0.9)
        for qdisc, points in part.groupby("qdisc", sort=False, observed=True):
            ci = np.abs(points[["ci_low", "ci_high"]].to_numpy().T - points["ours"].to_numpy())
            axes.errorbar(
                points["published"], points["ours"], xerr=points["reading_error"],
                yerr=np.nan_to_num(ci), linestyle="none", marker=look(str(qdisc)).marker,
                markersize=4.5, linewidth=0.8, color=palette.color(str(qdisc)), label=str(qdisc),
            )  # fmt: skip
        axes.set(xscale="log", yscale="log", xlim=ends, ylim=ends)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter("{x:g}")
            if ends[1] < 10 * ends[0]:  # of one power of ten there is no scale
                axis.set_major_locator(MaxNLocator(4))
                axis.set_minor_locator(NullLocator())
        unit = part["unit"].iloc[0]
        unit = "" if unit in ("index", "1") else f" ({unit})"
        axes.set_title(f"{source}: {quantity}{unit}", fontsize=10, color=palette.soft, loc="left")
        axes.set_xlabel("Measured on computers")
        axes.set_ylabel("Emulated")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=len(labels))
    return figure


def describe(table: pd.DataFrame) -> str:
    """The figure in a sentence."""
    parts = [
        f"{source}, {quantity}: {len(part)} values, median error {part['error'].abs().median():.1%}"
        for (source, quantity), part in table.groupby(["source", "quantity"], sort=False)
    ]
    return f"Emulated values over measured ones. {'; '.join(parts)}."
