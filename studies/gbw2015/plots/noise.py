"""The figure of the notebook `noise`: results by the path of the packets."""

from collections.abc import Sequence
from typing import Final

import pandas as pd
from matplotlib.figure import Figure

from qdisclab.analysis.measures.metrics import INDUCED
from qdisclab.analysis.plots.rows import dots
from qdisclab.analysis.plots.style import Palette

from ..measures.ablation import QUANTITIES
from ..measures.noise import factor

LABELS: Final = {name: f"{what.capitalize()} ({unit})" for name, (what, unit) in QUANTITIES.items()}
PAPER: Final = "paper"


def paths(table: pd.DataFrame, palette: Palette, quantities: Sequence[str]) -> Figure:
    """Draw a panel per quantity, a row per path and one for what is printed, which is hollow.

    `table` is from noise.by_path.
    """
    printed = table.drop_duplicates(["qdisc", "quantity"]).dropna(subset="published")
    printed = printed.assign(path=PAPER, mean=printed["published"], ci_low=float("nan"))
    drawn = pd.concat([table.assign(filled=True), printed.assign(filled=False)])
    drawn = drawn.rename(columns={"path": "row"})
    names = [*in_path_order(table), PAPER]
    least, about = {INDUCED: 1.0}, ("ours", "published")
    return dots(drawn, names, quantities, palette, LABELS, least=least, about=about)


def in_path_order(table: pd.DataFrame) -> list[str]:
    """Return the paths of `table`: by their noise, then the others as they come."""
    names = list(dict.fromkeys(table["path"]))
    return sorted(names, key=lambda name: (factor(name) is None, factor(name) or 0.0))
