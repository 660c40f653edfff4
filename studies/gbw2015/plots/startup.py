"""The figure of the notebook `startup`: how CoDel and PIE start to drop."""

from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from qdisclab.analysis.plots.marks import DASHED, line
from qdisclab.analysis.plots.panels import panels, qdisc_legend
from qdisclab.analysis.plots.style import Palette
from qdisclab.analysis.runs.order import in_order

from ..measures.startup import CODEL, FEWEST, INTERVAL_S, RRUL, dropping_state, growth, law

FLOOD: Final[dict[str, Any]] = {"linewidth": 5.0}  # behind RRUL and the law
FLOOD_SHARE: Final = 0.4  # of CoDel's colour, the rest is paper: runs cover each other
LABELS: Final = (
    "Wait in the queue (ms)",
    "Packets dropped (%)",
    "Drops of CoDel's\nfirst dropping state",
)
TIMES: Final = (
    "",
    "Time since RRUL's uploads began (s)",
    "Time since 0.1 s before the first drop (s)",
)


def start(table: pd.DataFrame, palette: Palette) -> Figure:
    """Draw how qdiscs begin to drop, a column per link; `table` is of startup.STEPS.

    Above are RRUL's waits and shares of packets dropped over time, means over runs, below the drops
    of CoDel's first dropping state beside its control law.
    """
    links = sorted(set(table["link"]), key=lambda link: float(link.split("/")[1]))
    figure, axes_of = panels(11.4, 9.6, 3, len(links))
    for column, link in enumerate(links):
        here = table[table["link"] == link]
        rows = here[here["experiment"] == RRUL]
        for qdisc in in_order(set(rows["qdisc"])):
            _over_time(axes_of[:2, column], rows[rows["qdisc"] == qdisc], qdisc, palette)
        for axes in axes_of[:2, column]:
            axes.set_ylim(bottom=0)
        _beside_law(axes_of[2][column], here[here["qdisc"] == CODEL], palette)
        axes_of[0][column].set_title(f"{link} Mbit/s, upload")
        for axes, label in zip(axes_of[:, column], TIMES, strict=True):
            axes.set_xlabel(label, fontsize=10)
    for axes, label in zip(axes_of[:, 0], LABELS, strict=True):
        axes.set_ylabel(label, fontsize=10)
    others = {
        f"{CODEL}, UDP above the link's rate": Line2D([], [], color=_flood(palette), **FLOOD),
        "CoDel's control law": Line2D([], [], color=palette.ink, linewidth=1.4, linestyle=DASHED),
    }
    qdisc_legend(figure, in_order(set(table["qdisc"])), palette, others)
    return figure


def _flood(palette: Palette) -> str:
    """Return the colour of runs under UDP."""
    pair = zip(to_rgb(palette.color(CODEL)), to_rgb(palette.paper), strict=True)
    red, green, blue = (FLOOD_SHARE * ink + (1 - FLOOD_SHARE) * paper for ink, paper in pair)
    return to_hex((red, green, blue))


def _over_time(axes: np.ndarray, rows: pd.DataFrame, qdisc: str, palette: Palette) -> None:
    """Draw one qdisc on one link; shares by seconds, as single drops would make them ragged."""
    steps = rows[rows["to_s"] <= 25.0]  # as Fig. 7
    waits, shares = axes
    mean = steps.groupby("from_s")["wait_ms"].mean()
    line(waits, mean.index, mean, qdisc, palette, linewidth=1.2, markevery=30)
    second = steps["from_s"] // 1 + 0.5
    sums = steps.groupby(second)[["dropped", "packets"]].sum()
    share = 100 * sums["dropped"] / sums["packets"]
    line(shares, share.index, share, qdisc, palette, linewidth=1.4, drawstyle="steps-mid",
         markevery=3)  # fmt: skip


def _beside_law(axes: Axes, rows: pd.DataFrame, palette: Palette) -> None:
    longest, of_rrul = 0.0, False
    for (experiment, _), run in rows.groupby(["experiment", "seed"]):
        state = dropping_state(run.sort_values("from_s"))
        if not state.empty:
            time_s, drops = growth(state)
            drawn: dict[str, Any] = {"color": _flood(palette), **FLOOD}
            if experiment == RRUL:
                drawn = {"color": palette.color(CODEL), "linewidth": 1.2, "zorder": 2.5}
            axes.plot(time_s, drops, **drawn)
            longest = max(longest, float(time_s[-1]))
            of_rrul |= experiment == RRUL
    if not of_rrul:
        text = f"no dropping state of\nRRUL's has {FEWEST} drops"
        # where the law does not pass
        axes.text(0.03, 0.96, text, color=palette.soft, transform=axes.transAxes, va="top")
    time_s = np.geomspace(INTERVAL_S, longest or 1, 100)
    axes.plot(time_s, law(time_s), color=palette.ink, linewidth=1.4, linestyle=DASHED, zorder=3)
    axes.set(xscale="log", yscale="log")
