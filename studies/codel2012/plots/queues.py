"""The figures of codel2012: boxes over loads, and a link whose rate changes."""

from collections.abc import Mapping, Sequence
from typing import Final

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cbook import boxplot_stats
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from analysis.errors import require_several
from analysis.plots import marks
from analysis.plots.panels import legend, log_axis, panels
from analysis.plots.style import Palette

from ..measures.queues import ALIKE, NAMES

SHOWN: Final = {
    "median_ms": "Median packet delay (ms)",
    "utilisation_percent": "Link utilisation (%)",
    "jain": "Jain's index of drop shares",
}
LOGARITHMIC: Final = ("median_ms",)
LEAST_MS: Final = 0.01  # shorter delays are drawn as this
ORDER: Final = tuple(NAMES)  # CoDel, RED, Tail Drop


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
    qdiscs = [*(name for name in ORDER if name in families), *sorted(families - set(ORDER))]
    figure, axes_of = panels(8.2, 2.7 * len(values) + 0.6, len(values), sharex=True)
    width = 0.72 / len(qdiscs)
    for axes, value in zip(axes_of[:, 0], values, strict=True):
        for place, name in enumerate(qdiscs):
            runs = table[table["family"] == name]
            groups = {index: runs.loc[runs[by] == tick, value].dropna().to_numpy()
                      for index, tick in enumerate(ticks)}  # fmt: skip
            groups = {index: group for index, group in groups.items() if len(group)}
            shift = (place - (len(qdiscs) - 1) / 2) * width * 1.12
            stats = [stat for group in groups.values() for stat in boxplot_stats(group)]
            at = [index + shift for index in groups]
            marks.boxes(axes, stats, at, width, color(name, palette), palette)
        _bands(axes, list(ticks.values()), palette)
        if value in LOGARITHMIC:
            log_axis(axes.yaxis, (1, 2, 5))
        axes.set_ylabel(SHOWN[value])
        axes.grid(visible=False, axis="x")
        axes.tick_params(axis="x", length=0)
    axes.set_xticks(range(len(ticks)), list(ticks.values()))
    axes.set_xlabel(title)
    handles = {
        NAMES.get(name, name): Patch(
            facecolor=marks.box_face(color(name, palette), palette), edgecolor=color(name, palette)
        )
        for name in qdiscs
    }
    legend(figure, handles, handlelength=1.2)
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
    """Draw queue delay and kilobytes over time, a column per buffer, as codel2012 Fig. 7.

    `runs`: qdisc -> a table of queues.steps; `rates`: (from when in s, Mbit/s), the last one until
    the end; `buffers`: how the name of a qdisc ends -> what to call it. A band spans from the
    shortest to the longest delay of a step, so that each packet lies in it; the line is the median.
    """
    figure, rows = panels(
        6.2 * len(buffers) + 0.4, 9.6, 4, len(buffers), sharex=True, sharey="row",
        height_ratios=[1, 1, 1, 1.35],
    )  # fmt: skip
    order = ("tail_drop", "red", "codel")
    end_s = max(float(table["time_s"].iloc[-1]) for table in runs.values())
    longest = max(float(table["longest_ms"].max()) for table in runs.values())
    for column, (suffix, buffer) in enumerate(buffers.items()):
        for row, name in enumerate(order):
            axes = rows[row][column]
            _schedule(axes, rates, end_s, palette, named=row == 0)
            if (table := runs.get(f"{name}_{suffix}")) is not None:
                _delay(axes, table, color(name, palette))
            log_axis(axes.yaxis)
            axes.set_ylim(LEAST_MS, 2 * longest)
            axes.text(
                0.008, 0.05, NAMES[name], transform=axes.transAxes, color=color(name, palette),
                fontsize=11.5, fontweight="bold", va="bottom", zorder=5,
                bbox={"facecolor": palette.paper, "alpha": 0.85, "linewidth": 0, "pad": 2},
            )  # fmt: skip
            axes.grid(visible=False, axis="x")
        rows[0][column].set_title(buffer, fontsize=12, pad=20)
        total = rows[3][column]
        _schedule(total, rates, end_s, palette, named=False)
        for name in order:
            if (table := runs.get(f"{name}_{suffix}")) is not None:
                total.plot(
                    table["time_s"], table["kilobytes"], color=color(name, palette), linewidth=1.8,
                    label=NAMES[name],
                )  # fmt: skip
        total.set_xlabel("Time (s)")
        total.grid(visible=False, axis="x")
        total.set_ylim(bottom=0)
        total.yaxis.set_major_formatter(lambda number, _: f"{number:,.0f}")
        total.legend(
            loc="upper left", frameon=True, facecolor=palette.paper, edgecolor="none",
            framealpha=0.9,
        )  # fmt: skip
        total.set_xlim(0, end_s)
    rows[1][0].set_ylabel("Queue delay of a packet (ms)")
    rows[3][0].set_ylabel("Kilobytes transferred")
    return figure


def _schedule(
    axes: Axes,
    rates: Sequence[tuple[float, float]],
    end_s: float,
    palette: Palette,
    *,
    named: bool,
) -> None:
    """Draw lines where the rate changes, and the rates above."""
    ends = [at for at, _ in rates[1:]] + [end_s]
    for (at, rate), end in zip(rates, ends, strict=True):
        if at >= end_s:
            break
        if at:
            marks.reference(axes, at, palette, upright=True)
        if named:
            axes.annotate(
                f"{rate:g} Mbit/s", ((at + min(end, end_s)) / 2, 1.02),
                xycoords=("data", "axes fraction"), ha="center", va="bottom", fontsize=8.8,
                color=palette.soft,
            )  # fmt: skip


def _delay(axes: Axes, table: pd.DataFrame, ink: str) -> None:
    low, middle, high = (
        table[f"{name}_ms"].clip(lower=LEAST_MS) for name in ("least", "median", "longest")
    )
    axes.fill_between(
        table["time_s"], low, high, color=ink, alpha=0.35, linewidth=0.3, rasterized=True
    )
    axes.plot(table["time_s"], middle, color=ink, linewidth=0.7, rasterized=True)
