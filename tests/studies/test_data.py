"""The shipped data: whole, unchanged, of one kernel, and within its size."""

import csv
import gzip
import hashlib
import json
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from matplotlib import image

from qdisclab.analysis.claims.plugin import rules_of
from qdisclab.analysis.runs import study
from qdisclab.emulation import datafile
from qdisclab.emulation.runs.index import index
from tests import captured
from workflow import checksums

ALL_MIB = 298  # what all runs may take
RRUL_MIB = 25  # what data/gbw2015/rrul may take
# What all wired runs of gbw2015 may take, of 2014 and of today's two kernels, but for
WIRED_MIB = 93
CHANGED_MIB = 68  # those of an era with something more or less, as what decides, with its clock
KHADEMI_MIB = 52  # what the wired runs of khademi2013 may take, with the tables of all packets
WIFI_MIB = 46  # what all runs over WiFi may take, each of the two papers over two links


@pytest.fixture(scope="module")
def data(root: Path) -> Path:
    return root / "data"


def test_every_file_has_its_checksum(data: Path) -> None:
    assert (data / checksums.NAME).read_text() == checksums.text(data), (
        "python -m workflow.checksums"
    )


def test_each_log_is_of_a_run_and_each_run_has_one(data: Path) -> None:
    assert checksums.without_run(data) == [], "python -m workflow.checksums"
    named = [
        json.loads(path.read_text())["kernel_log_sha256"]
        for path in data.glob("*/*/*/*/*/seed-*.json")
    ]
    logs = {path.name: path for path in (data / "kernel-logs").iterdir()}
    assert {f"{sha256[:16]}.log.gz" for sha256 in named} == {*logs}
    for sha256 in set(named):
        log = gzip.decompress(logs[f"{sha256[:16]}.log.gz"].read_bytes())
        assert hashlib.sha256(log).hexdigest() == sha256


@pytest.mark.parametrize(("word", "status"), [("--help", 0), ("data", 2)])
def test_checksums_are_not_written_at_another_word(
    word: str, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checksums, "DATA", tmp_path)
    with pytest.raises(SystemExit) as ended:
        checksums.main([word])
    assert ended.value.code == status
    assert not list(tmp_path.iterdir())


def test_what_the_papers_say_has_its_checksum(root: Path) -> None:
    folder = root / "studies"
    lines = (folder / "SHA256SUMS").read_text().splitlines()
    found = [*folder.glob("*/claims.csv"), *folder.glob("*/published/*")]
    assert lines == [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder)}"
        for path in sorted(found)
    ], "cd studies && sha256sum */claims.csv */published/* | sort -k 2 >SHA256SUMS"


@pytest.mark.parametrize("variant", ["rrul", "rrul@2014"])
def test_the_grid_of_rrul_is_whole_and_of_one_kernel(data: Path, variant: str) -> None:
    records = [
        json.loads(path.read_text())
        for path in (data / "gbw2015" / variant).rglob("*.json")
        if not datafile.is_reduced(path)  # seeds of claims, of some qdiscs alone
    ]
    seeds = defaultdict(set)
    for one in records:
        if one["cc"] == "cubic":
            seeds[one["link"], one["qdisc"]].add(one["seed"])
    assert len(seeds) == 3 * 7
    for (link, _), of_cell in seeds.items():  # the qdiscs of a figure have the same ones
        assert of_cell == seeds[link, "codel"] >= {1, 2, 3, 4, 5}
    assert {one["length_s"] for one in records} == {140.0}
    assert {one["kernel_log"] for one in records} == {"clean"}
    # Of the root file system the tools' versions: what Debian mended elsewhere between two days
    # makes another digest, of which there is evidence that it leaves the bytes alone.
    made_with = {
        json.dumps([of["kernel"], of["guest"], of["root"]["tools"]])
        for of in (one["identity"] for one in records)
    }
    assert len(made_with) == 1
    with (data / "verified.csv").open(newline="") as file:
        proved = {
            row["rootfs_digest"]
            for row in csv.DictReader(file)
            if row["how"] == "bytes" and row["runs_equal"] == row["runs_compared"]
        }
    assert {one["identity"]["root"]["digest"] for one in records} <= proved


def test_all_data_are_small(data: Path) -> None:
    total = sum(path.stat().st_size for path in data.rglob("*") if path.is_file())
    assert total < ALL_MIB << 20


def test_the_data_is_as_small_as_promised(data: Path) -> None:
    total = sum(path.stat().st_size for path in (data / "gbw2015/rrul").rglob("*.*"))
    assert total < RRUL_MIB << 20


@pytest.mark.parametrize(("changed", "most_mib"), [(False, WIRED_MIB), (True, CHANGED_MIB)])
def test_wired_runs_of_gbw2015_are_small(data: Path, changed: bool, most_mib: int) -> None:
    files = [
        path
        for folder in (data / "gbw2015").iterdir()
        if not folder.name.startswith("wifi_")
        and bool(set("+-") & set(folder.name.replace("linux-", ""))) is changed
        for path in folder.rglob("*.*")
    ]
    assert 0 < sum(path.stat().st_size for path in files) < most_mib << 20


def test_every_variation_has_runs(data: Path) -> None:
    """An era or an experiment that is misspelt would explain nothing, and nobody would notice."""
    for known in study.known():
        for one in rules_of(known).variations:
            names, runs = {*one.experiments.values()}, index(data, known.name).runs
            assert any(run.experiment in names and run.era == one.instead for run in runs), str(one)


def test_runs_over_wifi_are_small(data: Path) -> None:
    files = [path for path in data.glob("*/wifi_*/**/*") if path.is_file()]
    assert files
    assert sum(path.stat().st_size for path in files) < WIFI_MIB << 20


def test_runs_of_khademi2013_have_their_packets_and_are_small(data: Path) -> None:
    files = [path for path in (data / "khademi2013").rglob("*") if path.is_file()]
    wired = [path for path in files if "/wifi_" not in str(path)]
    assert sum(path.stat().st_size for path in wired) < KHADEMI_MIB << 20
    records = [path for path in files if path.suffix == ".json"]
    whole = [path for path in records if not datafile.is_reduced(path)]
    assert len(files) == len(records) + 2 * len(whole) >= 1600  # flent file and packets
    for path in records:
        told = json.loads(path.read_text())
        if path in whole:
            packets = path.with_name(f"{path.stem}.packets.parquet").read_bytes()
            assert hashlib.sha256(packets).hexdigest() == told["packets_sha256"]
        wireless = "aqm aqm-air" in told["qdiscs"]
        counted = told["qdiscs"]["aqm aqm-air" if wireless else "aqm aqm-delay"]["qdiscs"]
        (tested,) = [one for one in counted if one["handle"] == "10:"]
        assert tested["drops"] == told["packets"]["dropped"]
        assert tested.get("ecn_mark", tested.get("marked", 0)) == told["packets"]["marked"]
        ways = [told["packets"][way] for way in ("down", "up") if way in told["packets"]]
        assert len(ways) == wireless * (2 if "both_ways" in told else 1)
        for name in ("sent", "dropped") if wireless else ():
            assert sum(way[name] for way in ways) == told["packets"][name]


@pytest.mark.parametrize(
    ("run", "plot"),
    [
        ("gbw2015/rrul@2014/10-10/codel/cubic", "all_scaled"),
        ("gbw2015/voip_rrul@2014d-host_noise+ticks_4ms/10-10/codel/cubic", "totals"),
        ("gbw2015/rtt_fairness@2014c/10-10/codel/cubic", "totals"),
        ("gbw2015/voip_1up@2014d-host_noise+ticks_4ms/10-1/codel/cubic", "bandwidth"),
        ("battling2013/rrul@2013c-host_noise/10-10/codel/cubic", "all_scaled"),
        ("khademi2013/flows_16@2013c+pie_mark_all/10-10/codel_5ms/reno", "upload_scaled"),
    ],
)
def test_flents_own_plotter_opens_it(data: Path, tmp_path: Path, run: str, plot: str) -> None:
    flent = Path(sys.executable).parent / "flent"
    command = [flent, "-i", data / run / "seed-001.flent.gz", "-p", plot, "-o", tmp_path / "a.png"]
    done = captured(command, cwd=tmp_path)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert not {"ERROR", "WARNING"} & set(said.replace(":", " ").split()), said
    pixels = image.imread(tmp_path / "a.png")[:, :, :3]
    coloured = pixels.max(axis=2) - pixels.min(axis=2) > 0.3  # lines; the rest is grey
    assert coloured.mean() > 0.005
