"""Table 1: what the experiment sets is what the paper prints."""

from dataclasses import replace
from pathlib import Path

import pytest

from analysis import parameters, style
from analysis.errors import DataError
from emulation.config import experiment
from emulation.units import Size

PUBLISHED = Path(__file__).parents[1] / "data" / "published"


def test_every_printed_parameter_is_in_force() -> None:
    printed = parameters.read_printed(PUBLISHED / "gbw2015-table1.csv")
    table = parameters.compare(printed, experiment("gbw2015/rrul").cells)
    assert len(table) == 46
    assert table["agrees"].all()


def test_another_value_is_shown_beside_the_printed_one() -> None:
    printed = parameters.read_printed(PUBLISHED / "gbw2015-table1.csv")
    cells = []
    for cell in experiment("gbw2015/rrul").cells:
        options = {**dict(cell.down.options), "min": Size(1)}
        changed = replace(cell.down, options=tuple(options.items()))
        cells.append(replace(cell, down=changed) if cell.qdisc == "ared" else cell)
    table = parameters.compare(printed, cells)
    off = table[~table["agrees"]]
    assert set(off["qdisc"]) == {"ared"}
    assert "ared min at 10 Mbit/s 1 B" in parameters.describe_parameters(table)
    with style.styled() as palette:
        texts = [
            text.get_text() for text in parameters.parameter_table(table, palette).axes[0].texts
        ]
    assert "1 B (12500 B)" in texts
    assert "3028 B" in texts


def test_another_file_is_refused() -> None:
    with pytest.raises(DataError, match="not a table of parameters"):
        parameters.read_printed(PUBLISHED / "gbw2015-fig2.csv")
