"""The figure of the notebook `ablation`: what each switch of an era does."""

from collections.abc import Sequence
from typing import Final

import pandas as pd
from matplotlib.figure import Figure

from analysis.errors import require_several
from analysis.measures.metrics import GOODPUT, INDUCED
from analysis.plots.marks import points, reference
from analysis.plots.panels import fill_legend, name_rows, panels, qdisc_legend
from analysis.plots.style import Palette
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
    """Draw a row per switch, a panel per quantity: the change that the switch makes.

    `effects` is from ablation.effects, `quantities` are columns of it. A filled marker is the
    switch added to today's Linux, a hollow one the switch within or on top of that of 2014.
    """
    require_several("quantities", quantities, LABELS)
    shown = set(effects["switch"])
    names = [name for name in (ALL, *(switch.name for switch in SWITCHES)) if name in shown]
    qdiscs = in_order(list(effects["qdisc"].astype(str)))
    cells = effects.rename(columns={"switch": "row", "effect": "mean"})
    cells = cells.assign(filled=cells["base"] == DEFAULT_ERA)
    height = 1.6 + ROW_INCH * len(names)
    figure, axes_of = panels(WIDTH_INCH, height, columns=len(quantities), sharey=True)
    for axes, quantity in zip(axes_of[0], quantities, strict=True):
        rows = cells[cells["quantity"] == quantity]
        points(axes, rows, names, qdiscs, palette, shift=0.5)
        reference(axes, 0, palette, upright=True)
        axes.set_xlabel(LABELS[quantity], fontsize=11)
        name_rows(axes, ["all of 2014" if name == ALL else name for name in names], palette)
    qdisc_legend(figure, qdiscs, palette)
    fill_legend(figure, palette, "added to today's Linux", "with that of 2014")
    return figure


def largest(effects: pd.DataFrame) -> pd.DataFrame:
    """Return the row of the switch that changes the latency of each qdisc most."""
    latency = effects[(effects["quantity"] == INDUCED) & (effects["switch"] != ALL)]
    sizes = latency["effect"].abs().groupby(latency["qdisc"], observed=True)
    return latency.loc[sizes.idxmax()]
