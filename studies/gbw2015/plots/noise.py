"""The figure of the notebook `noise`: results by the path of the packets."""

from collections.abc import Sequence
from typing import Final

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from analysis.errors import require_several
from analysis.measures.metrics import GOODPUT, INDUCED
from analysis.plots.marks import diamond, line, point, published
from analysis.plots.panels import legend, log_axis, panels, qdisc_legend
from analysis.plots.style import Palette
from analysis.runs.order import in_order

from ..measures.noise import factor

LABELS: Final = {
    INDUCED: "Induced latency (ms)",
    GOODPUT["download"]: "Download (Mbit/s)",
    GOODPUT["upload"]: "Upload (Mbit/s)",
}
BESIDE: Final = 0.6  # of the space of a path: what its qdiscs are spread over


def paths(table: pd.DataFrame, palette: Palette, quantities: Sequence[str]) -> Figure:
    """Draw a panel per quantity, in it the paths side by side: a line per qdisc over the noise,
    points over the others, and open diamonds for what is printed.

    `table` is from noise.by_path.
    """
    require_several("quantities", quantities, LABELS)
    names = in_path_order(table)
    qdiscs = in_order(list(table["qdisc"].astype(str)))
    figure, axes_of = panels(5.6 * len(quantities), 4.6, columns=len(quantities))
    for axes, quantity in zip(axes_of[0], quantities, strict=True):
        for place, qdisc in enumerate(qdiscs):
            rows = table[(table["quantity"] == quantity) & (table["qdisc"] == qdisc)]
            shift = BESIDE * ((place + 0.5) / len(qdiscs) - 0.5)
            _marks(axes, rows, qdisc, names, shift, palette)
        ticks = [*(_tick(name) for name in names), "paper"]
        axes.set_xticks(range(len(ticks)), ticks)
        axes.set(xlim=(-0.5, len(names) + 0.5), ylabel=LABELS[quantity])
        axes.set_xlabel("Noise (packet times), or what is in its place")
    log_axis(axes_of[0, 0].yaxis, (1, 2, 5))
    qdisc_legend(figure, qdiscs, palette)
    diamonds = Line2D([], [], linestyle="none", **diamond(palette, palette.ink))
    legend(figure, {"published": diamonds}, loc="outside lower left")
    return figure


def in_path_order(table: pd.DataFrame) -> list[str]:
    """Return the paths of `table`: by their noise, then the others as they come."""
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
    varied = table["path"].map(factor).notna()
    noise = table[varied]
    line(axes, noise["at"], noise["mean"], qdisc, palette)
    for cell in table[~varied].to_dict("records"):
        interval = (cell["ci_low"], cell["ci_high"])
        point(axes, cell["at"] + shift, cell["mean"], qdisc, palette, interval=interval,
              upright=True, size=7.5)  # fmt: skip
    printed = table["published"].iloc[0]
    published(axes, len(names) + shift, printed, palette, palette.color(qdisc))
