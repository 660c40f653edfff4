"""The data file of a run: which it is, and runs whose data are a table, compared."""

from pathlib import Path

import pytest

from qdisclab.emulation import datafile
from qdisclab.emulation.checks import compare, verify
from qdisclab.emulation.checks.verify import Measured, Shipped
from qdisclab.emulation.runs.index import RunFile, run_file
from tests.data import provenances


def record(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder / "seed-001.json"


def table(folder: Path, *goodputs: float) -> Shipped:
    """A run whose table has these goodputs."""
    about = {"identity": {"kernel": {"series": "6.12"}}, "qdiscs": {}, "data_sha256": ""}
    run = provenances.made_up(folder, "testbed", "x", "modern", "-", "-", "-", **about)
    data = run.provenance.with_suffix(datafile.ROWS)
    rows = [{"quantity": "goodput_mbit_s", "value": value} for value in goodputs]
    datafile.write_rows([*rows, {"quantity": "ring_ms", "value": 1e6}], data)
    return Shipped.at(run_file(folder, run.provenance))


def test_rows_beside_a_flent_file_are_not_the_data(tmp_path: Path) -> None:
    told = record(tmp_path)
    flent, rows = (told.with_name(f"seed-001{end}") for end in (datafile.FLENT, datafile.ROWS))
    assert datafile.beside(told) == flent  # the one that is missing
    rows.touch()
    assert datafile.beside(told) == rows
    flent.touch()
    assert datafile.beside(told) == flent


def test_text_that_looks_like_a_number_stays_text(tmp_path: Path) -> None:
    rows = [{"below": "2014", "value": 1.5}, {"below": "bytes", "value": None}]
    datafile.write_rows(rows, tmp_path / "rows")
    assert datafile.read_rows(tmp_path / "rows") == rows


def nothing(run: RunFile) -> Measured:
    raise AssertionError("equal identity: bytes decide")


def test_tables_are_compared_byte_for_byte(tmp_path: Path) -> None:
    one, same, other = (
        table(tmp_path / name, *values)
        for name, values in (("a", (20, 30)), ("b", (20, 30)), ("c", (20, 31)))
    )
    assert verify.judge(one, same, nothing).equal
    verdict = verify.judge(one, other, nothing)
    assert (verdict.how, verdict.equal) == ("bytes", False)
    assert "metadata.rows[1].value: 30 against 31" in str(verdict)


def test_a_table_is_found_by_any_of_its_names(tmp_path: Path) -> None:
    data = table(tmp_path, 20).data
    for name in ("seed-001", "seed-001.json", data.name):
        assert compare.load(data.with_name(name)).data == data
    with pytest.raises(compare.ConfigError):
        compare.load(data.with_name("seed-002"))
