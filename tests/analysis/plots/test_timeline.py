"""Figures of programs over time."""

import pytest
from matplotlib.axes import Axes

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.plots import style, timeline
from qdisclab.analysis.runs.dataset import find_runs
from tests import ROOT


def test_the_rate_of_a_link_is_drawn_to_the_end_of_the_run() -> None:
    runs = find_runs(
        ROOT / "data", "links", ["satellite"], eras=["modern"], ccs=["cubic"], qdiscs=["cake"]
    )
    with style.styled() as palette:
        figure = timeline.over_time({"cake": runs[0]}, ["goodput_mbit_s", "rtt_ms"], palette, 60)
    goodput, rtt = figure.axes
    rate = goodput.get_lines()[-1]
    assert list(rate.get_ydata()) == [120, 60, 180, 90, 90]
    assert rate.get_xdata()[-1] > 59
    assert rtt.get_ylim()[0] == 0
    assert len(rtt.get_lines()) == 1


def test_many_runs_are_drawn_in_rows_with_the_same_axes() -> None:
    runs = find_runs(ROOT / "data", "links", ["lte"], eras=["modern"], ccs=["cubic", "bbr"])
    named = {f"{run.qdisc}, {run.cc}": run for run in runs if run.seed == 1}
    with style.styled() as palette:
        figure = timeline.over_time(dict([*named.items()][:5]), ["rtt_ms"], palette, 30)
    shown = [axes for axes in figure.axes if axes.get_visible()]
    places = [(one.rowspan.start, one.colspan.start) for one in map(Axes.get_subplotspec, shown)]
    assert places == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]
    assert len({axes.get_ylim() for axes in shown}) == 1
    assert all(axes.get_xlabel() for axes in shown)


def test_another_quantity_is_refused() -> None:
    with pytest.raises(DataError, match="quantities: unknown value 'goodput'"):
        timeline.curves({}, ["goodput"])
