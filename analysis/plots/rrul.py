"""One function per kind of plot: tables in, a matplotlib figure out.

All are drawn inside `style.styled`, whose palette they take.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Ellipse as EllipsePatch

from analysis.measures.metrics import GOODPUT, INDUCED, covariance_ellipse
from analysis.plots.labels import Label, place_at_right, place_beside
from analysis.plots.panels import (
    DASHED,
    PUBLISHED_CC,
    common_top,
    grid,
    hollow,
    qdisc_legend,
)
from analysis.plots.style import Palette, look
from analysis.runs.order import in_order
from analysis.runs.settings import Setting, of_setting

SIZE_INCH: Final = (7.6, 5.0)
LATENCY_AXIS: Final = "Mean induced latency (ms) – less is further right"


def latency_goodput(
    per_run: pd.DataFrame,
    published: pd.DataFrame,
    palette: Palette,
    *,
    directions: Sequence[str] = ("download",),
    settings: Sequence[Setting] = (),
) -> Figure:
    """Latency against goodput of one link: better is up and right.

    `per_run` is from metrics.run_metrics: the filled marker of a qdisc is the median over its
    runs, the shade the 1-sigma ellipse of their covariance (three runs or more). `published` is
    from published.read_published, of CUBIC: a hollow marker, joined to ours by a thin line, and
    none beside New Reno. `directions` names the goodputs to draw; published values of direction
    "one" belong to the first of them. With `settings`, a panel each.
    """
    drawn: list[_Drawn] = []

    def draw(axes: Axes, setting: Setting | None = None) -> None:
        runs = per_run if setting is None else of_setting(per_run, setting)
        shown = setting is None or setting.cc == PUBLISHED_CC
        theirs = published if shown else published.iloc[:0]
        drawn.append(_points(axes, runs, theirs, palette, directions))
        axes.set_xlabel(LATENCY_AXIS)
        axes.set_ylabel("Mean TCP goodput (Mbit/s)")

    if settings:
        figure = grid(settings, palette, draw)
    else:
        figure = Figure(figsize=SIZE_INCH, layout="constrained")
        draw(figure.add_subplot())
    obstacles = [point for one in drawn for point in one.obstacles]
    outlines = [point for one in drawn for point in _outline(one.ellipses)]
    for one in drawn:
        _limits(one.axes, [*obstacles, *outlines], from_zero=len(directions) > 1)
    shaded = any(one.ellipses for one in drawn)
    _pair_legend(figure, palette, _runs_per_qdisc(per_run), bool(len(published)), drawn=shaded)
    figure.draw_without_rendering()
    for one in drawn:
        size = 11 if len(drawn) == 1 else 9.5
        place_beside(one.axes, one.labels, [*one.obstacles, *_outline(one.ellipses)], size)
    return figure


@dataclass
class _Drawn:
    """What is on the axes of a panel."""

    axes: Axes
    labels: list[Label]
    obstacles: list[tuple[float, float]]  # points that names must not cover
    ellipses: list[EllipsePatch]


def _points(
    axes: Axes,
    per_run: pd.DataFrame,
    published: pd.DataFrame,
    palette: Palette,
    directions: Sequence[str],
) -> _Drawn:
    drawn = _Drawn(axes, [], [], [])
    for direction in directions:
        wanted = (direction, "one") if direction == directions[0] else (direction,)
        theirs = _published_points(published, wanted)
        for qdisc in in_order([*per_run["qdisc"].astype(str), *theirs]):
            group = per_run[per_run["qdisc"] == qdisc]
            ours = None
            if not group.empty:
                goodput = group[GOODPUT[direction]]
                ours = (float(group[INDUCED].median()), float(goodput.median()))
                drawn.ellipses += _ellipse(axes, group[INDUCED], goodput, palette.color(qdisc))
            drawn.obstacles += _pair(axes, qdisc, ours, theirs.get(qdisc), palette)
            anchor = ours or theirs[qdisc]
            drawn.labels.append(Label(qdisc, *anchor, palette.color(qdisc)))
    return drawn


def latency_time(
    curves: pd.DataFrame,
    palette: Palette,
    *,
    load_starts_s: float = 5,
    band: bool = True,
    settings: Sequence[Setting] = (),
    published: pd.DataFrame | None = None,
) -> Figure:
    """Latency over time of one link: one line per qdisc.

    `curves` is from metrics.latency_over_time. The band is the confidence interval of the
    point-wise mean, where there is one. A dashed vertical line marks the start of the load. With
    several `settings`, a panel each. `published` is from published.read_curves: hollow markers, and
    none beside New Reno.
    """
    first = of_setting(curves, settings[0]) if settings else curves
    top = common_top(float(first["rtt_ms"].max()), float(curves["rtt_ms"].max()))

    def draw(axes: Axes, setting: Setting | None = None) -> list[Label]:
        here = curves if setting is None else of_setting(curves, setting)
        labels = _lines(axes, here, palette, band)
        if published is not None and (setting is None or setting.cc == PUBLISHED_CC):
            for name, time_s, rtt_ms in zip(
                published["qdisc"], published["time_s"], published["value"], strict=True
            ):
                hollow(axes, time_s, rtt_ms, look(name).marker, palette.color(name), palette)
        axes.set_xlim(float(curves["time_s"].min()), float(curves["time_s"].max()))
        axes.set_ylim(0, top)
        axes.axvline(load_starts_s, color=palette.soft, linewidth=1, linestyle=DASHED, zorder=1)
        axes.annotate(
            "load starts", (load_starts_s, 1), xycoords=("data", "axes fraction"), xytext=(-5, -4),
            textcoords="offset points", ha="right", va="top", color=palette.soft, fontsize=10,
        )  # fmt: skip
        axes.set_xlabel("Time (s)")
        axes.set_ylabel("Round-trip time (ms)")
        return labels

    if len(settings) > 1:
        figure = grid(settings, palette, draw)
        qdisc_legend(figure, list(curves["qdisc"].astype(str)), palette)
        return figure
    figure = Figure(figsize=SIZE_INCH)
    axes = figure.add_subplot()
    figure.subplots_adjust(left=0.1, right=0.815, bottom=0.12, top=0.95)
    place_at_right(axes, draw(axes, *settings))
    return figure


def _lines(axes: Axes, curves: pd.DataFrame, palette: Palette, band: bool) -> list[Label]:
    """Draw a line per qdisc, and return their names at their ends."""
    labels = []
    for place, qdisc in enumerate(in_order(list(curves["qdisc"].astype(str)))):
        points = curves[curves["qdisc"] == qdisc].sort_values("time_s")
        time_s, rtt_ms = points["time_s"].to_numpy(), points["rtt_ms"].to_numpy()
        color = palette.color(qdisc)
        style = look(qdisc)
        (line,) = axes.plot(
            time_s, rtt_ms, color=color, linewidth=1.7, marker=style.marker, markersize=6,
            markeredgecolor=palette.paper, markeredgewidth=0.6, markevery=(5 + 4 * place, 25),
            zorder=3,
        )  # fmt: skip
        if style.dashes:
            line.set_dashes(style.dashes)
        if band:
            low, high = points["ci_low_ms"].to_numpy(), points["ci_high_ms"].to_numpy()
            axes.fill_between(time_s, low, high, color=color, alpha=0.13, linewidth=0, zorder=2)
        labels.append(Label(qdisc, float(time_s[-1]), float(rtt_ms[-1]), color))
    return labels


def describe_latency_goodput(per_run: pd.DataFrame, link: str, direction: str = "download") -> str:
    """The text that stands for latency_goodput where it cannot be seen."""
    column = GOODPUT[direction]
    medians = per_run.groupby("qdisc", observed=True)[[INDUCED, column]].median()
    points = [
        f"{qdisc} {row[INDUCED]:.3g} ms and {row[column]:.3g} Mbit/s"
        for qdisc, row in medians.sort_values(INDUCED).iterrows()
    ]
    return (
        f"Scatter plot of mean induced latency against mean TCP goodput at {link} Mbit/s, our "
        f"values beside the published ones. Ours, {direction}s: {'; '.join(points)}."
    )


def describe_latency_time(peaks: pd.DataFrame, link: str) -> str:
    """The text that stands for latency_time; `peaks` is from metrics.transient_metrics."""
    lines = [
        f"{qdisc} {peak:.3g} ms, {mean:.3g} ms"
        for qdisc, peak, mean in peaks.sort_values("peak_ms")[
            ["qdisc", "peak_ms", "mean_ms"]
        ].itertuples(index=False)
    ]
    return (
        f"Line plot of the round-trip time over the first seconds of load at {link} Mbit/s. Peak "
        f"and mean of each line: {'; '.join(lines)}."
    )


def _published_points(
    published: pd.DataFrame, directions: Sequence[str]
) -> dict[str, tuple[float, float]]:
    latency = published[published["metric"] == "induced_latency"].set_index("qdisc")["value"]
    goodput = published[
        (published["metric"] == "goodput") & published["direction"].isin(directions)
    ].set_index("qdisc")["value"]
    both = latency.index.intersection(goodput.index)
    return {str(qdisc): (float(latency[qdisc]), float(goodput[qdisc])) for qdisc in both}


def _pair(
    axes: Axes,
    qdisc: str,
    ours: tuple[float, float] | None,
    theirs: tuple[float, float] | None,
    palette: Palette,
) -> list[tuple[float, float]]:
    """Draw ours, theirs and the line between; return points that names must not cover."""
    color, marker = palette.color(qdisc), look(qdisc).marker
    if ours and theirs:
        axes.plot(*zip(ours, theirs, strict=True), color=color, linewidth=1.1, zorder=2)
    if theirs:
        axes.plot(
            *theirs, marker=marker, markersize=9, markerfacecolor=palette.paper,
            markeredgecolor=color, markeredgewidth=1.6, linestyle="none", zorder=3,
        )  # fmt: skip
    if ours:
        axes.plot(
            *ours, marker=marker, markersize=9, markerfacecolor=color,
            markeredgecolor=palette.paper, markeredgewidth=0.8, linestyle="none", zorder=4,
        )  # fmt: skip
    if ours and theirs:
        along = np.linspace(ours, theirs, 12)
        return [(float(x), float(y)) for x, y in along]
    return [point for point in (ours, theirs) if point]


def _ellipse(axes: Axes, x: pd.Series, y: pd.Series, color: str) -> list[EllipsePatch]:
    shape = covariance_ellipse(x, y)
    if shape is None:
        return []
    patch = EllipsePatch(
        shape.center, shape.width, shape.height, angle=shape.angle_deg,
        facecolor=(color, 0.22), edgecolor=(color, 0.55), linewidth=0.8, zorder=1,
    )  # fmt: skip
    axes.add_patch(patch)
    return [patch]


def _outline(ellipses: Sequence[EllipsePatch]) -> list[tuple[float, float]]:
    """Points along the ellipses, in data coordinates."""
    angle = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    points = [p for e in ellipses for p in e.get_patch_transform().transform(circle)]
    return [(float(x), float(y)) for x, y in points]


def _limits(axes: Axes, points: Sequence[tuple[float, float]], *, from_zero: bool) -> None:
    """Room around everything drawn; latency grows to the left and ends a little past zero."""
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


def _pair_legend(figure: Figure, palette: Palette, ours: str, theirs: bool, *, drawn: bool) -> None:
    """What filled, hollow and shade mean; the qdiscs are named beside their markers."""
    looks = [(palette.soft, 9, 1.0, ours)]
    if theirs:
        looks.append((palette.paper, 9, 1.0, "published"))
    if drawn:
        looks.append((palette.soft, 13, 0.35, "ours, 1-σ ellipse of runs"))
    handles = [
        Line2D(
            [], [], marker="o", markersize=size, linestyle="none", alpha=alpha,
            markerfacecolor=face, markeredgecolor=palette.soft, markeredgewidth=1.6,
        )
        for face, size, alpha, _ in looks
    ]  # fmt: skip
    names = [name for *_, name in looks]
    figure.legend(handles, names, loc="outside upper left", ncols=3, handletextpad=0.3)
