"""Ours over what others measured: one panel per quantity."""

from typing import Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullLocator

from qdisclab.analysis.plots.marks import point
from qdisclab.analysis.plots.panels import log_axis, panels, qdisc_legend
from qdisclab.analysis.plots.style import Palette

COLUMNS: Final = 4  # of panels, at most


def scatter(table: pd.DataFrame, palette: Palette) -> Figure:
    """Draw each value with both errors, on logarithmic axes; on the dashed line ours is theirs.

    `table` has a row per value: `source` and `quantity`, which make a panel, `unit`, `qdisc`,
    `published`, `reading_error`, `ours`, `ci_low`, `ci_high`, and the relative `error`, whose
    median is the band around the line. What is 0 has no place.
    """
    table = table[(table["published"] > 0) & (table["ours"] > 0)]
    parts = list(table.groupby(["source", "quantity"], sort=False))
    columns = min(len(parts), COLUMNS)
    rows = -(-len(parts) // columns)
    figure, axes_of = panels(3.5 * columns, 3.9 * rows, rows, columns)
    for axes in axes_of.flat[len(parts) :]:
        axes.set_visible(False)
    for axes, ((source, quantity), part) in zip(axes_of.flat, parts, strict=False):
        values = part[["published", "ours"]].to_numpy()
        ends = np.array([0.8 * values.min(), 1.25 * values.max()])
        size = float(part["error"].abs().median())
        axes.fill_between(ends, ends / (1 + size), ends * (1 + size), color=palette.grid, alpha=0.6)
        axes.plot(ends, ends, color=palette.ink, linestyle="dashed", linewidth=0.9)
        for cell in part.to_dict("records"):
            x, y, error = cell["published"], cell["ours"], cell["reading_error"]
            for interval in ((x - error, x + error), (cell["ci_low"], cell["ci_high"])):
                point(
                    axes,
                    x,
                    y,
                    cell["qdisc"],
                    palette,
                    interval=interval,
                    size=5,
                    upright=interval[0] == cell["ci_low"],
                )
        for axis in (axes.xaxis, axes.yaxis):
            log_axis(axis)
            if ends[1] < 10 * ends[0]:  # of one power of ten there is no scale
                axis.set_major_locator(MaxNLocator(4))
                axis.set_minor_locator(NullLocator())
        unit = part["unit"].iloc[0]
        unit = "" if unit in ("index", "1") else f" ({unit})"
        axes.set(xlim=ends, ylim=ends, xlabel="Measured on computers", ylabel="Emulated")
        axes.set_title(f"{source}{': ' * bool(source)}{quantity}{unit}", fontsize=10)
    qdisc_legend(figure, list(table["qdisc"].astype(str)), palette)
    return figure
