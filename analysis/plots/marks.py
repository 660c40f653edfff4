"""The marks of all figures: points with intervals, bars, boxes, lines and published values."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from qdisclab.analysis.plots.style import Palette, look

DASHED: Final = (0, (4, 3))  # a line that marks a value
SPREAD: Final = 0.74  # of the distance between two rows, what the points of a row take
GROUP: Final = 0.84  # of the distance between two qdiscs, what the bars of one take


def point(
    axes: Axes,
    x: Any,
    y: Any,
    qdisc: str,
    palette: Palette,
    *,
    interval: tuple[float, float] | None = None,
    upright: bool = False,
    filled: bool = True,
    size: float = 6.5,
    **settings: Any,
) -> None:
    """Draw markers of a qdisc, and its interval along x, or along y if it is upright.

    A hollow marker stands for another setting, or for what the paper prints. `settings` go to
    matplotlib, for both: a marker or a colour that is not the qdisc's.
    """
    marker = settings.pop("marker", look(qdisc).marker)
    color = settings.pop("color", palette.color(qdisc))
    if interval is not None and np.isfinite(interval[0]):
        ends = ((x, x), interval) if upright else (interval, (y, y))
        axes.plot(*ends, color=color, linewidth=1.3, zorder=2, **settings)
    axes.plot(
        x,
        y,
        marker=marker,
        markersize=size,
        linestyle="none",
        markerfacecolor=color if filled else palette.paper,
        markeredgecolor=palette.paper if filled else color,
        markeredgewidth=0.7 if filled else 1.3,
        zorder=4 if filled else 3,
        **settings,
    )


def published(axes: Axes, x: Any, y: Any, palette: Palette, **line: Any) -> None:
    """Draw open diamonds for what the paper prints; `line` may join them."""
    line = {"linestyle": "none"} | line
    axes.plot(x, y, **line, **diamond(palette, palette.ink))


def diamond(palette: Palette, color: str) -> dict[str, Any]:
    """Return how matplotlib draws a published value."""
    return {"color": color, "marker": "D", "markersize": 6.5, "markeredgewidth": 1.4, "zorder": 5,
            "markerfacecolor": palette.paper, "markeredgecolor": color}  # fmt: skip


def line(axes: Axes, x: Any, y: Any, qdisc: str, palette: Palette, **settings: Any) -> None:
    """Draw the line of a qdisc, in its colour and dashes, with its markers."""
    style: dict[str, Any] = {
        "color": palette.color(qdisc), "linewidth": 1.7, "marker": look(qdisc).marker,
        "markersize": 6, "markeredgecolor": palette.paper, "markeredgewidth": 0.6,
    } | settings  # fmt: skip
    (drawn,) = axes.plot(x, y, **style)
    if look(qdisc).dashes:
        drawn.set_dashes(look(qdisc).dashes)


def points(
    axes: Axes,
    cells: pd.DataFrame,
    names: Sequence[str],
    qdiscs: Sequence[str],
    palette: Palette,
    *,
    shift: float = 0,
    least: float = -np.inf,
    **settings: Any,
) -> None:
    """Draw a point with its interval for each of `cells`, in a row per name, a place per qdisc.

    `cells` has row, qdisc, mean, ci_low and ci_high; where it has `filled`, the others are hollow
    and stand `shift` places lower. What is less than `least` is drawn there.
    """
    for cell in cells.to_dict("records"):
        filled = bool(cell.get("filled", True))
        place = qdiscs.index(str(cell["qdisc"])) + 0.5 + (-0.5 if filled else 0.5) * shift
        y = names.index(str(cell["row"])) + SPREAD * (place / len(qdiscs) - 0.5)
        mean, low, high = (max(cell[name], least) for name in ("mean", "ci_low", "ci_high"))
        interval = (low, high) if np.isfinite(cell["ci_low"]) else None
        point(axes, mean, y, str(cell["qdisc"]), palette, interval=interval, filled=filled,
              **settings)  # fmt: skip


def bars(
    axes: Axes,
    cells: Mapping[tuple[str, str], tuple[float, float]],
    qdiscs: Sequence[str],
    names: Sequence[str],
    palette: Palette,
    printed: Mapping[tuple[str, str], float] | None = None,
) -> None:
    """Draw a group of bars per qdisc, one for each of `names`, pale to full.

    `cells` has a mean and a standard deviation by qdisc and name, `printed` published values.
    """
    width = GROUP / len(names)
    for place, qdisc in enumerate(qdiscs):
        color = palette.color(qdisc)
        for number, (name, shade) in enumerate(zip(names, shades(names), strict=True)):
            if (qdisc, name) not in cells:
                continue
            mean, std = cells[qdisc, name]
            x = place + width * (number - (len(names) - 1) / 2)
            axes.bar(x, mean, 0.92 * width, color=(color, shade), edgecolor=color, linewidth=0.7)
            whisker(axes, x, mean, (min(std, mean), std), palette)
            if (qdisc, name) in (printed or {}):
                published(axes, x, (printed or {})[qdisc, name], palette)


def shades(names: Sequence[str]) -> list[float]:
    """Return how full the colour of each of `names` is, as bars have it."""
    return [float(shade) for shade in np.linspace(0.25, 0.95, max(2, len(names)))[: len(names)]]


def shade_handles(names: Sequence[str], palette: Palette) -> dict[str, Patch]:
    """Return what stands for each of `names` in a legend of bars."""
    return {name: Patch(facecolor=(palette.soft, shade), edgecolor=palette.soft)
            for name, shade in zip(names, shades(names), strict=True)}  # fmt: skip


def whisker(axes: Axes, x: float, y: float, reach: tuple[float, float], palette: Palette) -> None:
    """Draw how far the interval of a bar reaches below and above `y`; nothing of one run."""
    if np.isfinite(reach).all():
        axes.errorbar(x, y, [[reach[0]], [reach[1]]], color=palette.ink, linewidth=1.1, capsize=2.5)


def boxes(
    axes: Axes,
    stats: list[dict[str, Any]],
    at: Sequence[float],
    width: float,
    color: str,
    palette: Palette,
    *,
    filled: bool = True,
) -> None:
    """Draw boxes from quartiles, whiskers and outliers, as matplotlib's `bxp` takes them."""
    outline, face = {"color": color, "linewidth": 1.3}, box_face(color, palette, filled=filled)
    axes.bxp(
        stats, positions=at, widths=width, patch_artist=True, manage_ticks=False,
        boxprops={"facecolor": face, "edgecolor": color, "linewidth": 1.3},
        medianprops={"color": palette.ink, "linewidth": 1.7},
        whiskerprops=outline, capprops=outline,
        flierprops={"marker": "o", "markersize": 3.2, "markerfacecolor": color,
                    "markeredgecolor": "none", "alpha": 0.7},
    )  # fmt: skip


def grouped_boxes(
    axes: Axes,
    groups: Mapping[str, Mapping[int, dict[str, Any]]],
    colors: Mapping[str, str],
    palette: Palette,
    hollow: Collection[str] = (),
) -> dict[str, dict[int, float]]:
    """Draw a box per place and name side by side: `groups` has `bxp`'s statistics by these.

    Boxes of the names `hollow` are not filled. Return where each box is.
    """
    width = GROUP / len(groups)
    at = {
        name: {place: place + width * (number - (len(groups) - 1) / 2) for place in stats}
        for number, (name, stats) in enumerate(groups.items())
    }
    for name, stats in groups.items():
        boxes(axes, [*stats.values()], [*at[name].values()], 0.85 * width, colors[name], palette,
              filled=name not in hollow)  # fmt: skip
    axes.grid(visible=False, axis="x")
    return at


def box_handles(
    colors: Mapping[str, str], palette: Palette, hollow: Collection[str] = ()
) -> dict[str, Artist]:
    """Return what stands for boxes of each name in a legend."""
    return {
        name: Patch(facecolor=box_face(color, palette, filled=name not in hollow), edgecolor=color)
        for name, color in colors.items()
    }


def box_face(color: str, palette: Palette, *, filled: bool = True) -> Any:
    """Return the colour that a box of `color` has inside."""
    return to_rgba(color, 0.45) if filled else palette.paper


def handle(color: str, face: str, **settings: Any) -> Line2D:
    """Return a round marker for a legend."""
    style: dict[str, Any] = {
        "marker": "o", "markersize": 7, "linestyle": "none", "markerfacecolor": face,
        "markeredgecolor": color, "markeredgewidth": 1.3,
    } | settings  # fmt: skip
    return Line2D([], [], **style)


def reference(axes: Axes, value: float, palette: Palette, *, upright: bool = False) -> None:
    """Draw a dashed line across the axes, at a value to compare with."""
    draw = axes.axvline if upright else axes.axhline
    draw(value, color=palette.soft, linewidth=1, linestyle=DASHED, zorder=1)
