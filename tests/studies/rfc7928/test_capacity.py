"""The measure of a link that falls to a fifth, on packets made up."""

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.runs.dataset import RunFile
from qdisclab.emulation import datafile
from qdisclab.emulation.captures.packets import SCHEMA
from qdisclab.emulation.config.catalogue import experiment, select
from studies.rfc7928 import measures
from tests.data import provenances

BEGAN_S = 100.0


def run(root: Path, left_s: list[float], delay_ms: list[float], length: int = 1500) -> RunFile:
    """A run whose packets left so long after the load began."""
    (made,) = select(experiment("rfc7928/capacity"), qdisc="codel", seed=1)
    file = provenances.of_run(root, made, length_s=60.0)
    out_ns = pd.Series(left_s).add(BEGAN_S).mul(1e9).astype("int64")
    sojourn_ns = pd.Series(delay_ms).mul(1e6).astype("int64")
    rows = pd.DataFrame({"in_ns": out_ns - sojourn_ns, "out_ns": out_ns, "sojourn_ns": sojourn_ns})
    rows = rows.assign(fate="sent", length=length, source="a", target="b")
    table = pa.Table.from_pandas(rows.reindex(columns=SCHEMA.names, fill_value=0), SCHEMA)
    pq.write_table(table, file.provenance.with_suffix(measures.TABLE))
    began = {"program": "link", "time_s": 0.0, "began_ns": round(BEGAN_S * 1e9)}
    datafile.write_rows([began], file.provenance.with_suffix(datafile.ROWS))
    return file


def test_delay_after_the_fall_and_use_are_of_packets_that_left_then(tmp_path: Path) -> None:
    left_s = [5.0, 21.0, 29.0, 31.0, 59.0, 61.0]
    found = measures.capacity(run(tmp_path, left_s, [1, 20, 40, 500, 1, 1], 10**6))
    assert found["after_fall_ms"] == pytest.approx(30)
    # 10 Mbit/s for 40 s and 2 Mbit/s for 20 s are 440 Mbit, five packets of 1 MB are 40.
    assert found["used_percent"] == pytest.approx(100 * 40 / 440)


def test_a_run_that_ended_before_the_fall_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no packet left 20 s into the load"):
        measures.capacity(run(tmp_path, [5.0], [1.0]))
