"""Points of a table, as a figure's page draws them."""

import os
from pathlib import Path

import pandas as pd
import pytest

from qdisclab.analysis.plots.style import forget_others
from qdisclab.analysis.site.gallery import collect
from qdisclab.analysis.site.outputs import Source, publish
from qdisclab.analysis.site.points import points
from qdisclab.analysis.site.report import grow


def test_printed_values_stand_beside_ours_and_other_linux() -> None:
    table = pd.DataFrame(
        {"link": "10/10", "qdisc": ["codel", "pfifo_fast"], "metric": "goodput", "unit": "ms",
         "published": [35.0, 102.5], "ours": [59.1, 94.25631], "ci_low": [47.0, None],
         "ci_high": [66.0, None], "ratio": [1.7, 0.9], "n_seeds": 5,
         "today's Linux, CUBIC": [None, 93.2]}
    )  # fmt: skip
    drawn = points(table, "Linux of 2014c, CUBIC")
    assert drawn
    assert drawn["quantities"] == ["Value"]
    qdiscs, whose = drawn["names"]
    assert qdiscs["values"] == ["pfifo_fast", "codel"]
    assert len(qdiscs["colors"]) == 2 and not whose["colors"]
    assert whose["values"] == [
        "Published", "Linux of 2014, by its code, CUBIC", "today's Linux, CUBIC"
    ]  # fmt: skip
    assert (drawn["linux"], drawn["stops"]) == (1, [1, 2])
    assert drawn["along"] == 1
    assert drawn["points"] == [
        [0, 1, 0, 35.0], [0, 0, 0, 102.5],
        [0, 1, 1, 59.1, 47.0, 66.0], [0, 0, 1, 94.2563],
        [0, 0, 2, 93.2],
    ]  # fmt: skip


def test_a_column_of_numbers_is_a_quantity_and_a_parameter_is_along_the_axis() -> None:
    table = pd.DataFrame(
        {"base_rtt_ms": [10, 30], "qdisc": "red", "samples": 7, "median_ms": [1.5, 2],
         "mean_ms": [1.25, 3], "interval": ["1 to 1.5", "–"], "loss_percent": [0, 0.5]}
    )  # fmt: skip
    drawn = points(table)
    assert drawn
    assert drawn["quantities"] == ["Median (ms)", "Mean (ms)", "Loss (%)"]
    assert [name["label"] for name in drawn["names"]] == ["Base round trip (ms)"]
    assert [1, 0, 1.25, 1.0, 1.5] in drawn["points"]
    assert [1, 1, 3.0] in drawn["points"]


@pytest.mark.parametrize(
    ("column", "quantity", "words"),
    [
        ("p50", "Round-trip time (ms)", "Round-trip time (ms): Median"),
        ("ours", "induced_latency_ms", "Induced latency (ms)"),
    ],
)
def test_a_quantity_of_all_rows_is_named(column: str, quantity: str, words: str) -> None:
    table = pd.DataFrame({"qdisc": ["pie", "red"], "quantity": quantity, column: [105.4, 107]})
    drawn = points(table)
    assert drawn and drawn["quantities"] == [words]


def test_runs_are_told_apart_by_their_seeds() -> None:
    table = pd.DataFrame(
        {"run": ["a", "b", "c"], "era": ["2014c", "2014c", "modern"], "qdisc": "red",
         "seed": [1, 2, 1], "rtt_ms": [5.5, 6, 7]}
    )  # fmt: skip
    drawn = points(table)
    assert drawn
    linux, seed = drawn["names"]
    assert linux["values"] == ["Linux of 2014, by its code", "today's Linux"]
    assert (drawn["linux"], drawn["stops"], drawn["seed"]) == (0, [0, 1], 1)
    assert seed["values"] == ["1", "2"]
    assert drawn["points"] == [[0, 0, 0, 5.5], [0, 0, 1, 6.0], [0, 1, 0, 7.0]]


def test_curves_are_drawn_beside_the_table(tmp_path: Path) -> None:
    curves = pd.DataFrame(
        {"era": "modern", "qdisc": ["codel", "pie", "codel"], "time_s": [0.0, 0.0, 0.2],
         "rtt_ms": [50, 51, 80.123456], "ci_low_ms": [49, None, 70], "ci_high_ms": [51, None, 90]}
    )  # fmt: skip
    publish(
        None, pd.DataFrame({"qdisc": ["codel"], "mean": [80.0]}), Source("gbw2015"),
        figure="7b", title="T", caption="C", output=str(tmp_path / "gbw2015/fig7b"), series=curves,
    )  # fmt: skip
    (shown,) = collect(tmp_path)
    assert [table.name for table in shown.tables] == ["table.csv", "series.csv"]
    assert list(shown.charts) == ["Over time"]  # a table of one row is none
    drawn = shown.charts["Over time"]
    assert drawn["quantities"] == ["RTT (ms)"]
    assert [name["label"] for name in drawn["names"]] == ["Qdisc", "Time (s)"]
    assert drawn["along"] == 1
    assert drawn["points"] == [
        [0, 1, 0, 50.0, 49.0, 51.0], [0, 0, 0, 51.0], [0, 1, 1, 80.123, 70.0, 90.0]
    ]  # fmt: skip


def test_colours_of_a_page_do_not_depend_on_pages_before_it(tmp_path: Path) -> None:
    for figure in ("1", "2"):
        new = [f"new_{figure}_{number}" for number in range(9)]  # more than colours
        publish(
            None, pd.DataFrame({"qdisc": new, "mean": range(9)}), Source("gbw2015"),
            figure=figure, title="T", caption="C", output=str(tmp_path / f"gbw2015/fig{figure}"),
        )  # fmt: skip
    drawn = []
    for step in (1, -1):
        forget_others()
        drawn.append({shown.name: shown.charts for shown in collect(tmp_path)[::step]})
    assert drawn[0] == drawn[1]


def test_a_page_that_is_newer_than_its_figure_stays_while_others_are_drawn(tmp_path: Path) -> None:
    for figure in ("1", "2"):
        publish(
            None, pd.DataFrame({"qdisc": ["codel"], "mean": [80.0]}), Source("gbw2015"),
            figure=figure, title="T", caption="C", output=str(tmp_path / f"gbw2015/fig{figure}"),
        )  # fmt: skip
    pages = [tmp_path / f"gbw2015/fig{figure}/index.html" for figure in ("1", "2")]
    for page in pages:
        page.write_text("of before")
    os.utime(pages[1], (0, 0))
    grow(tmp_path)
    assert [page.read_text() == "of before" for page in pages] == [True, False]


@pytest.mark.parametrize(
    "table",
    [{"Claim": ["a"], "Statement": ["b"]}, {"qdisc": ["red", "red"], "mean": [1, 2]},
     {"parameter": ["a", "b"], "published": ["1 s", "2 s"], "ours": ["1 s", "2 s"]}],
)  # fmt: skip
def test_a_table_without_names_or_numbers_is_not_drawn(table: dict[str, list[object]]) -> None:
    assert points(pd.DataFrame(table)) is None
