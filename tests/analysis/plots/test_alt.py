"""Texts that stand for figures."""

import pandas as pd

from qdisclab.analysis.plots.alt import describe


def test_a_row_has_its_name_and_its_numbers_with_units() -> None:
    table = pd.DataFrame(
        [("codel", "10/1", 35.04, 9.0), ("codel", "10/1", 40.0, 9.2), ("pie", "10/1", 55, None)],
        columns=["qdisc", "link", "ms", "rate"],
    )
    units = {"ms": " ms", "rate": " Mbit/s"}
    text = describe("Points; medians", table.iloc[1:], ["qdisc", "link"], units)
    assert text == "Points; medians: codel 10/1 40 ms, 9.2 Mbit/s; pie 10/1 55 ms."
    assert "codel 37.5 ms" in describe("Points", table, ["qdisc"], {"ms": " ms"})
    most = describe("Points", table, ["qdisc"], {"ms": " ms"}, how="max")
    assert most == "Points: codel 40 ms; pie 55 ms."
