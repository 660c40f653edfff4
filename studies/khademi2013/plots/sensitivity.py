"""Box plots of khademi2013: quartiles and median, whiskers at the 10th and 90th percentile.

All are drawn inside `style.styled`, whose palette they take.
"""

from collections.abc import Sequence
from typing import Any, Final

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from analysis.errors import require_positive
from analysis.plots.panels import DASHED, grid
from analysis.plots.style import Palette
from analysis.runs.settings import Setting, of_setting

from ..packets import QUANTITIES

GROUP: Final = 0.8
"""Of the distance between two groups, what their boxes take."""
START: Final = 0.2
"""Of the time shown, in which round trips may lie beyond the axis."""
MANY: Final = 6
"""More groups than this have their names turned."""


def whisker_boxes(
    found: pd.DataFrame,
    settings: Sequence[Setting],
    palette: Palette,
    *,
    quantity: str,
    title: str,
    marked: dict[str, float] | None = None,
) -> Figure:
    """Boxes of one quantity, grouped along x, a colour a qdisc; one panel per setting.

    `found` is from sensitivity.boxes, with cc. `marked` has a value for names of x, drawn as a line
    through the group: a target. Where `found` has printed_low and printed_high, they are drawn.
    """
    shown = found[found["quantity"] == quantity]
    names = list(dict.fromkeys(shown["x"]))
    series = list(dict.fromkeys(shown["series"]))
    aqms = dict(zip(shown["series"], shown["aqm"], strict=True))
    label = "{} ({})".format(*QUANTITIES[quantity])

    def panel(axes: Axes, setting: Setting) -> None:
        table = of_setting(shown, setting)
        for place, one in enumerate(series):
            of_series = table[table["series"] == one].set_index("x")
            present = [name for name in names if name in of_series.index]
            offset = GROUP * ((place + 0.5) / len(series) - 0.5)
            _draw(
                axes, palette, [names.index(name) + offset for name in present],
                [_stats(of_series.loc[name]) for name in present],
                0.85 * GROUP / len(series), aqms[one], filled=_filled(one),
            )  # fmt: skip
            for name in present if "printed_low" in of_series else ():
                _printed(axes, palette, names.index(name) + offset, of_series.loc[name])
        for name, value in (marked or {}).items():
            at = names.index(name)
            axes.hlines(value, at - 0.5, at + 0.5, colors=palette.soft, linestyles="dashed", lw=1)
        axes.set_xticks(range(len(names)), names)
        if len(names) > MANY:
            axes.tick_params(axis="x", labelrotation=28)
        axes.set_xlim(-0.6, len(names) - 0.4)
        axes.set_xlabel(title)
        axes.set_ylabel(label)
        axes.grid(visible=False, axis="x")

    figure = grid(settings, palette, panel)
    printed = "printed_low" in shown and bool(shown["printed_low"].notna().any())
    _legend(figure, palette, series, aqms, printed=printed)
    return figure


def describe_boxes(found: pd.DataFrame, quantity: str) -> str:
    """Alternative text: the medians of the first setting."""
    shown = found[found["quantity"] == quantity]
    shown = shown[shown["era"] == shown["era"].iloc[0]]
    what, unit = QUANTITIES[quantity]
    parts = [
        f"{row['series']} at {row['x']}: {row['p50']:.3g} ({row['p10']:.3g} to {row['p90']:.3g})"
        for row in shown.to_dict("records")
    ]
    return f"Box plots of {what.lower()} in {unit}, median (10th to 90th percentile). " + "; ".join(
        parts
    )


def round_trips(
    samples: pd.DataFrame, palette: Palette, *, loads: Sequence[int], until_s: float
) -> Figure:
    """Round trips of one flow over time, a row per load, as khademi2013 Fig. 12.

    `samples` has time_s, rtt_ms, qdisc, aqm and flows.
    """
    require_positive("until_s", until_s)
    figure = Figure(figsize=(7.6, 2.0 + 1.6 * len(loads)), layout="constrained")
    panels = figure.subplots(len(loads), 1, sharex=True, squeeze=False)
    aqms = list(dict.fromkeys(samples["aqm"]))
    for row, load in enumerate(loads):
        axes = panels[row][0]
        for aqm in aqms:
            one = samples[(samples["flows"] == load) & (samples["aqm"] == aqm)]
            axes.plot(
                one["time_s"], one["rtt_ms"], linewidth=0.8, color=palette.color(aqm), label=aqm,
                alpha=0.85,
            )  # fmt: skip
        axes.set_ylabel("RTT (ms)")
        axes.set_title(f"{load} flows", fontsize=11, color=palette.soft, loc="left")
        axes.set_xlim(0, until_s)
        settled = (samples["flows"] == load) & (samples["time_s"] > START * until_s)
        if settled.any():  # the start goes beyond the axis
            shown = samples.loc[settled, "rtt_ms"]
            axes.set_ylim(0.97 * shown.min(), 1.05 * shown.max())
    panels[-1][0].set_xlabel("Time (s)")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=len(aqms))
    return figure


def ratios(table: pd.DataFrame, palette: Palette, *, label: str) -> Figure:
    """Bars of ours with intervals over seeds, and the printed values as open diamonds.

    `table` has flows_per_sender, aqm, ours, ci_low, ci_high and published.
    """
    figure = Figure(figsize=(7.6, 4.6), layout="constrained")
    axes = figure.add_subplot()
    groups = list(dict.fromkeys(table["flows_per_sender"]))
    aqms = list(dict.fromkeys(table["aqm"]))
    width = GROUP / len(aqms)
    for place, aqm in enumerate(aqms):
        one = table[table["aqm"] == aqm]
        at = [groups.index(flows) + GROUP * ((place + 0.5) / len(aqms) - 0.5)
              for flows in one["flows_per_sender"]]  # fmt: skip
        axes.bar(at, one["ours"], 0.85 * width, color=palette.color(aqm), label=aqm)
        spread = [(one["ours"] - one["ci_low"]).fillna(0), (one["ci_high"] - one["ours"]).fillna(0)]
        axes.errorbar(at, one["ours"], spread, fmt="none", ecolor=palette.ink, elinewidth=1)
        axes.plot(
            at, one["published"], linestyle="none", marker="D", markersize=7,
            markerfacecolor=palette.paper, markeredgecolor=palette.ink,
            label="published" if place == len(aqms) - 1 else None,
        )  # fmt: skip
    axes.axhline(1, color=palette.soft, linestyle=DASHED, linewidth=1)
    axes.set_xticks(range(len(groups)), [str(flows) for flows in groups])
    axes.set_xlabel("Flows per sender")
    axes.set_ylabel(label)
    axes.grid(visible=False, axis="x")
    figure.legend(loc="outside upper left", ncols=len(aqms) + 1)
    return figure


def _stats(row: pd.Series) -> dict[str, Any]:
    """What matplotlib's `bxp` takes."""
    return {
        "med": row["p50"], "q1": row["p25"], "q3": row["p75"],
        "whislo": row["p10"], "whishi": row["p90"], "fliers": [],
    }  # fmt: skip


def _draw(
    axes: Axes,
    palette: Palette,
    at: list[float],
    stats: list[dict[str, Any]],
    width: float,
    aqm: str,
    *,
    filled: bool,
) -> None:
    color = palette.color(aqm)
    face = to_rgba(color, 0.45) if filled else palette.paper
    line = {"color": color, "linewidth": 1.4}
    axes.bxp(
        stats, positions=at, widths=width, showfliers=False, patch_artist=True,
        boxprops={"facecolor": face, "edgecolor": color, "linewidth": 1.4},
        medianprops={"color": palette.ink, "linewidth": 1.8},
        whiskerprops=line, capprops=line, manage_ticks=False,
    )  # fmt: skip


def _printed(axes: Axes, palette: Palette, at: float, row: pd.Series) -> None:
    """A printed median, a diamond; of a range a line between two. Nothing where none is printed."""
    ends = [row["printed_low"], row["printed_high"]]
    axes.plot([at, at], ends, linewidth=1, zorder=4, **_diamond(palette))


def _diamond(palette: Palette) -> dict[str, Any]:
    return {
        "color": palette.ink, "marker": "D", "markersize": 6,
        "markerfacecolor": palette.paper, "markeredgecolor": palette.ink,
    }  # fmt: skip


def _filled(series: str) -> bool:
    """Series that are another's with ECN are open boxes."""
    return not series.endswith("ECN")


def _legend(
    figure: Figure, palette: Palette, series: list[str], aqms: dict[str, str], *, printed: bool
) -> None:
    handles: list[Artist] = [
        Patch(
            facecolor=to_rgba(palette.color(aqms[name]), 0.45) if _filled(name) else palette.paper,
            edgecolor=palette.color(aqms[name]), linewidth=1.4,
        )
        for name in series
    ]  # fmt: skip
    if printed:
        handles.append(Line2D([], [], linestyle="none", **_diamond(palette)))
    names = [*series, *(["published median"] if printed else [])]
    figure.legend(handles, names, loc="outside upper left", ncols=min(len(names), 6))
