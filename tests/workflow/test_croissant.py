"""The data as machines see them: the description, and what its library reads."""

import csv
import fnmatch
import json
import shutil
import tomllib
from collections import Counter
from itertools import chain
from pathlib import Path

import mlcroissant as mlc
import pytest

from tests import ROOT

FILE = "croissant.json"
CELL = "gbw2015/rrul@2014/10-10/codel/cubic"


@pytest.fixture
def some(tmp_path: Path) -> Path:
    """A few of the shipped data, with the description beside them."""
    shutil.copytree(ROOT / "data" / CELL, tmp_path / "data" / CELL)
    shutil.copytree(ROOT / "studies", tmp_path / "studies")
    shutil.copy(ROOT / FILE, tmp_path)
    return tmp_path


def test_it_names_what_the_package_is() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    described = json.loads((ROOT / FILE).read_text(encoding="utf-8"))
    assert (described["name"], described["version"]) == (project["name"], project["version"])


def test_the_library_finds_no_error() -> None:
    described = mlc.Dataset(jsonld=str(ROOT / FILE))
    assert not described.metadata.issues.errors


def test_each_file_is_in_one_set() -> None:
    data = ROOT / "data"
    shipped = (data / "SHA256SUMS").read_text().splitlines()
    names = {f"data/{line.split('  ', 1)[1]}" for line in shipped}
    names -= {name for name in names if name.startswith(("data/kernel-logs/", "data/guests/"))}
    names |= {str(path.relative_to(ROOT)) for path in (ROOT / "studies").glob("*/**/*.csv")}
    described = json.loads((ROOT / FILE).read_text(encoding="utf-8"))
    patterns = [
        pattern
        for part in described["distribution"]
        if part["@type"] == "cr:FileSet"
        for pattern in _several(part["includes"])
    ]
    sets = {pattern: set(fnmatch.filter(names, pattern)) for pattern in patterns}  # as its library
    assert [pattern for pattern, files in sets.items() if not files] == []
    times = Counter(chain.from_iterable(sets.values()))
    assert [name for name, number in times.items() if number > 1] == []
    assert [name for name in names if name.startswith("data/") and name not in times] == []


def _several(value: str | list[str]) -> list[str]:
    return value if isinstance(value, list) else [value]


def test_runs_are_a_table(some: Path) -> None:
    records = list(mlc.Dataset(jsonld=str(some / "croissant.json")).records("runs"))
    found = {one["runs/run"].decode(): one for one in records}
    assert set(found) == {
        str(path.relative_to(some / "data").with_suffix(""))
        for path in (some / "data" / CELL).glob("*.json")
    }
    told = json.loads((some / "data" / CELL / "seed-001.json").read_text())
    one = found[told["run"]]
    assert one["runs/seed"] == 1
    assert one["runs/qdisc"] == b"codel"
    assert one["runs/virtual_s"] == pytest.approx(told["virtual_s"])
    assert one["runs/kernel_digest"].decode() == told["identity"]["kernel"]["digest"]
    assert one["runs/data_sha256"].decode() == told["data_sha256"]


def test_statements_are_a_table(some: Path) -> None:
    records = list(mlc.Dataset(jsonld=str(some / "croissant.json")).records("statements"))
    rows = [
        row
        for path in (some / "studies").glob("*/claims.csv")
        for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines())
    ]
    assert {one["statements/id"].decode() for one in records} == {row["id"] for row in rows}
