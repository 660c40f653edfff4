"""Tables of predictions: what they hold, how they are filled in, what is refused."""

import csv
import math
from pathlib import Path

import pandas as pd
import pytest

from analysis.errors import DataError
from analysis.measures import prediction
from analysis.measures.registry import metrics
from emulation.config import catalogue
from tests import ROOT

STUDIES = ("bbr2016", "cake2016", "codel2020")


def table(**changes: str) -> pd.DataFrame:
    row = dict.fromkeys(prediction.PREDICTED, "")
    row |= {
        "cell": "c",
        "metric": "goodput",
        "direction": "up",
        "n_runs": "2",
        "run": "s/e/1-1/q/cc",
    }
    return pd.DataFrame([row | {"number": "up_goodput_mbit_s", "sure": "high"} | changes])


def test_a_value_is_the_mean_of_the_seeds_and_its_interval_that_of_new_runs() -> None:
    """Student's 0.975 quantile of two degrees of freedom is 4.3027."""
    numbers = {"s/e/1-1/q/cc": [{"up_goodput_mbit_s": value} for value in (1.0, 2.0, 3.0)]}
    (row,) = prediction.predict(table(), numbers).itertuples()
    assert (row.value, row.seeds) == (2, 3)
    half = 4.30265 * 1.0 * math.sqrt(1 / 3 + 1 / 2)
    assert (row.low, row.high) == pytest.approx((2 - half, 2 + half), rel=1e-5)


def test_what_no_run_predicts_has_no_value() -> None:
    (row,) = prediction.predict(table(run="", number="", sure="none"), {}).itertuples()
    assert math.isnan(row.value)
    with pytest.raises(DataError, match="line 2 names no run"):
        prediction.predict(table(run=""), {})


@pytest.mark.parametrize("seeds", [[], [{"up_goodput_mbit_s": 1.0}, {}]])
def test_a_number_that_is_not_there_is_named(seeds: list[dict[str, float]]) -> None:
    with pytest.raises(DataError, match=r"'up_goodput_mbit_s' of s/e/1-1/q/cc is in \d of \d runs"):
        prediction.predict(table(), {"s/e/1-1/q/cc": seeds})


@pytest.mark.parametrize(
    ("changes", "what"),
    [({"sure": "very"}, "sure: 'very'"), ({"extra": "1"}, "columns cell")],
)
def test_another_table_is_refused(tmp_path: Path, changes: dict[str, str], what: str) -> None:
    table().assign(**changes).to_csv(tmp_path / prediction.FILE, index=False)
    with pytest.raises(DataError, match=what):
        prediction.read(tmp_path / prediction.FILE)


def test_a_number_is_predicted_once(tmp_path: Path) -> None:
    pd.concat([table(), table()]).to_csv(tmp_path / prediction.FILE, index=False)
    with pytest.raises(DataError, match="predicted twice"):
        prediction.read(tmp_path / prediction.FILE)


@pytest.mark.parametrize("study", STUDIES)
def test_each_row_of_the_shipped_tables_is_about_runs_of_its_study(study: str) -> None:
    folder = ROOT / "studies" / study
    rows = list(csv.DictReader((folder / prediction.FILE).read_text().splitlines()))
    cells = {
        run.id.rpartition("/")[0]
        for experiment in catalogue.load(folder).experiments
        for run in catalogue.select(experiment)
    }
    assert {row["run"] for row in rows} - {""} <= cells
    assert all((row["run"] == "") == (row["sure"] == "none") for row in rows)
    assert {row["number"] for row in rows if row["run"]} <= metrics().keys()
    assert all(row["why"] for row in rows)
