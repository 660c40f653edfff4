"""Tables for readers."""

import pandas as pd

from qdisclab.analysis.site.tables import experiments_found


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
