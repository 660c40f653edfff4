"""A row per rig, a panel per quantity: means with their intervals, a marker per qdisc."""

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.errors import require_several
from analysis.plots.marks import points
from analysis.plots.panels import name_rows, panels, qdisc_legend
from analysis.plots.style import Palette
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
    """Draw a row per rig of `names`, a panel per quantity, a marker a qdisc with its 95 % interval.

    `table` has one row per rig, qdisc and quantity, with mean, ci_low and ci_high; `labels` has the
    names of its quantities. Raise DataError for a quantity that `table` has nothing of.
    """
    measured = {*table["quantity"]}
    require_several("quantities", quantities, [name for name in labels if name in measured])
    qdiscs = in_order(list(table["qdisc"]))
    size = (2.2 + PANEL_INCH * len(quantities), 1.7 + ROW_INCH * len(names))
    figure, axes_of = panels(*size, columns=len(quantities), sharey=True)
    for axes, quantity in zip(axes_of[0], quantities, strict=True):
        cells = table[(table["quantity"] == quantity) & table["rig"].isin(names)]
        # at zero a marker lies on the axis
        points(axes, cells.rename(columns={"rig": "row"}), names, qdiscs, palette, least=0, size=6,
               clip_on=False)  # fmt: skip
        most = float(np.nanmax(cells[["mean", "ci_high"]].to_numpy()))
        axes.set_xlim(0, 1.08 * most or 1)
        axes.set_xlabel(fill(labels[quantity], 30), fontsize=11)
        name_rows(axes, [fill(name, 22) for name in names], palette)
    qdisc_legend(figure, qdiscs, palette)
    return figure
