"""Tests of analysis.measures.probed: tables of probes beside runs."""

from pathlib import Path

import pandas as pd
import pytest

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.measures import probed
from qdisclab.emulation.config.catalogue import experiment, select
from qdisclab.emulation.kinds.probes.probe import Probe, recorded


def test_tables_of_several_runs_are_one(tmp_path: Path) -> None:
    runs = select(experiment("gbw2015/rrul"), link="10/1", qdisc="codel", cc="cubic", seed=[1, 2])
    files = []
    for number, run in enumerate(runs):
        rows = [("client", 10**9 * at, number) for at in range(2)] + [("server", 0, 9)]
        table = pd.DataFrame(rows, columns=["node", "time_ns", "cwnd_packets"])
        table.to_parquet(tmp_path / f"{run.seed}.sockets.parquet")
        files.append((run, tmp_path / f"{run.seed}.sockets.parquet"))
    table = probed.tables(Probe.parse("sockets:client"), files)
    assert list(table["cwnd_packets"]) == [0, 0, 1, 1]
    assert list(table["time_s"]) == [0, 1, 0, 1]
    assert list(table["run"].unique()) == [run.id for run in runs]
    assert recorded(tmp_path / "1.json") == ["sockets"]


def test_what_is_no_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (run,) = select(experiment("gbw2015/rrul"), link="10/1", qdisc="codel", cc="cubic", seed=1)
    path = tmp_path / "a.qdisc.parquet"
    qdisc = Probe.parse("qdisc")
    with pytest.raises(DataError, match=r"no table of the probe 'qdisc'. Repeat the run with"):
        probed.tables(qdisc, [(run, path)])
    path.write_text("nothing")
    with pytest.raises(DataError, match=r"a\.qdisc\.parquet: is not a table"):
        probed.tables(qdisc, [(run, path)])
    with pytest.raises(DataError, match="a capture is not a table"):
        probed.tables(Probe.parse("capture"), [(run, path)])
    pd.DataFrame({"time_ns": [0, 1]}).to_parquet(path)
    monkeypatch.setattr(probed, "MOST_ROWS", 3)
    with pytest.raises(DataError, match="4 rows of 2 tables, more than 3"):
        probed.tables(qdisc, [(run, path), (run, path)])
