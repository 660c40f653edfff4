"""The figure of what results are by path: the order of the paths."""

import pandas as pd

from qdisclab.analysis.plots.style import styled
from studies.gbw2015.plots import noise

PATHS = ("card", "noise 1", "2014c", "noise 0.3", "noise 0")


def test_sizes_of_the_noise_come_first_and_in_their_order() -> None:
    rows = [
        (path, qdisc, "induced_latency_ms", 2, mean, mean - 1, mean + 1, mean, mean, 35.0)
        for qdisc, mean in (("codel", 50.0), ("ared", 20.0))
        for path in PATHS
    ]
    names = ["path", "qdisc", "quantity", "n_seeds", "mean", "ci_low", "ci_high", "least", "most"]
    table = pd.DataFrame(rows, columns=[*names, "published"])
    order = ["noise 0", "noise 0.3", "noise 1", "card", "2014c"]
    assert noise.in_path_order(table) == order
    with styled() as palette:
        (axes,) = noise.paths(table, palette, ["induced_latency_ms"]).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == [*order, "paper"]
    hollow = [line for line in axes.lines if line.get_markerfacecolor() == palette.paper]
    assert [float(line.get_xdata()[0]) for line in hollow] == [35.0, 35.0]
