"""A calibrated testbed: halves by lot, and what a path's distance from the printed values is."""

import math
from pathlib import Path

import pandas as pd
import pytest

from studies.gbw2015.measures import calibration
from studies.gbw2015.measures.wifi_rigs import HALVES

FOLDER = Path(__file__).parents[3] / "studies" / "gbw2015" / "published"


def values(fitted: list[float], held: list[float]) -> pd.DataFrame:
    """What is printed is 1 everywhere."""
    halves = [HALVES[0]] * len(fitted) + [HALVES[1]] * len(held)
    figures = ["2a"] * len(fitted) + ["6b"] * len(held)
    return pd.DataFrame(
        {"figure": figures, "half": halves, "published": 1.0, "ours": fitted + held}
    )


def test_halves_are_those_of_the_rule_and_move_with_no_value(tmp_path: Path) -> None:
    counts = {
        name: calibration.halves(FOLDER / f"{name}.csv").count("fitted")
        for name in ("fig2", "fig6", "fig7")
    }
    assert counts == {"fig2": 22, "fig6": 50, "fig7": 25}  # by the rule of log/fixed.md
    table = pd.read_csv(FOLDER / "fig2.csv", dtype=str)
    table.assign(value="1", reading_error="9").to_csv(tmp_path / "fig2.csv", index=False)
    assert calibration.halves(tmp_path / "fig2.csv") == calibration.halves(FOLDER / "fig2.csv")


def test_a_path_is_chosen_by_one_half_and_judged_by_the_other() -> None:
    table = calibration.by_path(
        {"near": values([1.1] * 9, [3.0]), "far": values([2.0] * 9, [1.0])}
    ).set_index("path")
    assert table["fitted"]["near"] == pytest.approx(math.log(1.1))
    assert list(table["as_good"]) == [True, False]
    assert list(table["all"]) == pytest.approx([200, 0])


@pytest.mark.parametrize("ours", [100.0, 0.001, 0.0, -1.65])
def test_a_value_counts_as_twice_or_half_at_most(ours: float) -> None:
    """Induced latency below 0 as well, which a clock makes of an empty queue."""
    table = calibration.by_path({"one": values([ours, 1.0], [1.0])})
    assert table["fitted"][0] == pytest.approx(math.log(2) / 2)


def test_what_scatters_as_much_as_it_is_worse_fits_as_well() -> None:
    near, other = values([1.0, 1.0, 1.0, 1.0], [1.0]), values([1.3, 1.0, 1.0, 1.0], [1.0])
    assert calibration.by_path({"near": near, "other": other})["as_good"].all()
