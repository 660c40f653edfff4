"""Table 1: what the experiment sets is what the paper prints."""

import pytest

from analysis.errors import DataError
from analysis.measures import parameters
from analysis.plots import parameters as figures_parameters, style
from analysis.runs.study import open_study
from emulation.config.catalogue import experiment, select


def test_every_printed_parameter_is_in_force() -> None:
    printed = parameters.read_printed(open_study("gbw2015").published / "table1.csv")
    table = parameters.compare(printed, experiment("gbw2015/rrul").points)
    assert len(table) == 46
    assert table["agrees"].all()


def test_another_value_is_shown_beside_the_printed_one() -> None:
    printed = parameters.read_printed(open_study("gbw2015").published / "table1.csv")
    rrul = experiment("gbw2015/rrul")
    others = [point for point in rrul.points if point.qdisc != "ared"]
    ared = [
        run.point for run in select(rrul, qdisc="ared", seed=1, settings={"qdisc.min": ["1 B"]})
    ]
    table = parameters.compare(printed, [*others, *ared])
    off = table[~table["agrees"]]
    assert set(off["qdisc"]) == {"ared"}
    assert "ared min at 10 Mbit/s 1 B" in figures_parameters.describe_parameters(table)
    with style.styled() as palette:
        texts = [
            text.get_text()
            for text in figures_parameters.parameter_table(table, palette).axes[0].texts
        ]
    assert "1 B (12500 B)" in texts
    assert "3028 B" in texts


def test_another_file_is_refused() -> None:
    with pytest.raises(DataError, match="not a table of parameters"):
        parameters.read_printed(open_study("gbw2015").published / "fig2.csv")
