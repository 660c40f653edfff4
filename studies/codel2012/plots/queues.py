"""The figures of codel2012: boxes over loads, and a link whose rate changes."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from analysis.errors import require_several
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
    """The colour of the qdisc that a family is like in other papers."""
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
    """A row of axes a value, and in it for each of `ticks` a box a qdisc over all of its runs.

    `table` is from queues.read_runs; `ticks` maps the values of the column `by`, in their order, to
    labels below the boxes, `title` is below those; what has the same first line stands together.
    A box has the quartiles and the median, its whiskers reach the last run within 1.5 of its
    height (Tukey), the others are dots.
    """
    require_several("values", values, table)
    there = set(table["family"])
    qdiscs = [name for name in ORDER if name in there] + sorted(there - set(ORDER))
    figure = Figure(figsize=(8.2, 2.7 * len(values) + 0.6), layout="constrained")
    rows = figure.subplots(len(values), 1, sharex=True, squeeze=False)[:, 0]
    width = 0.72 / len(qdiscs)
    for axes, value in zip(rows, values, strict=True):
        for place, name in enumerate(qdiscs):
            of_qdisc = table[table["family"] == name]
            groups = [of_qdisc.loc[of_qdisc[by] == tick, value].dropna() for tick in ticks]
            at = np.arange(len(ticks)) + (place - (len(qdiscs) - 1) / 2) * width * 1.12
            _boxes(axes, groups, at, width, color(name, palette), palette)
        _bands(axes, list(ticks.values()), palette)
        if value in LOGARITHMIC:
            axes.set_yscale("log")
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.yaxis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:g}"))
            axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_ylabel(SHOWN[value])
        axes.grid(visible=False, axis="x")
        axes.tick_params(axis="x", length=0)
    rows[-1].set_xticks(range(len(ticks)), list(ticks.values()))
    rows[-1].set_xlabel(title)
    legend(figure, qdiscs, palette)
    return figure


def _bands(axes: Axes, labels: Sequence[str], palette: Palette) -> None:
    """A band behind every second group of labels that have the first of several lines in common."""
    groups = [label.partition("\n")[0] for label in labels]
    names = list(dict.fromkeys(groups))
    if len(names) == len(labels):
        return
    for name in names[1::2]:
        first = groups.index(name)
        last = first + groups.count(name)
        axes.axvspan(first - 0.5, last - 0.5, color=palette.grid, alpha=0.55, linewidth=0, zorder=0)
    axes.set_xlim(-0.5, len(labels) - 0.5)


def _boxes(
    axes: Axes,
    groups: Sequence["pd.Series[float]"],
    at: "np.ndarray",
    width: float,
    ink: str,
    palette: Palette,
) -> None:
    there = [index for index, group in enumerate(groups) if len(group)]
    if not there:  # of Jain's index, say, where no run dropped anything
        return
    drawn = axes.boxplot(
        [groups[index].to_numpy() for index in there],
        positions=[at[index] for index in there],
        widths=width, patch_artist=True, manage_ticks=False,
        medianprops={"color": palette.ink, "linewidth": 1.6},
        whiskerprops={"color": ink, "linewidth": 1.2},
        capprops={"color": ink, "linewidth": 1.2},
        flierprops={"marker": "o", "markersize": 3.2, "markerfacecolor": ink,
                    "markeredgecolor": "none", "alpha": 0.7},
    )  # fmt: skip
    for box in drawn["boxes"]:
        box.set(facecolor=ink, alpha=0.45, edgecolor=ink, linewidth=1.2)


def legend(figure: Figure, qdiscs: Sequence[str], palette: Palette) -> None:
    """The schemes above the axes, in their colours."""
    handles = [
        Patch(facecolor=color(name, palette), edgecolor=color(name, palette), alpha=0.6)
        for name in qdiscs
    ]
    names = [NAMES.get(name, name) for name in qdiscs]
    figure.legend(handles, names, loc="outside upper left", ncols=len(names), handlelength=1.2)


def describe_boxes(table: pd.DataFrame, by: str, ticks: Mapping[object, str], title: str) -> str:
    """The text that stands for boxes: medians over the runs."""
    parts = []
    for qdisc, of_qdisc in table.groupby("family"):
        for tick, label in ticks.items():
            runs = of_qdisc[of_qdisc[by] == tick]
            if len(runs):
                delay, use = runs["median_ms"].median(), runs["utilisation_percent"].median()
                parts.append(
                    f"{NAMES.get(str(qdisc), qdisc)} at {label}: {delay:.3g} ms, {use:.3g} %"
                )
    return (
        f"Box plots over loads of the median packet delay and of link utilisation by {title}. "
        f"Medians: {'; '.join(parts)}."
    )


def dynamic(
    runs: Mapping[str, pd.DataFrame],
    rates: Sequence[tuple[float, float]],
    palette: Palette,
    *,
    buffers: Mapping[str, str],
) -> Figure:
    """Queue delay and kilobytes over time, a column per buffer, as codel2012 Fig. 7.

    `runs`: qdisc -> a table of queues.steps; `rates`: (from when in s, Mbit/s), the last one until
    the end; `buffers`: how the name of a qdisc ends -> what to call it. A band spans from the
    shortest to the longest delay of a step, so that each packet lies in it; the line is the median.
    """
    figure = Figure(figsize=(6.2 * len(buffers) + 0.4, 9.6), layout="constrained")
    heights = [1, 1, 1, 1.35]
    rows = figure.subplots(
        4, len(buffers), sharex=True, sharey="row", squeeze=False, height_ratios=heights
    )
    order = ("tail_drop", "red", "codel")
    end_s = max(float(table["time_s"].iloc[-1]) for table in runs.values())
    longest = max(float(table["longest_ms"].max()) for table in runs.values())
    for column, (suffix, buffer) in enumerate(buffers.items()):
        for row, name in enumerate(order):
            axes = rows[row][column]
            _schedule(axes, rates, end_s, palette, named=row == 0)
            if (table := runs.get(f"{name}_{suffix}")) is not None:
                _delay(axes, table, color(name, palette))
            axes.set_yscale("log")
            axes.set_ylim(LEAST_MS, 2 * longest)
            axes.yaxis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:g}"))
            axes.text(
                0.008, 0.05, NAMES[name], transform=axes.transAxes, color=color(name, palette),
                fontsize=11.5, fontweight="bold", va="bottom", zorder=5,
                bbox={"facecolor": palette.paper, "alpha": 0.85, "linewidth": 0, "pad": 2},
            )  # fmt: skip
            axes.grid(visible=False, axis="x")
        rows[0][column].set_title(buffer, loc="left", fontsize=12, color=palette.soft, pad=20)
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
        total.yaxis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:,.0f}"))
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
    """Lines where the rate changes, and the rates above."""
    ends = [at for at, _ in rates[1:]] + [end_s]
    for (at, rate), end in zip(rates, ends, strict=True):
        if at >= end_s:
            break
        if at:
            axes.axvline(at, color=palette.soft, linewidth=0.9, linestyle=(0, (3, 3)), zorder=0)
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


def describe_dynamic(table: pd.DataFrame) -> str:
    """The text that stands for dynamic; `table` has qdisc, median_ms, longest_ms and kilobytes."""
    parts = [
        f"{row.qdisc} median {row.median_ms:.3g} ms, longest {row.longest_ms:.4g} ms, "
        f"{row.kilobytes:,.0f} kB"
        for row in table.itertuples(index=False)
    ]
    return (
        "Queue delay of packets on a logarithmic axis and cumulative kilobytes over 300 s in which "
        f"the link's rate changes every 50 s. {'; '.join(parts)}."
    )
