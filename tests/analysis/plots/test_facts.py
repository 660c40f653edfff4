"""Tables that describe, and the drawing of a rig."""

from pathlib import Path

import pytest

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.runs.published import read_facts
from qdisclab.analysis.runs.study import study_at
from qdisclab.emulation.config.catalogue import experiment
from qdisclab.emulation.errors import EmulationError
from studies.khademi2013.plots import rig as figures_rig


@pytest.mark.parametrize("number", [1, 3, 4])
def test_tables_of_khademi2013_are_whole(number: int) -> None:
    table = read_facts(study_at("khademi2013").folder / "published" / f"table{number}.csv")
    assert not table.map(str.strip).eq("").any().any()
    assert len(table.columns) >= 2


def test_a_file_that_is_no_table_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("one column\n1\n")
    with pytest.raises(DataError, match="one column"):
        read_facts(tmp_path / "one.csv")
    with pytest.raises(EmulationError, match="no such file"):
        read_facts(tmp_path / "none.csv")


def test_the_rig_is_drawn_from_the_senders_to_the_receivers() -> None:
    found = experiment("khademi2013/flows_4")
    topology = found.points[0].topology()
    columns = figures_rig.columns(topology)
    assert columns[0] == [f"sender{number}" for number in range(1, 5)]
    assert columns[1:5] == [["switch1"], ["aqm"], ["delay"], ["switch2"]]
    assert columns[5] == [f"receiver{number}" for number in range(1, 5)]
    at = {name: (float(x), 0.0) for x, column in enumerate(columns) for name in column}
    said = figures_rig.notes(topology, at)
    assert said == {2.5: "HTB, 10 Mbit/s:\nqueue under test", 3.0: "50 ms\neach way"}
