"""Panels: their grid, their axes and their legends."""

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from analysis.plots import panels, style
from analysis.runs.order import QDISC_ORDER
from analysis.runs.settings import Setting


@pytest.mark.parametrize(("eras", "ccs"), [(1, 1), (1, 2), (2, 1), (2, 2)])
def test_the_legend_of_qdiscs_is_on_the_page(eras: int, ccs: int) -> None:
    shown = [
        Setting(era, cc) for era in ("2014", "modern")[:eras] for cc in ("cubic", "reno")[:ccs]
    ]
    with style.styled() as palette:
        drawn = panels.grid(shown, palette, lambda axes, setting: axes.plot([0, 1], [0, 1]))
        panels.qdisc_legend(drawn, QDISC_ORDER, palette)
        renderer = FigureCanvasAgg(drawn).get_renderer()
        drawn.draw(renderer)
        box = drawn.legends[0].get_window_extent(renderer)
    assert drawn.bbox.x0 <= box.x0 and box.x1 <= drawn.bbox.x1


def test_qdiscs_have_their_colours_on_a_panel_of_the_upper_row() -> None:
    shown = [Setting("2014", "cubic"), Setting("modern", "cubic"), Setting("2014", "reno")]
    with style.styled() as palette:
        drawn = panels.grid(
            shown, palette, lambda axes, setting: panels.qdisc_ticks(axes, ["ared", "pie"], palette)
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
