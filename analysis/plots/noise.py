"""The figure of notebooks/noise.ipynb: what results are, by how much the path's delay varies."""

from collections.abc import Sequence
from typing import Any, Final

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from analysis.measures.metrics import GOODPUT, INDUCED
from analysis.plots.panels import qdisc_legend
from analysis.plots.style import Palette, look
from analysis.runs.order import in_order

LABELS: Final = {
    INDUCED: "Induced latency (ms)",
    GOODPUT["download"]: "Download (Mbit/s)",
    GOODPUT["upload"]: "Upload (Mbit/s)",
}


def lines(table: pd.DataFrame, palette: Palette, quantities: Sequence[str]) -> Figure:
    """A panel per quantity, in it a line per qdisc over the factors, which are equally far apart.

    `table` is from noise.by_factor. A printed value is an open diamond right of the lines.
    """
    factors = sorted(table["noise"].unique())
    qdiscs = in_order(list(table["qdisc"].astype(str)))
    figure = Figure(figsize=(4.4 * len(quantities), 4.4), layout="constrained")
    panels = figure.subplots(1, len(quantities), squeeze=False)[0]
    for axes, quantity in zip(panels, quantities, strict=True):
        here = table[table["quantity"] == quantity]
        for place, qdisc in enumerate(qdiscs):
            beside = len(factors) - 0.35 + 0.5 * place / len(qdiscs)
            _line(axes, here[here["qdisc"] == qdisc], qdisc, factors, beside, palette)
        axes.set_xticks(
            [*range(len(factors)), len(factors) - 0.1],
            [*(f"{factor:g}" for factor in factors), "paper"],
        )
        axes.set_xlim(-0.3, len(factors) + 0.3)
        axes.set_xlabel("Noise (packet times of the bottleneck)")
        axes.set_ylabel(LABELS[quantity])
    panels[0].set_yscale("log")
    panels[0].yaxis.set_major_formatter("{x:g}")
    panels[0].yaxis.set_minor_formatter("{x:g}")
    qdisc_legend(figure, qdiscs, palette)
    figure.legend([Line2D([], [], linestyle="none", **_printed(palette, palette.ink))],
                  ["published"], loc="outside lower left")  # fmt: skip
    return figure


def _line(
    axes: Axes,
    table: pd.DataFrame,
    qdisc: str,
    factors: Sequence[float],
    beside: float,
    palette: Palette,
) -> None:
    at = [factors.index(factor) for factor in table["noise"]]
    color = palette.color(qdisc)
    axes.plot(
        at, table["mean"], color=color, marker=look(qdisc).marker, markersize=6, linewidth=1.4,
        dashes=look(qdisc).dashes or (None, None),
    )  # fmt: skip
    axes.vlines(at, table["ci_low"], table["ci_high"], color=color, linewidth=1)
    axes.plot(beside, table["published"].iloc[0], **_printed(palette, color))


def _printed(palette: Palette, color: str) -> dict[str, Any]:
    return {"marker": "D", "markersize": 7, "markerfacecolor": palette.paper,
            "markeredgecolor": color, "markeredgewidth": 1.5}  # fmt: skip


def describe(table: pd.DataFrame, quantity: str) -> str:
    """Alternative text: a quantity of each qdisc by factor."""
    here = table[table["quantity"] == quantity]
    parts = []
    for qdisc, rows in here.groupby("qdisc", observed=True, sort=False):
        values = ", ".join(
            f"{row.mean_value:.3g} at {row.noise:g}"
            for row in rows.rename(columns={"mean": "mean_value"}).itertuples()
        )
        parts.append(f"{qdisc} {values} (published {rows['published'].iloc[0]:.3g})")
    return f"{LABELS[quantity]} by noise in packet times: {'; '.join(parts)}."
