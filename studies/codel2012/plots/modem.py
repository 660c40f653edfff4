"""codel2012 Fig. 10, a picture of nothing that was measured: the queue in a cable modem."""

from collections.abc import Iterable
from typing import Final

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle

from analysis.plots.style import Palette
from analysis.runs.statement import Claim

SECTION: Final = "Manage the Right Queue"
BOXES: Final = {0.4: "Home network", 3.4: "Router", 6.4: "Cable modem", 9.8: "Provider"}
BOX_WIDTH: Final = 1.5
PACKETS: Final = 7  # drawn in the modem's buffer


def modem(palette: Palette, *, ethernet_mbit_s: float, upstream_mbit_s: float) -> Figure:
    """Links as wide as they are fast (not to scale), and the packets where they wait."""
    figure = Figure(figsize=(9.4, 3.0), layout="constrained")
    axes = figure.add_subplot()
    fast, slow = palette.color("codel"), palette.color("pie")
    for left, right in ((1.9, 3.4), (4.9, 6.4)):
        _link(axes, left, right, 0.62, fast)
    _link(axes, 7.9, 9.8, 0.1, slow)
    for left, name in BOXES.items():
        axes.add_patch(
            FancyBboxPatch(
                (left, -0.75), BOX_WIDTH, 1.5, boxstyle="round,pad=0.04", linewidth=1.4,
                edgecolor=palette.soft, facecolor=palette.paper,
            )
        )  # fmt: skip
        axes.text(left + BOX_WIDTH / 2, 1.05, name, ha="center", fontsize=11.5, color=palette.ink)
    _queue(axes, 3.55, 1, fast, palette)
    _queue(axes, 6.55, PACKETS, slow, palette)
    rate = f"{ethernet_mbit_s:g} Mbit/s\nto 1 Gbit/s"
    axes.text(5.65, -0.45, rate, ha="center", va="top", fontsize=10.5, color=fast)
    slower = f"{upstream_mbit_s:g} Mbit/s"
    axes.text(8.85, -0.3, slower, ha="center", va="top", fontsize=10.5, color=slow)
    axes.text(
        4.15, -0.95, "managed, and empty", ha="center", va="top", fontsize=10.5,
        color=palette.soft,
    )  # fmt: skip
    axes.text(
        7.15, -0.95, "full, and out of reach", ha="center", va="top", fontsize=10.5,
        color=palette.soft,
    )  # fmt: skip
    axes.set_xlim(0, 11.7)
    axes.set_ylim(-1.4, 1.5)
    axes.set_axis_off()
    return figure


def _link(axes: Axes, left: float, right: float, height: float, ink: str) -> None:
    axes.add_patch(
        Rectangle((left, -height / 2), right - left, height, color=ink, alpha=0.55, linewidth=0)
    )


def _queue(axes: Axes, left: float, packets: int, ink: str, palette: Palette) -> None:
    """A buffer with `packets` in it, the next one to be sent at its right."""
    width = 1.2 / PACKETS
    axes.add_patch(
        Rectangle((left, -0.38), 1.2, 0.76, fill=False, edgecolor=palette.soft, linewidth=1.2)
    )
    for place in range(packets):
        axes.add_patch(
            Rectangle(
                (left + 1.2 - (place + 1) * width + 0.02, -0.3), width - 0.04, 0.6, color=ink,
                linewidth=0,
            )
        )  # fmt: skip


def statements(claims: Iterable[Claim]) -> pd.DataFrame:
    """What the paper states of it: Claim and Statement."""
    rows = [(claim.id, claim.statement) for claim in claims if claim.section == SECTION]
    return pd.DataFrame(rows, columns=["Claim", "Statement"])


def describe(ethernet_mbit_s: float, upstream_mbit_s: float) -> str:
    """The text that stands for modem."""
    return (
        f"A home network and a router on links of {ethernet_mbit_s:g} Mbit/s to 1 Gbit/s, behind "
        f"them a cable modem that sends at {upstream_mbit_s:g} Mbit/s: the queue is full in the "
        "modem, and the router's is empty."
    )
