"""Tests of studies.khademi2013.captures.table: the Parquet file of packets."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from studies.khademi2013.captures import table


def queued(rows: int) -> pd.DataFrame:
    """A table of packets that wait 5 ms; each seventh is dropped."""
    arrived = np.arange(rows) * 12
    return pd.DataFrame(
        {
            "arrived_100us": arrived,
            "left_100us": np.where(np.arange(rows) % 7, arrived + 50.0, np.nan),
            "flow": np.arange(rows) % 4,
            "length": 1514,
            "fate": np.where(np.arange(rows) % 7, 0, 2),
            "elsewhere_100us": np.where(np.arange(rows) % 2, 3.0, np.nan),
        }
    )


def test_a_table_is_written_small_and_equal_tables_equally(tmp_path: Path) -> None:
    written = queued(10_000)
    files = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for file in files:
        table.write(written, file)
    assert files[0].read_bytes() == files[1].read_bytes()
    assert files[0].stat().st_size < len(written)
    back = table.read(files[0])
    assert list(back) == list(table.COLUMNS)
    pd.testing.assert_frame_equal(back, written, check_dtype=False)


def test_times_are_stored_as_what_they_are_after_the_row_before(tmp_path: Path) -> None:
    table.write(queued(4), tmp_path / "a.parquet")
    stored = pq.read_table(tmp_path / "a.parquet").to_pydict()
    assert stored["arrived_after_100us"] == [0, 12, 12, 12]
    assert stored["left_after_100us"] == [None, 62, 12, 12]  # the first was dropped


def test_a_table_of_stations_has_whole_ms_and_directions(tmp_path: Path) -> None:
    written = queued(10_000)
    written[["arrived_100us", "left_100us"]] //= 10
    written[["arrived_100us", "left_100us"]] *= 10
    written["elsewhere_100us"] = written["arrived_100us"] % 1370 // 10 * 10 - 10
    written.loc[1::2, "elsewhere_100us"] = np.nan
    table.write(written, tmp_path / "a.parquet", downloads=3)
    stored = pq.read_table(tmp_path / "a.parquet")
    assert stored.schema.names == table.SCHEMA_STATIONS.names
    back = table.read(tmp_path / "a.parquet")
    assert back["up"].tolist() == (written["flow"] == 3).tolist()
    same = ["arrived_100us", "left_100us", "length", "fate"]
    pd.testing.assert_frame_equal(back[same], written[same], check_dtype=False)
    # Whole ms rounded down are off by half of one on average; so rounded, their truth is between.
    off = back["elsewhere_100us"] - written["elsewhere_100us"]
    assert set(off.dropna()) == {0, 10}
    assert off.isna().tolist() == written["elsewhere_100us"].isna().tolist()


def test_a_summary_is_of_what_there_is() -> None:
    found = table.summary(np.array([1e6, np.nan, 3e6, 2e6]))
    assert (found["p10"], found["p50"], found["most"]) == (1200, 2000, 3000)
    assert table.summary(np.array([np.nan])) == {}
