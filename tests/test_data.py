"""The shipped data: whole, unchanged, of one kernel, and within its size."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

RRUL_MIB = 25  # what data/gbw2015/rrul may take


@pytest.fixture(scope="module")
def data(root: Path) -> Path:
    return root / "data"


def test_every_file_has_its_checksum(data: Path) -> None:
    sums = dict(
        reversed(line.split("  ", 1)) for line in (data / "SHA256SUMS").read_text().splitlines()
    )
    shipped = [
        path
        for name in ("gbw2015", "kernel-logs", "published")
        for path in (data / name).rglob("*")
    ]
    files = {str(path.relative_to(data)) for path in shipped if path.is_file()}
    assert files == set(sums)
    for name, expected in sums.items():
        assert hashlib.sha256((data / name).read_bytes()).hexdigest() == expected, name


def test_the_grid_of_rrul_is_whole_and_of_one_kernel(data: Path) -> None:
    records = [json.loads(path.read_text()) for path in (data / "gbw2015/rrul").rglob("*.json")]
    cells = {(one["link"], one["qdisc"], one["cc"], one["seed"]) for one in records}
    assert len(records) == len(cells) == 3 * 7 * 5
    assert {one["length_s"] for one in records} == {140.0}
    assert {one["kernel_log"] for one in records} == {"clean"}
    of_all = ("kernel", "root", "guest")
    made_with = {json.dumps([one["identity"][part] for part in of_all]) for one in records}
    assert len(made_with) == 1


def test_the_data_is_as_small_as_promised(data: Path) -> None:
    total = sum(path.stat().st_size for path in (data / "gbw2015/rrul").rglob("*.*"))
    assert total < RRUL_MIB << 20
