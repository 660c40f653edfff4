"""Tests of `--raw`: what flent wrote is kept, and the data are made of it."""

import gzip
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from qdisclab.emulate.cli import main
from qdisclab.emulation import datafile
from qdisclab.emulation.checks.verify import Shipped, follows_from_raw, verify
from qdisclab.emulation.runs.index import run_file
from tests import ROOT

#: The cells of which what flent wrote ships, of seed 1: study, experiment, link, qdisc and control.
SHIPPED = (
    "battling2013/*@2013c-host_noise/*/*/*",
    "gbw2015/rrul@2014c/*/*/*",
    "gbw2015/rtt_fairness@2014c/10-10/*/cubic",
    "gbw2015/rtt_fairness@2014c/100-100/*/cubic",
    "gbw2015/rtt_fairness@2014c-host_noise/10-1/*/cubic",
    "gbw2015/wifi_rrul@2014d/100-100/*/cubic",
)

RUN = ["gbw2015/rrul", "--link=10/10", "--qdisc=codel", "--cc=cubic", "--seed=1", "--length=3"]


@pytest.mark.kernel
def test_what_flent_wrote_is_kept_and_the_data_are_the_same(tmp_path: Path) -> None:
    assert main(["run", *RUN, f"--output={tmp_path}/plain"]) == 0
    assert main(["run", *RUN, f"--output={tmp_path}/raw", "--raw"]) == 0
    plain, kept = (
        Shipped.at(run_file(folder, next(folder.glob("*/*/*/*/*/seed-001.json"))))
        for folder in (tmp_path / "plain", tmp_path / "raw")
    )
    assert plain.data.read_bytes() == kept.data.read_bytes()
    assert plain.record["identity"] == kept.record["identity"]
    assert plain.record["qdiscs"] == kept.record["qdiscs"]
    assert not plain.raw.exists()
    raw, data = (datafile.read_json(path) for path in (kept.raw, kept.data))
    assert sum(map(len, raw["raw_values"].values())) > 100
    assert not any(data["raw_values"].values())
    assert follows_from_raw(kept)

    raw["x_values"][0] += 1
    kept.raw.write_bytes(gzip.compress(json.dumps(raw).encode()))
    assert not follows_from_raw(kept)
    verdict = verify(kept, None, None, None)  # type: ignore[arg-type]  # before anything is booted
    assert (verdict.how, verdict.equal) == ("damaged", False)
    assert "is not what seed-001.raw.flent.gz gives" in str(verdict)

    # Asked for later, it is made by the same run again.
    shutil.move(kept.raw, tmp_path / "other")
    assert main(["run", *RUN, f"--output={tmp_path}/raw", "--raw"]) == 0
    assert follows_from_raw(kept) and kept.raw.exists()


def test_what_flent_wrote_ships_of_seed_1_of_these_cells_alone() -> None:
    cells = {
        path.with_suffix("") for one in SHIPPED for path in ROOT.glob(f"data/{one}/seed-001.json")
    }
    raw = {path.with_name("seed-001") for path in ROOT.glob("data/**/*.raw.flent.gz")}
    assert raw == cells
    assert len(raw) == 46 + 42 + 21 + 7


@pytest.mark.parametrize("cells", SHIPPED)
def test_data_follow_from_what_ships_raw(cells: str) -> None:
    for raw in ROOT.glob(f"data/{cells}/seed-001.raw.flent.gz"):
        run = run_file(ROOT / "data", raw.with_name("seed-001.json"))
        assert follows_from_raw(Shipped.at(run)), raw


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"\x1f\x8b broken", gzip.compress(b"[1, 2]", mtime=0)]
)
def test_what_is_no_file_of_flents_gives_no_data(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "seed-001.raw.flent.gz").write_bytes(content)
    data = tmp_path / "seed-001.flent.gz"
    data.write_bytes(gzip.compress(b"{}"))
    shipped = run_file(ROOT / "data", next(ROOT.glob("data/codel2012/**/seed-001.json")))
    damaged = replace(shipped, data=data, provenance=tmp_path / "seed-001.json")
    assert not follows_from_raw(Shipped(damaged, {}))


def test_other_programs_leave_nothing_raw(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = ["codel2012/window", "--seed=1", f"--output={tmp_path}", "--raw"]
    assert main(["run", *chosen]) == 2
    assert "flent does not write its data" in capsys.readouterr().err
