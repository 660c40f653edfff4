"""The figure of the notebook `noise`: what results are, by the path that they were had over."""

from collections.abc import Sequence
from typing import Any, Final

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter

from analysis.errors import require_several
from analysis.measures.metrics import GOODPUT, INDUCED
from analysis.plots.panels import qdisc_legend
from analysis.plots.style import Palette, look
from analysis.runs.order import in_order

from ..measures.noise import factor

LABELS: Final = {
    INDUCED: "Induced latency (ms)",
    GOODPUT["download"]: "Download (Mbit/s)",
    GOODPUT["upload"]: "Upload (Mbit/s)",
}
BESIDE: Final = 0.6  # of the space of a path: what its qdiscs are spread over


def paths(table: pd.DataFrame, palette: Palette, quantities: Sequence[str]) -> Figure:
    """A panel per quantity, in it the paths side by side: a line per qdisc over the noise, marks
    over the others, and open diamonds for what is printed.

    `table` is from noise.by_path.
    """
    require_several("quantities", quantities, LABELS)
    names = in_path_order(table)
    qdiscs = in_order(list(table["qdisc"].astype(str)))
    figure = Figure(figsize=(5.6 * len(quantities), 4.6), layout="constrained")
    panels = figure.subplots(1, len(quantities), squeeze=False)[0]
    for axes, quantity in zip(panels, quantities, strict=True):
        here = table[table["quantity"] == quantity]
        for place, qdisc in enumerate(qdiscs):
            shift = BESIDE * ((place + 0.5) / len(qdiscs) - 0.5)
            _marks(axes, here[here["qdisc"] == qdisc], qdisc, names, shift, palette)
        ticks = [*(_tick(name) for name in names), "paper"]
        axes.set_xticks(range(len(ticks)), ticks)
        axes.set_xlim(-0.5, len(names) + 0.5)
        axes.set_xlabel("Noise (packet times), or what is in its place")
        axes.set_ylabel(LABELS[quantity])
    panels[0].set_yscale("log")
    panels[0].yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    panels[0].yaxis.set_major_formatter("{x:g}")
    panels[0].yaxis.set_minor_formatter(NullFormatter())
    qdisc_legend(figure, qdiscs, palette)
    figure.legend([Line2D([], [], linestyle="none", **_printed(palette, palette.ink))],
                  ["published"], loc="outside lower left")  # fmt: skip
    return figure


def in_path_order(table: pd.DataFrame) -> list[str]:
    """The paths of `table`: by their noise, then the others as they come."""
    names = list(dict.fromkeys(table["path"]))
    return sorted(names, key=lambda name: (factor(name) is None, factor(name) or 0.0))


def _tick(path: str) -> str:
    noise = factor(path)
    return path.replace(" ", "\n", 1) if noise is None else f"{noise:g}"


def _marks(
    axes: Axes,
    table: pd.DataFrame,
    qdisc: str,
    names: Sequence[str],
    shift: float,
    palette: Palette,
) -> None:
    table = table.assign(at=[names.index(path) for path in table["path"]]).sort_values("at")
    color = palette.color(qdisc)
    varied = table["path"].map(factor).notna()
    marker: dict[str, Any] = {"color": color, "marker": look(qdisc).marker, "markersize": 6}
    noise, others = table[varied], table[~varied]
    axes.plot(
        noise["at"], noise["mean"], linewidth=1.4, dashes=look(qdisc).dashes or (None, None),
        **marker,
    )  # fmt: skip
    axes.plot(others["at"] + shift, others["mean"], linestyle="none", **marker)
    axes.vlines(others["at"] + shift, others["ci_low"], others["ci_high"], color=color, linewidth=1)
    axes.plot(len(names) + shift, table["published"].iloc[0], **_printed(palette, color))


def _printed(palette: Palette, color: str) -> dict[str, Any]:
    return {"marker": "D", "markersize": 7, "markerfacecolor": palette.paper,
            "markeredgecolor": color, "markeredgewidth": 1.5}  # fmt: skip


def describe(table: pd.DataFrame, quantity: str) -> str:
    """Alternative text: a quantity of each qdisc by path."""
    here = table[table["quantity"] == quantity]
    parts = []
    for qdisc, rows in here.groupby("qdisc", sort=False):
        values = dict(zip(rows["path"], rows["mean"], strict=True))
        told = ", ".join(f"{name} {values[name]:.3g}" for name in in_path_order(rows))
        parts.append(f"{qdisc} {told} (published {rows['published'].iloc[0]:.3g})")
    return f"{LABELS[quantity]} by path: {'; '.join(parts)}."
