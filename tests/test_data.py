"""The shipped data: whole, unchanged, of one kernel, and within its size."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path

import pytest

PAPERS = ("gbw2015", "khademi2013", "codel2012", "battling2013")
RRUL_MIB = 25  # what data/gbw2015/rrul may take
KHADEMI_MIB = 40  # what data/khademi2013 may take, with the tables of all packets


@pytest.fixture(scope="module")
def data(root: Path) -> Path:
    return root / "data"


def test_every_file_has_its_checksum(data: Path) -> None:
    sums = dict(
        reversed(line.split("  ", 1)) for line in (data / "SHA256SUMS").read_text().splitlines()
    )
    shipped = [
        path for name in (*PAPERS, "kernel-logs", "published") for path in (data / name).rglob("*")
    ]
    files = {str(path.relative_to(data)) for path in shipped if path.is_file()}
    assert files == set(sums)
    for name, expected in sums.items():
        assert hashlib.sha256((data / name).read_bytes()).hexdigest() == expected, name


@pytest.mark.parametrize("variant", ["rrul", "rrul@2014"])
def test_the_grid_of_rrul_is_whole_and_of_one_kernel(data: Path, variant: str) -> None:
    records = [
        json.loads(path.read_text()) for path in (data / "gbw2015" / variant).rglob("*.json")
    ]
    seeds = Counter((one["link"], one["qdisc"]) for one in records if one["cc"] == "cubic")
    assert len(seeds) == 3 * 7
    assert min(seeds.values()) >= 3
    assert {one["length_s"] for one in records} == {140.0}
    assert {one["kernel_log"] for one in records} == {"clean"}
    of_all = ("kernel", "root", "guest")
    made_with = {json.dumps([one["identity"][part] for part in of_all]) for one in records}
    assert len(made_with) == 1


def test_the_data_is_as_small_as_promised(data: Path) -> None:
    total = sum(path.stat().st_size for path in (data / "gbw2015/rrul").rglob("*.*"))
    assert total < RRUL_MIB << 20


def test_runs_of_khademi2013_have_their_packets_and_are_small(data: Path) -> None:
    files = [path for path in (data / "khademi2013").rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < KHADEMI_MIB << 20
    records = [path for path in files if path.suffix == ".json"]
    assert len(files) == 3 * len(records)  # record, flent file and packets
    for path in records:
        told = json.loads(path.read_text())
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
