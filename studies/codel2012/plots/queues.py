"""The figures of codel2012: boxes over loads, and a link whose rate changes."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cbook import boxplot_stats
from matplotlib.figure import Figure

from qdisclab.analysis.errors import require_several
from qdisclab.analysis.plots import marks
from qdisclab.analysis.plots.panels import legend, log_axis, panels
from qdisclab.analysis.plots.style import Palette

from ..measures.queues import ALIKE, NAMES

SHOWN: Final = {
    "median_ms": "Median packet delay (ms)",
    "utilisation_percent": "Link utilisation (%)",
    "jain": "Jain's index of drop shares",
}
LEAST_MS: Final = 0.01  # shorter delays are drawn as this
FROM_TOP: Final = ("tail_drop", "red", "codel")


def color(family: str, palette: Palette) -> str:
    """Return the colour of the qdisc that a family is like in other papers."""
    return palette.color(ALIKE.get(family, family))


def boxes(
    table: pd.DataFrame,
    palette: Palette,
    *,
    by: str,
    ticks: Mapping[object, str],
    title: str,
    values: Sequence[str] = ("median_ms", "utilisation_percent"),
) -> Figure:
    """Draw a panel per value, and in it for each of `ticks` a box per qdisc over all of its runs.

    `table` is from queues.read_runs; `ticks` maps the values of the column `by`, in their order, to
    labels below the boxes, `title` is below those; what has the same first line stands together.
    A box has the quartiles and the median, its whiskers reach the last run within 1.5 of its
    height (Tukey), the others are dots.
    """
    require_several("values", values, table)
    families = set(table["family"])
    names = [*(name for name in NAMES if name in families), *sorted(families - NAMES.keys())]
    colors = {NAMES.get(name, name): color(name, palette) for name in names}
    figure, axes_of = panels(8.2, 2.7 * len(values) + 0.6, len(values), sharex=True)
    for axes, value in zip(axes_of[:, 0], values, strict=True):
        groups: dict[str, dict[int, dict[str, Any]]] = {title: {} for title in colors}
        runs = table.dropna(subset=value).groupby(["family", by])[value]
        for (name, tick), numbers in runs:
            place, (stats,) = [*ticks].index(tick), boxplot_stats(numbers.to_numpy())
            groups[NAMES.get(str(name), str(name))][place] = stats
        marks.grouped_boxes(axes, groups, colors, palette)
        _bands(axes, list(ticks.values()), palette)
        if value == "median_ms":
            log_axis(axes.yaxis, (1, 2, 5))
        axes.set_ylabel(SHOWN[value])
        axes.tick_params(axis="x", length=0)
    axes.set_xticks(range(len(ticks)), list(ticks.values()))
    axes.set_xlabel(title)
    legend(figure, marks.box_handles(colors, palette), handlelength=1.2)
    return figure


def _bands(axes: Axes, labels: Sequence[str], palette: Palette) -> None:
    """Draw a band behind every second group of labels that have their first line in common."""
    groups = [label.partition("\n")[0] for label in labels]
    names = list(dict.fromkeys(groups))
    if len(names) == len(labels):
        return
    for name in names[1::2]:
        first = groups.index(name)
        last = first + groups.count(name)
        axes.axvspan(first - 0.5, last - 0.5, color=palette.grid, alpha=0.55, linewidth=0, zorder=0)
    axes.set_xlim(-0.5, len(labels) - 0.5)


def dynamic(
    runs: Mapping[str, pd.DataFrame],
    rates: Sequence[tuple[float, float]],
    palette: Palette,
    *,
    buffers: Mapping[str, str],
) -> Figure:
    """Draw queue delay and megabytes over time, a column per buffer, as codel2012 Fig. 7.

    `runs`: qdisc -> a table of queues.steps; `rates`: (from when in s, Mbit/s), the last one until
    the end; `buffers`: how the name of a qdisc ends -> what to call it. A band spans from the
    shortest to the longest delay of a step, so that each packet lies in it; the line is the median.
    """
    figure, rows = panels(
        6.2 * len(buffers) + 0.4, 9.6, 4, len(buffers), sharex=True, sharey="row",
        height_ratios=[1, 1, 1, 1.35],
    )  # fmt: skip
    end_s = max(float(table["time_s"].iloc[-1]) for table in runs.values())
    longest = max(float(table["longest_ms"].max()) for table in runs.values())
    for (suffix, buffer), column in zip(buffers.items(), rows.T, strict=True):
        column[0].set_title(buffer, fontsize=12, pad=20)
        for axes, name in zip(column, FROM_TOP, strict=False):
            ink, table = color(name, palette), runs.get(f"{name}_{suffix}")
            _schedule(axes, rates, end_s, palette, named=axes is column[0])
            if table is not None:
                delays = table[["least_ms", "median_ms", "longest_ms"]].clip(lower=LEAST_MS)
                low, middle, high = delays.to_numpy().T
                axes.fill_between(table["time_s"], low, high, color=ink, alpha=0.35, linewidth=0.3,
                                  rasterized=True)  # fmt: skip
                axes.plot(table["time_s"], middle, color=ink, linewidth=0.7, rasterized=True)
                megabytes = table["kilobytes"] / 1000
                column[3].plot(table["time_s"], megabytes, color=ink, label=NAMES[name])
            log_axis(axes.yaxis)
            axes.set_ylim(LEAST_MS, 2 * longest)
            box = {"facecolor": palette.paper, "edgecolor": "none", "pad": 1.5}
            axes.text(0.01, 0.05, NAMES[name], color=ink, fontsize=11, fontweight="bold",
                      transform=axes.transAxes, bbox=box)  # fmt: skip
        _schedule(column[3], rates, end_s, palette, named=False)
        column[3].set(xlabel="Time (s)", xlim=(0, end_s), ylim=(0, None))
        column[3].legend(loc="upper left")
    rows[1][0].set_ylabel("Queue delay of a packet (ms)")
    rows[3][0].set_ylabel("Megabytes transferred")
    return figure


def _schedule(
    axes: Axes, rates: Sequence[tuple[float, float]], end_s: float, palette: Palette, *, named: bool
) -> None:
    """Draw lines where the rate changes, and the rates above."""
    ends = [at for at, _ in rates[1:]] + [end_s]
    for (at, rate), end in zip(rates, ends, strict=True):
        if at >= end_s:
            break
        axes.grid(visible=False, axis="x")
        if at:
            marks.reference(axes, at, palette, upright=True)
        if named:
            axes.annotate(
                f"{rate:g} Mbit/s", ((at + min(end, end_s)) / 2, 1.02),
                xycoords=("data", "axes fraction"), ha="center", va="bottom", fontsize=8.8,
                color=palette.soft,
            )  # fmt: skip
