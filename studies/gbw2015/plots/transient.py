"""The figure of the notebook `transient`: latency over time while flows start."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from qdisclab.analysis.plots.marks import line, point, reference
from qdisclab.analysis.plots.panels import PUBLISHED_CC, common_top, grid, qdisc_legend
from qdisclab.analysis.plots.style import Palette
from qdisclab.analysis.runs.order import in_order
from qdisclab.analysis.runs.settings import Setting, of_setting


def latency_time(
    curves: pd.DataFrame,
    settings: Sequence[Setting],
    palette: Palette,
    *,
    load_starts_s: float = 5,
    published: pd.DataFrame | None = None,
) -> Figure:
    """Draw latency over time of one link, a panel per setting: one line per qdisc.

    `curves` is from transient.latency_over_time. The band is the confidence interval of the
    point-wise mean, where there is one, from the empty path's round trip: none is shorter. A dashed
    vertical line marks the start of the load.
    `published` is from transient.read_curves: hollow markers, and none beside New Reno.
    """
    first = of_setting(curves, settings[0])
    top = common_top(float(first["rtt_ms"].max()), float(curves["rtt_ms"].max()))

    def draw(axes: Axes, setting: Setting) -> None:
        _lines(axes, of_setting(curves, setting), palette, float(curves["rtt_ms"].min()))
        if published is not None and setting.cc == PUBLISHED_CC:
            for value in published.to_dict("records"):
                point(axes, value["time_s"], value["value"], value["qdisc"], palette,
                      filled=False, size=6)  # fmt: skip
        axes.set(xlim=(float(curves["time_s"].min()), float(curves["time_s"].max())))
        axes.set(ylim=(0, top), xlabel="Time (s)", ylabel="Round-trip time (ms)")
        reference(axes, load_starts_s, palette, upright=True)
        axes.annotate(
            "load starts", (load_starts_s, 1), xycoords=("data", "axes fraction"), xytext=(-5, -4),
            textcoords="offset points", ha="right", va="top", color=palette.soft, fontsize=10,
        )  # fmt: skip

    figure = grid(settings, curves, draw)
    qdisc_legend(figure, list(curves["qdisc"].astype(str)), palette)
    return figure


def _lines(axes: Axes, curves: pd.DataFrame, palette: Palette, least_ms: float) -> None:
    """Draw a line per qdisc, with its interval, of which nothing is below `least_ms`."""
    for place, qdisc in enumerate(in_order(list(curves["qdisc"].astype(str)))):
        curve = curves[curves["qdisc"] == qdisc].sort_values("time_s")
        time_s, rtt_ms, low, high = (
            curve[name].to_numpy() for name in ("time_s", "rtt_ms", "ci_low_ms", "ci_high_ms")
        )
        line(axes, time_s, rtt_ms, qdisc, palette, markevery=(5 + 4 * place, 25), zorder=3)
        axes.fill_between(time_s, low.clip(least_ms), high, color=palette.color(qdisc), alpha=0.13,
                          linewidth=0, zorder=2)  # fmt: skip
