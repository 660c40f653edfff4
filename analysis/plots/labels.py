"""Names beside points and lines, placed so that none covers another."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox

from analysis.runs.flentfile import Floats

NEAR_PT: Final = 11.0  # from a point to the nearest place for its name
RINGS: Final = 7  # how many distances are tried, each RING_PT further out
RING_PT: Final = 9.0
MARKER_PT: Final = 5.5  # half a marker, kept clear of names
LEADER_FROM_PT: Final = 16.0  # names further away than this get a line to their point


@dataclass(frozen=True)
class Label:
    """A name for the point (x, y) in data coordinates."""

    text: str
    x: float
    y: float
    color: str


def place_beside(
    axes: Axes, labels: Sequence[Label], obstacles: Sequence[tuple[float, float]], size: float = 11
) -> list[Annotation]:
    """Write each name near its point, clear of the other names and of all `obstacles`.

    `obstacles` are points in data coordinates that names must not cover (all markers, and points
    along drawn lines). Limits of the axes must be final, and the figure laid out. Names that cannot
    stay near get a thin line to their point, which is kept clear in the same way. Where no clear
    place exists, the place with the least overlap is taken.
    """
    renderer = _renderer(axes)
    dots = axes.transData.transform(np.asarray(obstacles, dtype=np.float64).reshape(-1, 2))
    frame = axes.get_window_extent(renderer).padded(-2)
    pixel_per_pt = axes.figure.dpi / 72
    taken: list[Bbox] = []
    placed = []
    crowded = sorted(labels, key=lambda label: -_neighbours(axes, label, dots))
    for label in crowded:
        note = axes.annotate(
            label.text, (label.x, label.y), xytext=(0, 0), textcoords="offset points",
            ha="center", va="center", color=label.color, fontsize=size, fontweight="bold",
        )  # fmt: skip
        box = note.get_window_extent(renderer)
        anchor = axes.transData.transform((label.x, label.y))
        costs = {
            centre: _cost(
                _moved(box, anchor, centre, pixel_per_pt), anchor, taken, dots, frame, pixel_per_pt
            )
            for centre in _candidates(box.width / pixel_per_pt, box.height / pixel_per_pt)
        }
        best = min(costs, key=lambda centre: (costs[centre], float(np.hypot(*centre))))
        where = _moved(box, anchor, best, pixel_per_pt)
        taken.append(where.padded(1))
        note.set_position(best)
        way = _way(where, anchor, pixel_per_pt)
        if len(way):
            axes.plot(
                *axes.transData.inverted().transform(way[[0, -1]]).T,
                color=label.color, linewidth=0.7, alpha=0.7, zorder=1.5,
            )  # fmt: skip
            dots = np.vstack([dots, way])
        placed.append(note)
    return placed


def place_at_right(axes: Axes, labels: Sequence[Label], size: float = 11) -> list[Annotation]:
    """Write names in the right margin, in the order of their y, spread so that none overlap.

    Each is joined by a thin line to the right end of its curve, (x, y). The axes must be where they
    stay.
    """
    frame = axes.get_window_extent()
    height = 1.35 * size * axes.figure.dpi / 72
    order = sorted(labels, key=lambda label: label.y)
    wanted = np.asarray([axes.transData.transform((label.x, label.y))[1] for label in order])
    spread = _spread(wanted, height, frame.y0 + height / 2, frame.y1 - height / 2)
    notes = []
    for label, pixel_y in zip(order, spread, strict=True):
        fraction = (pixel_y - frame.y0) / frame.height
        notes.append(
            axes.annotate(
                label.text, (label.x, label.y), xytext=(1.035, fraction),
                textcoords="axes fraction", ha="left", va="center", color=label.color,
                fontsize=size, fontweight="bold", annotation_clip=False,
                arrowprops={
                    "arrowstyle": "-", "color": label.color, "linewidth": 0.8,
                    "relpos": (0, 0.5), "shrinkA": 2, "shrinkB": 1,
                },
            )
        )  # fmt: skip
    return notes


def _renderer(axes: Axes) -> RendererBase:
    canvas = FigureCanvasAgg(axes.figure.get_figure(root=True))
    renderer: RendererBase = canvas.get_renderer()  # type: ignore[no-untyped-call]
    return renderer


def _neighbours(axes: Axes, label: Label, dots: Floats) -> int:
    distance = np.hypot(*(dots - axes.transData.transform((label.x, label.y))).T)
    return int((distance < 60).sum())


def _candidates(width: float, height: float) -> list[tuple[float, float]]:
    """Return where a text may be around its point, in points: sixteen directions, growing rings."""
    centres = []
    for ring in range(RINGS):
        away = NEAR_PT + RING_PT * ring
        for angle in np.linspace(0, 2 * np.pi, 16, endpoint=False):
            across, up = float(np.cos(angle)), float(np.sin(angle))
            centres.append((across * (away + width / 2), up * (away + height / 2)))
    return centres


def _moved(box: Bbox, anchor: Floats, centre: tuple[float, float], pixel_per_pt: float) -> Bbox:
    x = anchor[0] + centre[0] * pixel_per_pt - box.width / 2
    y = anchor[1] + centre[1] * pixel_per_pt - box.height / 2
    return Bbox.from_bounds(x, y, box.width, box.height)


def _cost(
    box: Bbox,
    anchor: Floats,
    taken: Sequence[Bbox],
    dots: Floats,
    frame: Bbox,
    pixel_per_pt: float,
) -> float:
    grown = box.padded(MARKER_PT * pixel_per_pt)
    inside = (
        (dots[:, 0] > grown.x0) & (dots[:, 0] < grown.x1)
        & (dots[:, 1] > grown.y0) & (dots[:, 1] < grown.y1)
    )  # fmt: skip
    overlap = sum(1 for other in taken if other.overlaps(box.padded(2)))
    outside = not (
        frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 and box.y1 <= frame.y1
    )
    way = _way(box, anchor, pixel_per_pt)
    crossed = 0
    if len(way):  # but for what is at the point itself
        through = sum(1 for other in taken if other.count_contains(way))
        crossed = 3 * through
        away = dots[np.hypot(*(dots - anchor).T) > MARKER_PT * pixel_per_pt]
        apart = np.hypot(*(away[:, None] - way[None]).T)
        crossed += int((apart.min(axis=0, initial=np.inf) < MARKER_PT * pixel_per_pt).sum())
    return 3.0 * float(inside.sum()) + 40.0 * overlap + 50.0 * outside + 3.0 * crossed


def _way(box: Bbox, anchor: Floats, pixel_per_pt: float) -> Floats:
    """Return pixels along the line from a point to its name; none where the name is near."""
    end = np.clip(anchor, box.min, box.max)
    gap_pt = float(np.hypot(*(end - anchor))) / pixel_per_pt
    if gap_pt <= LEADER_FROM_PT:
        return np.empty((0, 2))
    return np.linspace(anchor, end, 2 + int(gap_pt / MARKER_PT))


def _spread(wanted: Floats, height: float, low: float, high: float) -> Floats:
    """Return positions near `wanted`, which rises, at least `height` apart, in [low, high]."""
    spread = np.clip(wanted, low, high)
    for _ in range(200):
        gaps = np.diff(spread)
        short = np.flatnonzero(gaps < height - 1e-6)
        if short.size == 0:
            break
        for i in short:
            push = (height - (spread[i + 1] - spread[i])) / 2
            spread[i] -= push
            spread[i + 1] += push
        spread = np.clip(spread, low, high)
    return spread
