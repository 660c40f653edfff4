"""Latency against goodput, and latency over time, of the qdiscs of a link."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse as EllipsePatch

from qdisclab.analysis.measures.metrics import GOODPUT, INDUCED, covariance_ellipse
from qdisclab.analysis.plots.marks import handle, point
from qdisclab.analysis.plots.panels import PUBLISHED_CC, grid, legend, qdisc_legend
from qdisclab.analysis.plots.style import Palette
from qdisclab.analysis.runs.order import in_order
from qdisclab.analysis.runs.settings import Setting, of_setting

LATENCY_AXIS: Final = "Mean induced latency (ms) – less is further right"

Place = tuple[float, float]


def latency_goodput(
    per_run: pd.DataFrame,
    published: pd.DataFrame,
    settings: Sequence[Setting],
    palette: Palette,
    *,
    directions: Sequence[str] = ("download",),
) -> Figure:
    """Draw latency against goodput of one link, a panel per setting: better is up and right.

    `per_run` is from metrics.run_metrics: the filled marker of a qdisc is the median over its
    runs, the shade the 1-sigma ellipse of their covariance (three runs or more). `published` is
    from published.read_published, of CUBIC: a hollow marker, joined to ours by a thin line, and
    none beside New Reno. `directions` names the goodputs to draw; published values of direction
    "one" belong to the first of them.
    """
    places: list[Place] = []  # of all that is drawn

    def draw(axes: Axes, setting: Setting) -> None:
        runs = of_setting(per_run, setting)
        printed = published if setting.cc == PUBLISHED_CC else published.iloc[:0]
        places.extend(_points(axes, runs, printed, palette, directions))
        for direction in directions if len(directions) > 1 else ():
            middle = (1, float(runs[GOODPUT[direction]].median()))
            axes.annotate(
                direction, middle, xycoords=("axes fraction", "data"), ha="right",
                xytext=(0, 6), textcoords="offset points", color=palette.soft,
            )  # fmt: skip
        axes.set(xlabel=LATENCY_AXIS, ylabel="Mean TCP goodput (Mbit/s)")

    figure = grid(settings, per_run, draw)
    for axes in figure.axes:
        _limits(axes, places, from_zero=len(directions) > 1)
    handles: dict[str, Artist] = {
        _runs_per_qdisc(per_run): handle(palette.soft, palette.soft, markersize=9)
    }
    if len(published):
        handles["published"] = handle(palette.soft, palette.paper, markersize=9)
    if any(axes.patches for axes in figure.axes):
        shade = handle(palette.soft, palette.soft, markersize=13, alpha=0.35)
        handles["ours, 1-σ ellipse of runs"] = shade
    qdiscs = {*per_run["qdisc"].astype(str), *published["qdisc"].astype(str)}
    qdisc_legend(figure, sorted(qdiscs), palette)
    legend(figure, handles, loc="outside lower left")
    return figure


def _points(
    axes: Axes,
    per_run: pd.DataFrame,
    published: pd.DataFrame,
    palette: Palette,
    directions: Sequence[str],
) -> list[Place]:
    """Draw the points of a panel, and return where they and the ellipses are."""
    places: list[Place] = []
    for direction in directions:
        wanted = (direction, "one") if direction == directions[0] else (direction,)
        printed = _published_points(published, wanted)
        for qdisc in in_order([*per_run["qdisc"].astype(str), *printed]):
            runs = per_run.loc[per_run["qdisc"] == qdisc, [INDUCED, GOODPUT[direction]]]
            ends = []
            if not runs.empty:
                ends.append((float(runs.iloc[:, 0].median()), float(runs.iloc[:, 1].median())))
                places += _ellipse(axes, runs, palette.color(qdisc))
                point(axes, *ends[0], qdisc, palette, size=9)
            if qdisc in printed:
                ends.append(printed[qdisc])
                point(axes, *printed[qdisc], qdisc, palette, filled=False, size=9)
            if len(ends) == 2:
                axes.plot(*zip(*ends, strict=True), color=palette.color(qdisc), linewidth=1.1)
            places += ends
    return places


def _published_points(published: pd.DataFrame, directions: Sequence[str]) -> dict[str, Place]:
    latency = published[published["metric"] == "induced_latency"].set_index("qdisc")["value"]
    goodput = published[
        (published["metric"] == "goodput") & published["direction"].isin(directions)
    ].set_index("qdisc")["value"]
    both = latency.index.intersection(goodput.index)
    return {str(qdisc): (float(latency[qdisc]), float(goodput[qdisc])) for qdisc in both}


def _ellipse(axes: Axes, runs: pd.DataFrame, color: str) -> list[Place]:
    """Draw the ellipse of runs, where there is one, and return points along it."""
    shape = covariance_ellipse(runs.iloc[:, 0], runs.iloc[:, 1])
    if shape is None:
        return []
    patch = EllipsePatch(
        shape.center, shape.width, shape.height, angle=shape.angle_deg,
        facecolor=(color, 0.22), edgecolor=(color, 0.55), linewidth=0.8, zorder=1,
    )  # fmt: skip
    axes.add_patch(patch)
    angle = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    return [(float(x), float(y)) for x, y in patch.get_patch_transform().transform(circle)]


def _limits(axes: Axes, points: Sequence[Place], *, from_zero: bool) -> None:
    """Leave room around everything drawn; latency grows to the left and ends a little past zero."""
    xy = np.asarray(points, dtype=np.float64).reshape(-1, 2)
    if xy.size == 0:
        return
    low, high = xy.min(axis=0), xy.max(axis=0)
    span_x = max(high[0], 1e-3)
    axes.set_xlim(high[0] + 0.08 * span_x, min(low[0], 0) - 0.05 * span_x)
    margin = 0.14 * max(high[1] - low[1], 0.01 * high[1])
    if from_zero:  # and a little more, for names below points that are close to zero
        margin = 0.09 * high[1]
        low[1] = 0
    axes.set_ylim(low[1] - margin, high[1] + margin)


def _runs_per_qdisc(per_run: pd.DataFrame) -> str:
    by = [name for name in ("era", "cc", "qdisc") if name in per_run]
    counts = sorted(set(per_run.groupby(by, observed=True).size()))
    if not counts:
        return "ours, no run"
    if counts[-1] == 1:
        return "ours, one run"
    spread = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}"
    return f"ours, median of {spread} runs"
