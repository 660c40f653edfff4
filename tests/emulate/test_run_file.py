"""`emulate run --run-file`, as a job of a cluster has it, with `--stale` and with `--reduced`."""

import json
from pathlib import Path

import pytest

from qdisclab.emulate.cli import main
from qdisclab.emulation import datafile
from qdisclab.emulation.config.catalogue import select
from qdisclab.emulation.config.request import write
from qdisclab.emulation.model.run import Experiment
from qdisclab.emulation.model.units import Duration
from qdisclab.emulation.runs.index import index


@pytest.mark.kernel
def test_the_runs_of_a_file_are_done_and_reduced(
    rrul: Experiment, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short = {"link": "10/1", "qdisc": "codel", "cc": "cubic", "length": Duration(5 * 10**9)}
    runs = select(rrul, seed=(1, 2), **short)
    (tmp_path / "runs.json").write_text(write(runs))
    words = ["run", "--run-file", str(tmp_path / "runs.json"), "--keep-going"]

    def run(folder: str, *options: str) -> str:
        assert main([*words, "--output", str(tmp_path / folder), *options]) == 0
        return capsys.readouterr().out

    assert run("data", "--stale").count(" s of wall time") == 2
    assert run("data", "--stale").count("there already") == 2
    first, second = (tmp_path / "data" / f"{each.id}.json" for each in runs)
    second.write_text(json.dumps({**datafile.read_json(second), "identity": {}}))
    assert f"{runs[1].id}: there already" not in (said := run("data", "--stale"))
    assert f"{runs[0].id}: there already" in said

    assert run("reduced", "--reduced").count(" s of wall time") == 2
    assert run("reduced", "--reduced", "--stale").count("there already") == 2
    kept = index(tmp_path / "reduced", rrul.paper).runs
    assert [(each.seed, each.is_reduced) for each in kept] == [(1, True), (2, True)]
    reduced, whole = datafile.read_json(kept[0].provenance), datafile.read_json(first)
    assert reduced["data_sha256"] == whole["data_sha256"]
    assert all(value > 0 for value in reduced[datafile.MEASURES].values())
