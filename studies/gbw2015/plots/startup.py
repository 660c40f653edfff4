"""The figure of the notebook `startup`: how CoDel and PIE start to drop."""

from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from analysis.plots.panels import DASHED
from analysis.plots.style import Palette, look
from analysis.runs.order import in_order

from ..measures.startup import (
    CODEL,
    FEWEST,
    INTERVAL_S,
    QUANTITIES,
    RRUL,
    dropping_state,
    growth,
    law,
    overview,
)

SIZE_INCH: Final = (11.4, 9.6)
FLOOD: Final[dict[str, Any]] = {"linewidth": 5.0}  # behind RRUL and the law
FLOOD_SHARE: Final = 0.4  # of CoDel's colour, the rest is paper: runs cover each other
SHOWN_S: Final = 25.0  # as Fig. 7 of gbw2015
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
    """A column per link, of a table of startup.STEPS: RRUL's waits and shares of packets dropped
    over time, means over runs, and the drops of CoDel's first dropping state beside its control
    law."""
    links = sorted(set(table["link"]), key=_upload)
    figure = Figure(figsize=SIZE_INCH, layout="constrained")
    panels = figure.subplots(3, len(links), squeeze=False)
    for column, link in enumerate(links):
        here = table[table["link"] == link]
        rows = here[here["experiment"] == RRUL]
        for qdisc in in_order(set(rows["qdisc"])):
            _over_time(panels[:2, column], rows[rows["qdisc"] == qdisc], qdisc, palette)
        for axes in panels[:2, column]:
            axes.set_ylim(bottom=0)
        _beside_law(panels[2][column], here[here["qdisc"] == CODEL], palette)
        title = f"{link} Mbit/s, upload"
        panels[0][column].set_title(title, fontsize=11, color=palette.soft, loc="left")
        for axes, label in zip(panels[:, column], TIMES, strict=True):
            axes.set_xlabel(label, fontsize=10)
    for axes, label in zip(panels[:, 0], LABELS, strict=True):
        axes.set_ylabel(label, fontsize=10)
    names = in_order(set(table["qdisc"]))
    handles = [
        Line2D([], [], color=palette.color(name), linewidth=1.4, marker=look(name).marker)
        for name in names
    ]
    handles.append(Line2D([], [], color=_flood(palette), **FLOOD))
    handles.append(Line2D([], [], color=palette.ink, linewidth=1.4, linestyle=DASHED))
    others = [f"{CODEL}, UDP above the link's rate", "CoDel's control law"]
    figure.legend(
        handles, [*names, *others], loc="outside upper left", ncols=len(handles)
    )  # fmt: skip
    return figure


def _flood(palette: Palette) -> str:
    """The colour of runs under UDP."""
    pair = zip(to_rgb(palette.color(CODEL)), to_rgb(palette.paper), strict=True)
    red, green, blue = (FLOOD_SHARE * one + (1 - FLOOD_SHARE) * other for one, other in pair)
    return to_hex((red, green, blue))


def _upload(link: str) -> float:
    return float(link.split("/")[1])


def _over_time(panels: np.ndarray, rows: pd.DataFrame, qdisc: str, palette: Palette) -> None:
    """Of one qdisc on one link; shares by seconds, as single drops would make them ragged."""
    drawn = {"color": palette.color(qdisc), "marker": look(qdisc).marker, "markersize": 5}
    steps = rows[rows["to_s"] <= SHOWN_S]
    waits, shares = panels
    mean = steps.groupby("from_s")["wait_ms"].mean()
    waits.plot(mean.index, mean, linewidth=1.2, markevery=30, **drawn)
    second = steps["from_s"] // 1 + 0.5
    sums = steps.groupby(second)[["dropped", "packets"]].sum()
    share = 100 * sums["dropped"] / sums["packets"]
    shares.plot(share.index, share, drawstyle="steps-mid", linewidth=1.4, markevery=3, **drawn)


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
        axes.text(
            0.03, 0.96, text, color=palette.soft, transform=axes.transAxes, va="top"
        )  # where the law does not pass
    time_s = np.geomspace(INTERVAL_S, longest or 1, 100)
    axes.plot(time_s, law(time_s), color=palette.ink, linewidth=1.4, linestyle=DASHED, zorder=3)
    axes.set_xscale("log")
    axes.set_yscale("log")


def describe_start(table: pd.DataFrame) -> str:
    """The text that stands for start."""
    cells = overview(table)
    parts = [
        f"{name}: "
        + ", ".join(
            f"{row.experiment} {row.qdisc} {row.link} {row.mean:.3g}"
            for row in cells[cells["quantity"] == name].itertuples(index=False)
        )
        for name in QUANTITIES.values()
    ]
    return f"How CoDel and PIE start to drop, by link. {'; '.join(parts)}."
