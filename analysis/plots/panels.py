"""The panels of a figure: their grid, their axes and their legends."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter

from qdisclab.analysis.plots.marks import handle
from qdisclab.analysis.plots.style import Palette, look
from qdisclab.analysis.runs.order import in_order
from qdisclab.analysis.runs.settings import Setting, in_headers, of_setting

SINGLE_INCH: Final = (7.6, 5.0)
PANEL_INCH: Final = (5.6, 4.2)

ENTRY_INCH: Final = 1.55  # that the longest name of a qdisc takes in a legend

PUBLISHED_CC: Final = "cubic"  # of what papers print

Draw = Callable[[Axes, Setting], object]


def panels(
    width: float, height: float, rows: int = 1, columns: int = 1, **settings: Any
) -> tuple[Figure, np.ndarray]:
    """Return a figure of `width` by `height` inches, and its axes by row and column.

    `settings` are matplotlib's of `subplots`.
    """
    figure = Figure(figsize=(width, height))
    figure.set_layout_engine("constrained", wspace=0.04)  # the ends of two axes are two numbers
    return figure, figure.subplots(rows, columns, squeeze=False, **settings)


def grid(settings: Sequence[Setting], runs: pd.DataFrame, draw: Draw) -> Figure:
    """Draw each setting on its own axes: eras side by side, one row per congestion control.

    All panels have the same limits. `draw` must not depend on the order of its calls. `runs` are
    those of all settings, or their cells (`one_run`): a panel says where there is one of each.
    """
    eras = list(dict.fromkeys(setting.era for setting in settings))
    ccs = list(dict.fromkeys(setting.cc for setting in settings))
    if len(settings) == 1:
        figure = Figure(figsize=SINGLE_INCH, layout="constrained")
        draw(figure.add_subplot(), settings[0])
        figure.axes[0].set_title(one_run(of_setting(runs, settings[0])))
        return figure
    size = (PANEL_INCH[0] * len(eras), PANEL_INCH[1] * len(ccs))
    figure, axes_of = panels(*size, len(ccs), len(eras), sharex=True, sharey=True)
    for row, cc in enumerate(ccs):
        for column, era in enumerate(eras):
            axes, setting = axes_of[row, column], Setting(era, cc)
            if setting not in settings:
                axes.set_visible(False)
                continue
            draw(axes, setting)
            alone = one_run(of_setting(runs, setting))
            axes.set_title(f"{in_headers(setting.title)}{': ' * bool(alone)}{alone}")
            axes.tick_params(labelbottom=True, labelleft=True)
    return figure


def one_run(runs: pd.DataFrame) -> str:
    """Return "one run" where no cell has a second one; `runs` has n_seeds, or a seed in each row.

    What has no run, as what a paper prints, does not count.
    """
    counts = runs["n_seeds"].dropna() if "n_seeds" in runs else [runs["seed"].nunique()]
    return "one run" if len(counts) and max(counts) == 1 else ""


def common_top(first: float, every: float) -> float:
    """Return where the y axis of all panels ends: at `every`, the highest value of all, but at no
    more than twice `first`, that of the paper's setting, which has to stay readable."""
    return 1.1 * min(every, 2 * first)


def log_axis(axis: Axis, subs: Sequence[float] = (1,)) -> None:
    """Make an axis logarithmic, with plain numbers at `subs` of each power of ten."""
    (axis.axes.set_xscale if axis is axis.axes.xaxis else axis.axes.set_yscale)("log")
    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_minor_formatter(NullFormatter())


def name_rows(
    axes: Axes, names: Sequence[str], palette: Palette, colors: Sequence[str] = ()
) -> None:
    """Name the rows of a panel along the y axis, the first at the top, with a line between two.

    `colors` are those of the names, between which there is no line.
    """
    axes.set_yticks(range(len(names)), list(names), fontsize=10)
    axes.set_ylim(len(names) - 0.45, -0.55)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    for tick, color in zip(axes.get_yticklabels(), colors, strict=False):
        tick.set_color(color)
    for row in range(1, 0 if colors else len(names)):
        axes.axhline(row - 0.5, color=palette.grid, linewidth=0.8, zorder=0)


def legend(figure: Figure, handles: Mapping[str, Artist], **more: Any) -> Legend:
    """Write a legend above all panels in one line, or as `more` says, which goes to matplotlib."""
    settings: Any = {"loc": "outside upper left", "ncols": len(handles), "handletextpad": 0.5}
    written: Legend = figure.legend([*handles.values()], [*handles], **settings | more)
    return written


def fill_legend(figure: Figure, palette: Palette, filled: str, *hollow: str) -> None:
    """Say below all panels what filled and hollow markers are."""
    handles = {filled: handle(palette.soft, palette.soft)}
    handles |= {name: handle(palette.soft, palette.paper) for name in hollow}
    legend(figure, handles, loc="outside lower left")


def qdisc_legend(
    figure: Figure,
    qdiscs: Sequence[str],
    palette: Palette,
    more: Mapping[str, Artist] | None = None,
) -> None:
    """Name the qdiscs above all panels, each with its colour, marker and dashes, and `more`, in as
    many lines as the figure's width asks for."""
    handles: dict[str, Artist] = {}
    for name in in_order(list(qdiscs)):
        line = Line2D(
            [], [], color=palette.color(name), linewidth=1.8, marker=look(name).marker,
            markersize=6.5, markeredgecolor=palette.paper, markeredgewidth=0.6,
        )  # fmt: skip
        if look(name).dashes:
            line.set_dashes(look(name).dashes)
        handles[name] = line
    names = [*handles]
    handles |= more or {}
    lines = -(-len(handles) // max(1, int(figure.get_figwidth() / ENTRY_INCH)))
    columns = -(-len(handles) // lines)
    written = legend(figure, handles, ncols=columns, handlelength=2.2, columnspacing=1.2)
    for text, name in zip(written.get_texts(), names, strict=False):
        text.set_color(palette.color(name))


def qdisc_ticks(axes: Axes, qdiscs: Sequence[str], palette: Palette) -> None:
    """Name the qdiscs along the x axis, one per unit from 0, in their colours."""
    axes.set_xlim(-0.6, len(qdiscs) - 0.4)
    axes.set_xticks(range(len(qdiscs)), qdiscs, rotation=28, ha="right", fontsize=10)
    # a panel of the upper row gets its labels only later
    for tick, name in zip(axes.xaxis.get_major_ticks(), qdiscs, strict=True):
        tick.label1.set_color(palette.color(name))
    axes.tick_params(axis="x", length=0, pad=2)
    axes.grid(visible=False, axis="x")
