"""Table 1: what the experiment sets is what the paper prints."""

import pytest

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.measures import parameters
from qdisclab.analysis.runs.study import study_at
from qdisclab.emulation.config.catalogue import experiment, select


def test_every_printed_parameter_is_in_force() -> None:
    printed = parameters.read_printed(study_at("gbw2015").folder / "published" / "table1.csv")
    table = parameters.compare(printed, experiment("gbw2015/rrul").points)
    assert len(table) == 46
    assert table["agrees"].all()


def test_another_value_is_shown_beside_the_printed_one() -> None:
    printed = parameters.read_printed(study_at("gbw2015").folder / "published" / "table1.csv")
    rrul = experiment("gbw2015/rrul")
    others = [point for point in rrul.points if point.qdisc != "ared"]
    ared = [
        run.point for run in select(rrul, qdisc="ared", seed=1, settings={"qdisc.min": ["1 B"]})
    ]
    table = parameters.compare(printed, [*others, *ared])
    off = table[~table["agrees"]]
    assert set(off["qdisc"]) == {"ared"}
    rows = parameters.laid_out(table).set_index(["qdisc", "parameter"])
    assert list(rows.index.unique("qdisc"))[:2] == ["pfifo_fast", "ared"]
    assert rows.loc[("ared", "min"), "10 Mbit/s"] == "1 B (12500 B)"
    assert "3028 B" in rows.to_numpy()


def test_another_file_is_refused() -> None:
    with pytest.raises(DataError, match="not a table of parameters"):
        parameters.read_printed(study_at("gbw2015").folder / "published" / "fig2.csv")
