"""Figures of programs over time."""

from analysis.plots import style, timeline
from analysis.runs.dataset import find_several
from tests import ROOT


def test_the_rate_of_a_link_is_drawn_to_the_end_of_the_run() -> None:
    runs = find_several(
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
