"""Tables of predictions: what they hold, how they are filled in, what is refused."""

import csv
import math
from pathlib import Path

import pandas as pd
import pytest

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.measures import prediction
from qdisclab.analysis.measures.registry import metrics
from qdisclab.analysis.runs.study import StudyFolder, study_at
from qdisclab.emulation.config import catalogue
from tests import ROOT

STUDIES = ("bbr2016", "cake2016", "codel2020")


def table(**changes: str) -> pd.DataFrame:
    row = dict.fromkeys(prediction.PREDICTED.columns, "")
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
    [({"sure": "very"}, "row 1: sure is 'very'"), ({"extra": "1"}, "an extra column 'extra'")],
)
def test_another_table_is_refused(tmp_path: Path, changes: dict[str, str], what: str) -> None:
    table().assign(**changes).to_csv(tmp_path / prediction.FILE, index=False)
    with pytest.raises(DataError, match=what):
        prediction.read(tmp_path / prediction.FILE)


def test_a_number_is_predicted_once(tmp_path: Path) -> None:
    pd.concat([table(), table()]).to_csv(tmp_path / prediction.FILE, index=False)
    with pytest.raises(DataError, match="appears twice"):
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


def test_a_prediction_is_within_a_share_or_a_margin_of_what_was_measured(tmp_path: Path) -> None:
    """The idle path's bias is added to induced latencies alone, and the share is of the rest."""
    rows = [
        ("icmp_induced_mean", "ms", "12", "10.2"),  # and 1.5 of bias: 0.3 off
        ("icmp_idle_median", "ms", "12", "10.2"),
        ("goodput", "Mbit/s", "84.9", "100"),
        ("drops", "1", "2", "0"),
        ("jain", "1", "1", "0.8"),
    ]
    (tmp_path / "study.yaml").write_text("")
    lines = [
        ",".join(("c", metric, "up", unit, "w", "1", "s/e/1-1/pie/cubic", "n", value, "", "", "5"))
        + ",high,"
        for metric, unit, value, _ in rows
    ]
    (tmp_path / prediction.FILE).write_text(
        "\n".join([",".join(prediction.PREDICTED.columns), *lines])
    )
    theirs = [f"c,{metric},up,{value}" for metric, _, _, value in rows]
    text = "\n".join(["cell,metric,direction,value", *theirs, "c,icmp_bias,,1.5"])
    (tmp_path / "measured.csv").write_text(text)
    table = prediction.beside(StudyFolder(tmp_path))
    assert list(table["within"]) == [True, False, False, True, False]
    assert list(table["within_raw"]) == [False, False, False, True, False]
    assert list(table["qdisc"]) == ["pie"] * 5
    (latency,) = prediction.scores(table[:2], ["quantity"]).itertuples()
    assert (latency.numbers, latency.within, latency.within_raw) == (2, 1, 0)
    assert latency.median_percent == pytest.approx(50 * (12 / 11.7 - 1 + 12 / 10.2 - 1))


def test_of_483_predictions_407_are_within_the_bounds() -> None:
    """As somebody else counted, with code of their own."""
    table = pd.concat([prediction.beside(study_at(name)) for name in STUDIES])
    assert (len(table), table["within"].sum()) == (483, 407)
    share = (table["ours"] - table["raw"]).abs() <= prediction.SHARE * table["raw"]
    assert share.sum() == 315
