"""The figure of the notebook `loss`: losses of VoIP calls beside the printed ones."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from qdisclab.analysis.plots.rows import dots
from qdisclab.analysis.plots.style import Palette
from qdisclab.analysis.runs.settings import Setting, in_headers, of_setting

FEWEST_PERCENT: Final = 0.001  # of loss; less is drawn here, as none


def losses(
    cells: pd.DataFrame, published: pd.DataFrame, settings: Sequence[Setting], palette: Palette
) -> Figure:
    """Draw VoIP loss of every cell, as gbw2015 Table 2, a panel per setting on a logarithmic scale.

    Both tables have beside (the cross traffic), link and qdisc; `cells` (voip.cell_voip) mean,
    ci_low and ci_high in %, `published` loss_percent. A filled marker is ours with its interval, a
    hollow one the printed value.
    """
    printed = published.rename(columns={"loss_percent": "mean"})
    printed = printed.assign(ci_low=np.nan, ci_high=np.nan, filled=False)
    parts = [
        part.assign(quantity=of.title)
        for of in settings
        for part in (of_setting(cells, of).assign(filled=True), printed)
    ]
    drawn = pd.concat(parts).astype({"beside": str, "link": str, "qdisc": str})
    drawn = drawn.assign(row=drawn["beside"] + ", " + drawn["link"])
    drawn = drawn[drawn["qdisc"].isin(printed["qdisc"])]
    names = (printed["beside"].astype(str) + ", " + printed["link"].astype(str)).unique().tolist()
    labels = {of.title: f"{in_headers(of.title)}\nVoIP packets lost (%)" for of in settings}
    return dots(
        drawn, names, [*labels], palette, labels, least=dict.fromkeys(labels, FEWEST_PERCENT),
        about=("ours, with 95 % interval", "published"),
    )  # fmt: skip
