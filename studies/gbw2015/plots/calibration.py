"""The figure of the notebook `calibration`: errors of both halves of the printed values."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from qdisclab.analysis.plots.rows import dots
from qdisclab.analysis.plots.style import Palette

from ..measures.wifi_rigs import HALVES


def errors(values: Mapping[str, pd.DataFrame], palette: Palette) -> Figure:
    """Draw a row per path, a panel per figure: the median relative error by qdisc, of the values
    held out, and hollow of those fitted. `values` is from calibration.by_era."""
    table = pd.concat(values, names=["row"]).reset_index(level="row")
    table["quantity"] = "Fig. " + table["figure"].str[0]
    table["mean"] = 100 * (table["ours"] / table["published"] - 1).abs()
    by = ["row", "quantity", "qdisc", "half"]
    drawn = table.groupby(by, sort=False)["mean"].median().reset_index()
    drawn["filled"] = drawn["half"] == HALVES[1]
    drawn = drawn.assign(ci_low=float("nan"), ci_high=float("nan"))
    labels = {name: f"{name}: median error (%)" for name in drawn["quantity"].unique()}
    return dots(drawn, list(values), list(labels), palette, labels, about=("held out", "fitted"))
