"""Tables for readers."""

import pandas as pd

from qdisclab.analysis.site.tables import experiments_found, texts


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
