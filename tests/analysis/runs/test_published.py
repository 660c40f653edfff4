"""Published values: complete, plausible, and refused when damaged."""

from pathlib import Path

import pytest

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.runs.order import QDISC_ORDER
from qdisclab.analysis.runs.published import PUBLISHED, nothing, read_published
from tests import ROOT

FIGURE_2 = ROOT / "studies/gbw2015/published/fig2.csv"


def test_figure_2_has_every_qdisc_and_quantity() -> None:
    table = read_published(FIGURE_2)
    assert len(table) == 7 * (2 + 2 + 3)
    for figure, link, directions in (
        ("2a", "100/100", {"round_trip", "one"}),
        ("2b", "10/10", {"round_trip", "one"}),
        ("2c", "10/1", {"round_trip", "download", "upload"}),
    ):
        rows = table[table["figure"] == figure]
        assert set(rows["link"]) == {link}
        for qdisc in QDISC_ORDER:
            assert set(rows.loc[rows["qdisc"] == qdisc, "direction"]) == directions


@pytest.mark.parametrize(
    ("figure", "qdisc", "direction", "value"),
    [
        ("2a", "pfifo_fast", "round_trip", 76.5),
        ("2a", "pie", "one", 87.2),
        ("2b", "fq_codel", "round_trip", 1.7),
        ("2c", "ared", "download", 6.75),
        ("2c", "ared", "upload", 0.78),
    ],
)
def test_values_of_figure_2(figure: str, qdisc: str, direction: str, value: float) -> None:
    table = read_published(FIGURE_2, figure, qdiscs=[qdisc])
    assert table.loc[table["direction"] == direction, "value"].tolist() == [value]


def test_goodput_does_not_exceed_the_link() -> None:
    table = read_published(FIGURE_2)
    goodput = table[table["metric"] == "goodput"]
    down, up = (goodput["link"].str.split("/").str[i].astype(float) for i in (0, 1))
    assert (goodput["value"] < down.where(goodput["direction"] != "upload", up)).all()


def test_unknown_figure_is_named_with_the_known_ones() -> None:
    with pytest.raises(DataError, match=r"fig2\.csv: no figure '9'\. It has 2a, 2b, 2c"):
        read_published(FIGURE_2, "9")


def test_unknown_qdiscs_are_named_with_the_known_ones() -> None:
    with pytest.raises(DataError, match=r"no value of fifa in figure '2a'\. It has ared, codel, "):
        read_published(FIGURE_2, "2a", qdiscs=["fifa"])


def test_damaged_table_is_refused(tmp_path: Path) -> None:
    damaged = tmp_path / "fig2.csv"
    damaged.write_text(FIGURE_2.read_text().replace(",ms,", ",s,"))
    with pytest.raises(DataError, match=r"fig2\.csv: not a table of published values"):
        read_published(damaged)


def test_a_figure_without_printed_values_has_a_row_a_quantity() -> None:
    table = nothing("9", "100/100", ["codel", "sfq"], ["download", "upload"])
    assert list(table.columns) == list(PUBLISHED.columns)
    assert len(table) == 2 * (1 + 2)
    assert table["value"].isna().all()
    assert set(table["direction"]) == {"round_trip", "download", "upload"}
