"""A row per name, a panel per quantity: means with their intervals, a marker per qdisc."""

from collections.abc import Collection, Mapping, Sequence
from textwrap import fill
from types import MappingProxyType
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from qdisclab.analysis.errors import require_several
from qdisclab.analysis.plots import panels
from qdisclab.analysis.plots.marks import points, reference
from qdisclab.analysis.plots.style import Palette
from qdisclab.analysis.runs.order import in_order

PANEL_INCH: Final = 2.5
ROW_INCH: Final = 0.72
ACROSS: Final = 4  # panels side by side at most
WIDTH: Final = 30  # characters of a label that a panel has room for


def dots(
    table: pd.DataFrame,
    names: Sequence[str],
    quantities: Sequence[str],
    palette: Palette,
    labels: Mapping[str, str],
    *,
    least: Mapping[str, float] = MappingProxyType({}),
    zoomed: Collection[str] = (),
    about: Sequence[str] = (),
) -> Figure:
    """Draw a row for each of `names`, a panel per quantity, a marker per qdisc with its interval.

    `table` has row, qdisc, quantity, mean, ci_low and ci_high; where it has `filled`, other markers
    are hollow and a little lower, and `about` says what both are. `labels` has the names of the
    quantities. The axes of those of `least` are logarithmic, and what is less than that is drawn
    there; those of `zoomed` need not begin at 0. Where it has `n_seeds`, a panel says that there is
    one run of each. Raise DataError for a quantity without rows.
    """
    table = table.astype({"row": str, "qdisc": str})
    measured = {*table["quantity"]}
    require_several("quantities", quantities, [name for name in labels if name in measured])
    table = table[table["row"].isin(names)]
    qdiscs = in_order(list(table["qdisc"]))
    down = -(-len(quantities) // ACROSS)
    across = -(-len(quantities) // down)
    size = (2.2 + PANEL_INCH * across, (1.7 + ROW_INCH * len(names)) * down)
    figure, axes_of = panels.panels(*size, down, across, sharey=True)
    for axes, quantity in zip(axes_of.flat, quantities, strict=False):
        cells = table[table["quantity"] == quantity]
        floor = least.get(quantity)
        low, high = _limits(cells, floor, zoomed=quantity in zoomed)
        cells = cells.assign(ci_low=cells.ci_low.clip(low), ci_high=cells.ci_high.clip(low, high))
        # at zero a marker lies on the axis
        points(axes, cells, names, qdiscs, palette, shift=0.5 if about else 0, size=6,
               least=-np.inf if floor is None else floor, clip_on=False)  # fmt: skip
        if floor is not None:
            panels.log_axis(axes.xaxis)
            end = f"≤ {floor:g}" if (cells["mean"] < floor).any() else f"{floor:g}"
            axes.xaxis.set_major_formatter(
                lambda value, _, floor=floor, end=end: end if value == floor else f"{value:g}"
            )
        elif low < 0:
            reference(axes, 0, palette, upright=True)
        axes.set_xlim(low, high)
        alone = [panels.one_run(cells)] if "n_seeds" in cells else []
        lines = [*labels[quantity].split("\n"), *alone]
        axes.set_xlabel("\n".join(fill(line, WIDTH) for line in lines), fontsize=11)
        panels.name_rows(axes, [fill(name, 22) for name in names], palette)
    for axes in axes_of.flat[len(quantities) :]:
        axes.set_visible(False)
    if len(qdiscs) > 1:
        panels.qdisc_legend(figure, qdiscs, palette)
    if about:
        panels.fill_legend(figure, palette, *about)
    return figure


def _limits(cells: pd.DataFrame, floor: float | None, *, zoomed: bool) -> tuple[float, float]:
    """Return the ends of an axis, which intervals may pass that are wider than all the rest."""
    first, last = float(cells["mean"].min()), float(cells["mean"].max())
    low = min([first, *cells.loc[cells["ci_low"] > first - last, "ci_low"]])
    high = max([last, *cells.loc[cells["ci_high"] < 2 * last, "ci_high"]])
    if floor is not None:
        return max(floor, low / 1.2), 1.2 * high
    if first >= 0 and not zoomed:
        return 0, 1.08 * high or 1
    room = 0.05 * (high - low)
    return low - room, high + room
