"""The figure of what results are by path: order of the paths, and where marks stand."""

import numpy as np
import pandas as pd
import pytest

from analysis.plots.style import styled
from studies.gbw2015.plots import noise

PATHS = ("card", "noise 1", "2014c", "noise 0.3", "noise 0")


@pytest.fixture
def table() -> pd.DataFrame:
    rows = [
        (path, qdisc, "induced_latency_ms", 2, mean, mean - 1, mean + 1, mean, mean, 35.0)
        for qdisc, mean in (("codel", 50.0), ("ared", 20.0))
        for path in PATHS
    ]
    names = ["path", "qdisc", "quantity", "n_seeds", "mean", "ci_low", "ci_high", "least", "most"]
    return pd.DataFrame(rows, columns=[*names, "published"])


def test_sizes_of_the_noise_come_first_and_in_their_order(table: pd.DataFrame) -> None:
    order = ["noise 0", "noise 0.3", "noise 1", "card", "2014c"]
    assert noise.in_path_order(table) == order
    with styled() as palette:
        (axes,) = noise.paths(table, palette, ["induced_latency_ms"]).axes
    assert [one.get_text() for one in axes.get_xticklabels()] == [
        "0", "0.3", "1", "card", "2014c", "paper"
    ]  # fmt: skip


def test_lines_are_over_the_noise_alone_and_qdiscs_stand_side_by_side(table: pd.DataFrame) -> None:
    with styled() as palette:
        (axes,) = noise.paths(table, palette, ["induced_latency_ms"]).axes
    over = [np.asarray(line.get_xdata()).tolist() for line in axes.lines]
    assert over.count([0, 1, 2]) == 2
    places = [tuple(place) for place in over if len(place) == 1]
    assert len(set(places)) == len(places) == 6  # of each qdisc card, 2014c and the paper
