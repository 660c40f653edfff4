"""A figure of several panels, one per setting: the paper's first, others beside and below it."""

from collections.abc import Callable, Sequence
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from analysis.plots.style import Palette, look
from analysis.runs.order import in_order
from analysis.runs.settings import Setting

SINGLE_INCH: Final = (7.6, 5.0)
PANEL_INCH: Final = (5.6, 4.2)

ENTRY_INCH: Final = 1.55  # that the longest name of a qdisc takes in a legend

DASHED: Final = (0, (4, 3))  # a line that marks a value

PUBLISHED_CC: Final = "cubic"  # of what papers print

Draw = Callable[[Axes, Setting], object]


def grid(settings: Sequence[Setting], palette: Palette, draw: Draw) -> Figure:
    """Draw each setting on its own axes: eras side by side, one row per congestion control.

    All panels have the same limits. `draw` must not depend on the order of its calls.
    """
    eras = list(dict.fromkeys(one.era for one in settings))
    ccs = list(dict.fromkeys(one.cc for one in settings))
    if len(settings) == 1:
        figure = Figure(figsize=SINGLE_INCH, layout="constrained")
        draw(figure.add_subplot(), settings[0])
        return figure
    size = (PANEL_INCH[0] * len(eras), PANEL_INCH[1] * len(ccs))
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(len(ccs), len(eras), sharex=True, sharey=True, squeeze=False)
    for row, cc in enumerate(ccs):
        for column, era in enumerate(eras):
            axes, setting = panels[row][column], Setting(era, cc)
            if setting not in settings:
                axes.set_visible(False)
                continue
            draw(axes, setting)
            axes.set_title(setting.title, fontsize=11, color=palette.soft, loc="left")
            below = any(Setting(era, other) in settings for other in ccs[row + 1 :])
            before = any(Setting(other, cc) in settings for other in eras[:column])
            axes.tick_params(labelbottom=not below, labelleft=not before)
            axes.set_xlabel("" if below else axes.get_xlabel())
            axes.set_ylabel("" if before else axes.get_ylabel())
    return figure


def common_top(first: float, every: float) -> float:
    """Where the y axis of all panels ends: at `every`, the highest value of all of them, but at no
    more than twice `first`, that of the paper's setting, which has to stay readable."""
    return 1.1 * min(every, 2 * first)


def hollow(axes: Axes, x: float, y: float, marker: str, color: str, palette: Palette) -> None:
    """The marker of a value that the paper prints, beside ours."""
    axes.plot(
        x, y, marker=marker, markersize=6, markerfacecolor=palette.paper, markeredgecolor=color,
        markeredgewidth=1.4, linestyle="none", zorder=5,
    )  # fmt: skip


def qdisc_legend(figure: Figure, qdiscs: Sequence[str], palette: Palette) -> None:
    """The qdiscs above all panels, each with its colour, marker and dashes, in as many lines as
    the figure's width asks for."""
    names = in_order(list(qdiscs))
    handles = []
    for name in names:
        handle = Line2D(
            [], [], color=palette.color(name), linewidth=1.8, marker=look(name).marker,
            markersize=6.5, markeredgecolor=palette.paper, markeredgewidth=0.6,
        )  # fmt: skip
        if look(name).dashes:
            handle.set_dashes(look(name).dashes)
        handles.append(handle)
    columns = max(1, int(figure.get_figwidth() / ENTRY_INCH))
    lines = -(-len(names) // columns)
    legend = figure.legend(
        handles, names, loc="outside upper left", ncols=-(-len(names) // lines), handlelength=2.2,
        columnspacing=1.2, handletextpad=0.5,
    )  # fmt: skip
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_color(palette.color(name))


def qdisc_ticks(axes: Axes, qdiscs: Sequence[str], palette: Palette) -> None:
    """The qdiscs along the x axis, one per unit from 0, in their colours."""
    axes.set_xlim(-0.6, len(qdiscs) - 0.4)
    axes.set_xticks(range(len(qdiscs)), qdiscs, rotation=28, ha="right", fontsize=10)
    # a panel of the upper row may get its labels only later, where none is below it
    for tick, name in zip(axes.xaxis.get_major_ticks(), qdiscs, strict=True):
        tick.label1.set_color(palette.color(name))
    axes.tick_params(axis="x", length=0, pad=2)
    axes.grid(visible=False, axis="x")
