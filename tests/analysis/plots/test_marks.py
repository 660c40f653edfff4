"""Marks: where points, intervals, bars and boxes stand, and which are hollow."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from qdisclab.analysis.plots import marks, style


@pytest.fixture
def axes() -> Axes:
    return Figure().add_subplot()


def where(axes: Axes) -> list[tuple[list[float], list[float]]]:
    """Return the points of all lines."""
    data = [(line.get_xdata(), line.get_ydata()) for line in axes.lines]
    return [(list(np.atleast_1d(x)), list(np.atleast_1d(y))) for x, y in data]


def test_a_point_has_its_interval_along_x_or_y(axes: Axes) -> None:
    with style.styled() as palette:
        marks.point(axes, 3, 1, "codel", palette, interval=(2, 5))
        marks.point(axes, 3, 1, "codel", palette, interval=(0, 4), upright=True, filled=False)
        marks.point(axes, 3, 1, "codel", palette, interval=(np.nan, np.nan))
        color, paper = palette.color("codel"), palette.paper
    assert where(axes) == [
        ([2, 5], [1, 1]), ([3], [1]), ([3, 3], [0, 4]), ([3], [1]), ([3], [1]),
    ]  # fmt: skip
    filled, hollow = axes.lines[1], axes.lines[3]
    assert (filled.get_markerfacecolor(), filled.get_markeredgecolor()) == (color, paper)
    assert (hollow.get_markerfacecolor(), hollow.get_markeredgecolor()) == (paper, color)
    assert {line.get_marker() for line in (filled, hollow)} == {style.look("codel").marker}


def test_points_of_a_row_stand_below_each_other_and_hollow_ones_lower(axes: Axes) -> None:
    cell = {"row": "b", "qdisc": "codel", "mean": 4.0, "ci_low": 1.0, "ci_high": 9.0}
    cells = [
        cell | {"filled": True},
        cell | {"filled": False},
        cell | {"qdisc": "pie", "filled": True},
    ]
    with style.styled() as palette:
        marks.points(
            axes, pd.DataFrame(cells), ["a", "b"], ["codel", "pie"], palette, shift=0.5, least=2
        )
    heights = [y[0] for x, y in where(axes) if len(x) == 1]
    places = np.array([0.25, 0.75, 1.25]) / 2 - 0.5
    assert heights == pytest.approx(1 + marks.SPREAD * places)
    assert [x for x, _ in where(axes) if len(x) == 2] == [[2, 9]] * 3  # not less than `least`


def test_bars_of_a_qdisc_stand_side_by_side_with_their_deviation_and_published_value(
    axes: Axes,
) -> None:
    cells = {("codel", "10 ms"): (2.0, 3.0), ("codel", "50 ms"): (4.0, float("nan"))}
    with style.styled() as palette:
        marks.bars(axes, cells, ["pie", "codel"], ["10 ms", "50 ms"], palette,
                   {("codel", "50 ms"): 5.0})  # fmt: skip
    first, second = axes.patches
    assert (first.get_height(), second.get_height()) == (2, 4)
    middle = (first.get_x() + second.get_x() + second.get_width()) / 2
    assert middle == pytest.approx(1)
    assert first.get_x() + first.get_width() < second.get_x()
    assert first.get_facecolor()[3] < second.get_facecolor()[3]  # pale to full
    (deviation,) = axes.collections
    assert deviation.get_segments()[0][:, 1].tolist() == [0, 5]  # no lower than zero
    (diamond,) = [line for line in axes.lines if line.get_marker() == "D"]
    assert (diamond.get_ydata()[0], diamond.get_markerfacecolor()) == (5, palette.paper)
    assert diamond.get_xdata()[0] == pytest.approx(second.get_x() + second.get_width() / 2)


def test_boxes_have_the_quartiles(axes: Axes) -> None:
    stats = {"med": 3, "q1": 2, "q3": 5, "whislo": 1, "whishi": 9, "fliers": [20.0]}
    with style.styled() as palette:
        marks.boxes(axes, [stats], [7.0], 0.5, palette.color("pie"), palette, filled=False)
    (box,) = axes.patches
    corners = box.get_path().get_extents()
    assert (corners.x0, corners.x1, corners.y0, corners.y1) == (6.75, 7.25, 2, 5)
    assert box.get_facecolor()[:3] == pytest.approx((1, 1, 1))
    assert ([7.0], [20.0]) in where(axes)
    assert ([6.75, 7.25], [3, 3]) in where(axes)


def test_a_line_has_the_dashes_of_its_qdisc(axes: Axes) -> None:
    with style.styled() as palette:
        marks.line(axes, [0, 1], [0, 1], "ared", palette)
        marks.reference(axes, 2, palette, upright=True)
    drawn, reference = axes.lines
    assert drawn.is_dashed()
    assert drawn.get_marker() == style.look("ared").marker
    assert list(reference.get_xdata()) == [2, 2]
