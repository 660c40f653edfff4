"""The figure of the notebook `ablation`: what each switch of an era does."""

from collections.abc import Sequence
from typing import Final

import pandas as pd
from matplotlib.figure import Figure

from qdisclab.analysis.measures.metrics import INDUCED
from qdisclab.analysis.plots.rows import dots
from qdisclab.analysis.plots.style import Palette
from qdisclab.emulation.model.era import SWITCHES
from qdisclab.emulation.model.run import DEFAULT_ERA

from ..measures.ablation import ALL, QUANTITIES

LABELS: Final = {name: f"Change of {what} ({unit})" for name, (what, unit) in QUANTITIES.items()}


def switch_effects(effects: pd.DataFrame, palette: Palette, quantities: Sequence[str]) -> Figure:
    """Draw a row per switch, a panel per quantity: the change that the switch makes.

    `effects` is from ablation.effects, `quantities` are columns of it. A filled marker is the
    switch added to today's Linux, a hollow one the switch within or on top of that of 2014.
    """
    names = [name for name in (ALL, *(of.name for of in SWITCHES)) if name in {*effects["switch"]}]
    cells = effects.rename(columns={"switch": "row", "effect": "mean"})
    cells = cells.assign(filled=cells["base"] == DEFAULT_ERA)
    about = ("added to today's Linux", "with that of 2014")
    return dots(cells, names, quantities, palette, LABELS, about=about)


def largest(effects: pd.DataFrame) -> pd.DataFrame:
    """Return the row of the switch that changes the latency of each qdisc most."""
    latency = effects[(effects["quantity"] == INDUCED) & (effects["switch"] != ALL)]
    sizes = latency["effect"].abs().groupby(latency["qdisc"], observed=True)
    return latency.loc[sizes.idxmax()]
