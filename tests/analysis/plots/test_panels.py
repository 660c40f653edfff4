"""Panels: their grid, their axes and their legends."""

import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from qdisclab.analysis.plots import panels, style
from qdisclab.analysis.runs.order import QDISC_ORDER
from qdisclab.analysis.runs.settings import Setting

RUNS = pd.DataFrame(
    [("2014", "cubic", 1), ("2014", "cubic", 2), ("modern", "cubic", 1), ("2014", "reno", 1),
     ("2014", "reno", 3)],
    columns=["era", "cc", "seed"],
)  # fmt: skip


@pytest.mark.parametrize(("eras", "ccs"), [(1, 1), (1, 2), (2, 1), (2, 2)])
def test_the_legend_of_qdiscs_is_on_the_page(eras: int, ccs: int) -> None:
    shown = [
        Setting(era, cc) for era in ("2014", "modern")[:eras] for cc in ("cubic", "reno")[:ccs]
    ]
    with style.styled() as palette:
        drawn = panels.grid(shown, RUNS, lambda axes, setting: axes.plot([0, 1], [0, 1]))
        panels.qdisc_legend(drawn, QDISC_ORDER, palette)
        renderer = FigureCanvasAgg(drawn).get_renderer()
        drawn.draw(renderer)
        box = drawn.legends[0].get_window_extent(renderer)
    assert drawn.bbox.x0 <= box.x0 and box.x1 <= drawn.bbox.x1


def test_every_panel_of_a_grid_with_a_hole_can_be_read_and_says_what_is_one_run() -> None:
    shown = [Setting("2014", "cubic"), Setting("modern", "cubic"), Setting("2014", "reno")]
    with style.styled():
        drawn = panels.grid(shown, RUNS, lambda axes, setting: axes.set(xlabel="x", ylabel="y"))
        drawn.draw_without_rendering()
    panels_drawn = [axes for axes in drawn.axes if axes.get_visible()]
    titles = [axes.get_title("left") for axes in panels_drawn]
    assert titles == [
        "Linux of 2014, CUBIC", "today's Linux, CUBIC: one run", "Linux of 2014, New Reno"
    ]  # fmt: skip
    for axes in panels_drawn:
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("x", "y")
        for axis in (axes.xaxis, axes.yaxis):
            labels = [tick.label1 for tick in axis.get_major_ticks()]
            assert any(label.get_visible() and label.get_text() for label in labels)


@pytest.mark.parametrize(
    ("table", "said"),
    [({"n_seeds": [1, 1, None]}, "one run"), ({"n_seeds": [1, 2]}, ""), ({"n_seeds": [None]}, ""),
     ({"seed": [4, 4]}, "one run"), ({"seed": [4, 5]}, "")],
)  # fmt: skip
def test_one_run_is_said_where_no_cell_has_two(table: dict[str, list[int]], said: str) -> None:
    assert panels.one_run(pd.DataFrame(table)) == said


def test_qdiscs_have_their_colours_on_a_panel_of_the_upper_row() -> None:
    shown = [Setting("2014", "cubic"), Setting("modern", "cubic"), Setting("2014", "reno")]
    with style.styled() as palette:
        drawn = panels.grid(
            shown, RUNS, lambda axes, setting: panels.qdisc_ticks(axes, ["ared", "pie"], palette)
        )
        drawn.draw_without_rendering()
    colors = [tick.label1.get_color() for tick in drawn.axes[1].xaxis.get_major_ticks()]
    assert colors == [palette.color("ared"), palette.color("pie")]


def test_rows_are_named_from_the_top_in_their_colours() -> None:
    with style.styled() as palette:
        _, ((axes,),) = panels.panels(4, 3)
        panels.name_rows(axes, ["one", "two"], palette, ["#ff0000", "#0000ff"])
        assert not axes.lines
        panels.name_rows(axes, ["one", "two"], palette)
    low, high = axes.get_ylim()
    assert low > high
    assert [label.get_color() for label in axes.get_yticklabels()] == ["#ff0000", "#0000ff"]
    assert [list(line.get_ydata()) for line in axes.lines] == [[0.5, 0.5]]


def test_a_logarithmic_axis_has_plain_numbers() -> None:
    with style.styled():
        figure, ((axes,),) = panels.panels(4, 3)
        axes.set_xlim(0.05, 200)
        panels.log_axis(axes.xaxis, (1, 5))
        figure.draw_without_rendering()
    shown = [label.get_text() for label in axes.get_xticklabels()]
    assert set(shown) >= {"0.05", "0.1", "0.5", "1", "5", "10", "50", "100"}
    assert axes.get_yscale() == "linear"


def test_a_legend_says_what_filled_and_hollow_markers_are() -> None:
    with style.styled() as palette:
        figure, _ = panels.panels(4, 3)
        panels.fill_legend(figure, palette, "ours", "published")
    faces = [line.get_markerfacecolor() for line in figure.legends[0].legend_handles]
    assert faces == [palette.soft, palette.paper]
