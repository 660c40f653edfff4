"""Tables for readers."""

import re
from typing import Any

import pandas as pd
import pytest

from qdisclab.analysis.site.tables import agreement, experiments_found, readable, sentence, texts


def test_runs_are_counted_by_experiment() -> None:
    columns = ["era", "cc", "experiment", "link", "qdisc", "seed", "run", "kernel_release"]
    rows = [
        ("2014", "cubic", "rrul", link, "codel", seed, f"{link}/{seed}", "6.12")
        for link in ("10/10", "10/1")
        for seed in (3, 1, 2)
    ]
    rows.append(("2014", "cubic", "voip", "10/1", "pie", 5, "voip", "7.2"))
    first, second = experiments_found(pd.DataFrame(rows, columns=columns)).to_dict("records")
    assert (first["experiment"], first["links"], first["qdiscs"], first["n_runs"]) == (
        "rrul",
        2,
        1,
        6,
    )
    assert (first["seeds"], first["kernel"]) == ("1–3", "6.12")
    assert (second["seeds"], second["n_runs"], second["kernel"]) == ("5", 1, "7.2")


def test_columns_of_any_table_have_headers_in_words() -> None:
    table = pd.DataFrame({"rate_mbit_s": [1.0], "qdisc_ms": [2.0], "cpu_s": [3.0], "p50": [4.0]})
    names = [*texts(table.assign(**{"Delay (ms)": 5.0})).columns]
    assert names == ["Rate (Mbit/s)", "Qdisc (ms)", "CPU (s)", "Median", "Delay (ms)"]


def test_columns_that_are_values_stay_as_they_are() -> None:
    rows = pd.DataFrame({"link": ["10/10"] * 2, "qdisc": ["fq_codel", "pie"], "ms": [1.0, 2.0]})
    pivoted = rows.pivot(index="link", columns="qdisc", values="ms")
    assert [*texts(pivoted).columns] == ["fq_codel", "pie"]


def table_of(rows: list[tuple[Any, Any, Any]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["published", "ours", "agrees"])


def test_a_value_that_does_not_agree_says_by_how_much_it_is_off() -> None:
    rows = [
        (9.28, 9.303, False), (100.0, 96.0, True), (100.0, 120.0, False), (100.0, 51.0, None),
        (35.0, 59.5, False), (0.0, 0.1, False), (None, 3.0, None),
    ]  # fmt: skip
    assert agreement(table_of(rows)) == [
        "within 5 %", "yes", "within 20 %", "within 50 %", "further off", "further off", "–",
    ]  # fmt: skip
    assert agreement(table_of([("127 packets", "1000 packets", False)])) == ["no"]


def test_a_sentence_is_computed() -> None:
    printed = table_of([(10.0, 10.0, True), (35.0, 59.5, False), (1.0, 0.1, True)])
    printed.insert(0, "qdisc", ["pie", "codel", "sfq"])  # sfq's is within the reading error
    assert sentence(printed) == (
        "Of 3 printed values 2 agree; of the others 1 further off. The median miss is 70 %, the "
        "greatest that of codel: 59.5 where 35 is printed."
    )
    rows = [("A", "pie", 3.0), ("A", "codel", 1.0), ("B", "codel", 0.5)]
    values = pd.DataFrame(rows, columns=["setting", "qdisc", "median_ms"])
    assert sentence(values) == "Median (ms), A: least 1 with codel, most 3 with pie."
    assert sentence(values[:1]) == ""
    assert sentence(pd.DataFrame({"note": ["x"]})) == ""
    printed.insert(0, "time_s", [5.0, 15.0, 20.0])
    assert "the greatest that of time (s) 15, codel: 59.5" in sentence(printed)


@pytest.mark.parametrize(
    ("of", "value", "words"),
    [
        ({"quantity": "Goodput (Mbit/s)"}, "mean", "Goodput (Mbit/s), mean"),
        ({"quantity": "induced_latency_ms"}, "p50", "Induced latency (ms), median"),
        ({"quantity": "Mean RTT of pings (ms)"}, "mean", "Mean RTT of pings (ms)"),
        ({"quantity": "induced latency", "unit": "ms"}, "effect", "Induced latency (ms), effect"),
        ({"metric": "induced_latency", "direction": "round_trip", "unit": "ms"}, "ours",
         "Latency (ms)"),
    ],
)  # fmt: skip
def test_a_sentence_says_what_was_measured(of: dict[str, str], value: str, words: str) -> None:
    values = pd.DataFrame({"x": [4, 4, 16], "qdisc": ["pie", "codel", "pie"], value: [3.0, 1.0, 9]})
    told = sentence(values.assign(**of))
    assert told == f"{words}, x = 4: least 1 with codel, most 3 with pie."


@pytest.mark.parametrize("published", [None, 12.0])
def test_published_columns_need_published_values(published: float | None) -> None:
    row = {
        "qdisc": "cake", "metric": "goodput", "direction": "download", "published": published,
        "reading_error": 0.5, "ours": 11.5, "difference": None, "ratio": None, "unit": "Mbit/s",
        "agrees": None, "n_seeds": 2, "ci_low": 11.0, "ci_high": 12.0, "allowed": None,
        "published_gap": None, "gap": None,
    }  # fmt: skip
    headers = list(texts(pd.DataFrame([row], dtype="object")))
    theirs = ["Published", "Difference", "Ratio", "Allowed ±", "Agrees"]
    assert [name for name in theirs if name in headers] == (theirs if published else [])
    assert "Ours" in headers


def test_a_notebook_shows_tables_whole() -> None:
    rows = pd.DataFrame({"qdisc": [f"q{number}" for number in range(200)], "text": "long " * 50})
    html = readable(rows)._repr_html_()
    assert html.count("<tr>") == 201  # the header's, too
    assert html.count(" ".join(["long"] * 50)) == 200


def test_words_are_aligned_to_the_left_and_numbers_are_not() -> None:
    rows = pd.DataFrame({"qdisc": ["codel"], "value": [1.23456], "agrees": [True]})
    html = readable(rows)._repr_html_()
    name = re.search(r"#(T_\w+)", html)
    assert name is not None
    assert f"#{name[1]} .col0" in html
    assert f"#{name[1]} .col1" not in html
    assert ">1.235<" in html
    assert "var(--yes" in html
    assert html == readable(rows)._repr_html_()  # the same bytes each time


def test_a_notebook_says_that_a_table_is_empty() -> None:
    rows = pd.DataFrame({"qdisc": []})
    assert readable(rows)._repr_html_() == "<p>None.</p>"
    assert readable(rows, "<No> probe.")._repr_html_() == "<p>&lt;No&gt; probe.</p>"
