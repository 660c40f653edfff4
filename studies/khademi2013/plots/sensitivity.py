"""Box plots of khademi2013: quartiles and median, whiskers at the 10th and 90th percentile."""

from collections.abc import Sequence
from typing import Any, Final

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from qdisclab.analysis.errors import require_positive
from qdisclab.analysis.plots import marks
from qdisclab.analysis.plots.panels import grid, legend, panels
from qdisclab.analysis.plots.rows import dots
from qdisclab.analysis.plots.style import Palette
from qdisclab.analysis.runs.settings import Setting, of_setting

from ..packets import QUANTITIES

START: Final = 0.2  # of the time shown, in which round trips may lie beyond the axis
MANY: Final = 6  # more groups than this have their names turned


def whisker_boxes(
    quantiles: pd.DataFrame,
    settings: Sequence[Setting],
    palette: Palette,
    *,
    quantity: str,
    title: str,
    marked: dict[str, float] | None = None,
) -> Figure:
    """Draw boxes of one quantity, grouped along x, a colour a qdisc; one panel per setting.

    `quantiles` is from sensitivity.boxes, with cc. `marked` has a value for names of x, drawn as a
    line through the group: a target. Medians of printed_low and printed_high, where `quantiles` has
    them, are diamonds: two and a line between of a range.
    """
    shown = quantiles[quantiles["quantity"] == quantity]
    names = list(dict.fromkeys(shown["x"]))
    colors = {
        series: palette.color(aqm)
        for series, aqm in dict(zip(shown["series"], shown["aqm"], strict=True)).items()
    }
    # boxes are filled of a qdisc that drops, where another marks
    hollow = [series for series in colors if series.endswith("ECN")]
    printed = "printed_low" in shown and bool(shown["printed_low"].notna().any())

    def panel(axes: Axes, setting: Setting) -> None:
        table = of_setting(shown, setting)
        rows = {
            series: {names.index(row["x"]): row for row in own.to_dict("records")}
            for series in colors
            for own in [table[table["series"] == series]]
        }
        groups = {
            series: {place: _stats(row) for place, row in own.items()}
            for series, own in rows.items()
        }
        places = marks.grouped_boxes(axes, groups, colors, palette, hollow)
        for series, own in places.items() if printed else ():
            for place, x in own.items():
                ends = (rows[series][place]["printed_low"], rows[series][place]["printed_high"])
                marks.published(axes, (x, x), ends, palette, linestyle="-", linewidth=1)
        for name, value in (marked or {}).items():
            at_x = names.index(name)
            axes.hlines(value, at_x - 0.5, at_x + 0.5, colors=palette.soft, linestyles="dashed")
        axes.set_xticks(range(len(names)), names)
        if len(names) > MANY:
            axes.tick_params(axis="x", labelrotation=28)
        axes.set(xlim=(-0.6, len(names) - 0.4), xlabel=title)
        axes.set_ylabel("{} ({})".format(*QUANTITIES[quantity]))

    figure = grid(settings, shown, panel)
    handles = marks.box_handles(colors, palette, hollow)
    if printed:
        diamonds = marks.diamond(palette, palette.ink)
        handles["published median"] = Line2D([], [], linestyle="none", **diamonds)
    legend(figure, handles, ncols=min(len(handles), 6))
    return figure


def round_trips(
    samples: pd.DataFrame, palette: Palette, *, loads: Sequence[int], until_s: float
) -> Figure:
    """Draw round trips of one flow over time, a row per load, as khademi2013 Fig. 12.

    `samples` has time_s, rtt_ms, qdisc, aqm and flows.
    """
    require_positive("until_s", until_s)
    figure, axes_of = panels(7.6, 2.0 + 1.6 * len(loads), len(loads), sharex=True)
    aqms = list(dict.fromkeys(samples["aqm"]))
    for axes, load in zip(axes_of[:, 0], loads, strict=True):
        flows = samples[samples["flows"] == load]
        for aqm in aqms:
            flow = flows[flows["aqm"] == aqm]
            axes.plot(flow["time_s"], flow["rtt_ms"], linewidth=0.8, color=palette.color(aqm),
                      label=aqm, alpha=0.85)  # fmt: skip
        axes.set(xlim=(0, until_s), ylabel="RTT (ms)", title=f"{load} flows")
        settled = flows.loc[flows["time_s"] > START * until_s, "rtt_ms"]
        if len(settled):  # the start goes beyond the axis
            axes.set_ylim(0.97 * settled.min(), 1.05 * settled.max())
    axes.set_xlabel("Time (s)")
    handles, labels = axes.get_legend_handles_labels()
    legend(figure, dict(zip(labels, handles, strict=True)))
    return figure


def ratios(table: pd.DataFrame, palette: Palette, *, label: str) -> Figure:
    """Draw a row per number of flows: ours with intervals over seeds, and the printed values.

    A line is at 1, as many marks as drops. `table` has flows_per_sender, aqm, ours, ci_low, ci_high
    and published.
    """
    loads = table["flows_per_sender"].astype(str) + " per sender"
    rows = table.assign(
        qdisc=table["aqm"], row=loads, quantity=label, filled=True, mean=table["ours"]
    )
    printed = rows.assign(mean=rows["published"], ci_low=float("nan"), filled=False)
    names = rows["row"].unique().tolist()
    both, about = pd.concat([rows, printed]), ("ours", "published")
    figure = dots(both, names, [label], palette, {label: label}, about=about)
    marks.reference(figure.axes[0], 1, palette, upright=True)
    return figure


def _stats(row: dict[Any, Any]) -> dict[str, Any]:
    """Return what matplotlib's `bxp` takes."""
    return {
        "med": row["p50"], "q1": row["p25"], "q3": row["p75"],
        "whislo": row["p10"], "whishi": row["p90"], "fliers": [],
    }  # fmt: skip


def medians(quantiles: pd.DataFrame, quantity: str) -> pd.DataFrame:
    """Return the quantiles of one quantity in the first setting, with its name and unit."""
    rows = quantiles[quantiles["quantity"] == quantity]
    name = "{} ({})".format(*QUANTITIES[quantity])
    first: pd.DataFrame = rows[rows["era"] == rows["era"].iloc[0]]
    return first.assign(quantity=name)
