"""Box plots of khademi2013: quartiles and median, whiskers at the 10th and 90th percentile."""

from collections.abc import Sequence
from typing import Any, Final

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from analysis.errors import require_positive
from analysis.plots import marks
from analysis.plots.panels import grid, legend, panels
from analysis.plots.style import Palette
from analysis.runs.settings import Setting, of_setting

from ..packets import QUANTITIES

GROUP: Final = 0.8  # of the distance between two groups, what their boxes take
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
    aqms = dict(zip(shown["series"], shown["aqm"], strict=True))
    printed = "printed_low" in shown and bool(shown["printed_low"].notna().any())

    def panel(axes: Axes, setting: Setting) -> None:
        table = of_setting(shown, setting)
        for place, (series, aqm) in enumerate(aqms.items()):
            rows = table[table["series"] == series].to_dict("records")
            shift = GROUP * ((place + 0.5) / len(aqms) - 0.5)
            at = [names.index(row["x"]) + shift for row in rows]
            marks.boxes(
                axes, [_stats(row) for row in rows], at, 0.85 * GROUP / len(aqms),
                palette.color(aqm), palette, filled=_filled(series),
            )  # fmt: skip
            for x, row in zip(at, rows if printed else (), strict=False):
                ends = (row["printed_low"], row["printed_high"])
                marks.published(axes, (x, x), ends, palette, linestyle="-", linewidth=1)
        for name, value in (marked or {}).items():
            at_x = names.index(name)
            axes.hlines(value, at_x - 0.5, at_x + 0.5, colors=palette.soft, linestyles="dashed")
        axes.set_xticks(range(len(names)), names)
        if len(names) > MANY:
            axes.tick_params(axis="x", labelrotation=28)
        axes.set(xlim=(-0.6, len(names) - 0.4), xlabel=title)
        axes.set_ylabel("{} ({})".format(*QUANTITIES[quantity]))
        axes.grid(visible=False, axis="x")

    figure = grid(settings, palette, panel)
    handles: dict[str, Artist] = {}
    for series, aqm in aqms.items():
        color = palette.color(aqm)
        face = marks.box_face(color, palette, filled=_filled(series))
        handles[series] = Patch(facecolor=face, edgecolor=color, linewidth=1.4)
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
    """Draw bars of ours with intervals over seeds, and the printed values as open diamonds.

    `table` has flows_per_sender, aqm, ours, ci_low, ci_high and published.
    """
    figure, ((axes,),) = panels(7.6, 4.6)
    groups = list(dict.fromkeys(table["flows_per_sender"]))
    aqms = list(dict.fromkeys(table["aqm"]))
    for row in table.to_dict("records"):
        place = (aqms.index(row["aqm"]) + 0.5) / len(aqms) - 0.5
        x = groups.index(row["flows_per_sender"]) + GROUP * place
        ours = row["ours"]
        axes.bar(x, ours, 0.85 * GROUP / len(aqms), color=palette.color(row["aqm"]))
        marks.whisker(axes, x, ours, (ours - row["ci_low"], row["ci_high"] - ours), palette)
        marks.published(axes, x, row["published"], palette)
    marks.reference(axes, 1, palette)
    axes.set_xticks(range(len(groups)), [str(flows) for flows in groups])
    axes.set(xlabel="Flows per sender", ylabel=label)
    axes.grid(visible=False, axis="x")
    handles: dict[str, Artist] = {aqm: Patch(color=palette.color(aqm)) for aqm in aqms}
    diamonds = marks.diamond(palette, palette.ink)
    handles["published"] = Line2D([], [], linestyle="none", **diamonds)
    legend(figure, handles)
    return figure


def _stats(row: dict[Any, Any]) -> dict[str, Any]:
    """Return what matplotlib's `bxp` takes."""
    return {
        "med": row["p50"], "q1": row["p25"], "q3": row["p75"],
        "whislo": row["p10"], "whishi": row["p90"], "fliers": [],
    }  # fmt: skip


def _filled(series: str) -> bool:
    """Return whether boxes are filled: those of a qdisc that drops, where another marks (ECN)."""
    return not series.endswith("ECN")


def medians(quantiles: pd.DataFrame, quantity: str) -> pd.DataFrame:
    """Return the quantiles of one quantity in the first setting, with its name and unit."""
    rows = quantiles[quantiles["quantity"] == quantity]
    name = "{} ({})".format(*QUANTITIES[quantity])
    first: pd.DataFrame = rows[rows["era"] == rows["era"].iloc[0]]
    return first.assign(quantity=name)
