"""codel2012 Fig. 10, a picture of nothing that was measured: the queue in a cable modem."""

from collections.abc import Iterable
from typing import Final

import pandas as pd
from matplotlib.figure import Figure

from qdisclab.analysis.plots.panels import panels
from qdisclab.analysis.plots.style import Palette
from qdisclab.analysis.runs.statement import Claim

SECTION: Final = "Manage the Right Queue"
PACKET: Final = "▮"
#: Box -> the packets in its buffer, and what is below it.
BOXES: Final = {
    "Home network": ("", ""),
    "Router": (PACKET, "managed, and empty"),
    "Cable modem": (7 * PACKET, "full, and out of reach"),
    "Provider": ("", ""),
}


def modem(palette: Palette, *, ethernet_mbit_s: float, upstream_mbit_s: float) -> Figure:
    """Draw links as wide as they are fast (not to scale), and the packets where they wait."""
    figure, ((axes,),) = panels(9.4, 2.6)
    fast, slow = palette.color("codel"), palette.color("pie")
    for x, (width, ink, rate) in enumerate(
        (
            (32, fast, ""),
            (32, fast, f"{ethernet_mbit_s:g} Mbit/s\nto 1 Gbit/s"),
            (5, slow, f"{upstream_mbit_s:g} Mbit/s"),
        )
    ):
        axes.plot((x, x + 1), (0, 0), color=ink, linewidth=width, alpha=0.55, zorder=0)
        axes.text(x + 0.5, -0.4, rate, ha="center", va="top", fontsize=10.5, color=ink)
    frame = {"boxstyle": "round,pad=0.6", "edgecolor": palette.soft, "facecolor": palette.paper}
    for x, (name, (packets, below)) in enumerate(BOXES.items()):
        axes.text(x, 0, f"{name}\n{packets}", ha="center", va="center", fontsize=12, bbox=frame)
        axes.text(x, -0.75, below, ha="center", fontsize=10.5, color=palette.soft)
    axes.set(xlim=(-0.5, len(BOXES) - 0.5), ylim=(-0.9, 0.7))
    axes.set_axis_off()
    return figure


def statements(claims: Iterable[Claim]) -> pd.DataFrame:
    """Return what the paper states of it: Claim and Statement."""
    rows = [(claim.id, claim.statement) for claim in claims if claim.section == SECTION]
    return pd.DataFrame(rows, columns=["Claim", "Statement"])
