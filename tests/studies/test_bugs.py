"""The cases of the kernel's bugs: each has bounds, a way to bring the bug back, and a number."""

from __future__ import annotations

import csv
import json
import subprocess
import sys

import pytest

from tests import ROOT

STUDY = ROOT / "studies" / "bugs"


def claims() -> dict[str, tuple[float, float]]:
    with (STUDY / "claims.csv").open() as file:
        rows = list(csv.DictReader(file))
    return {row["note"]: (float(row["value_low"]), float(row["value_high"])) for row in rows}


def test_each_case_has_a_patch_and_bounds() -> None:
    patches = {path.stem for path in (STUDY / "undo").glob("*.patch")}
    assert patches | {"pie_precision"} == claims().keys()  # an era brings that one back
    text = (STUDY / "bugs.py").read_text()
    assert all(f"def {name}() -> float:" in text for name in claims())
    assert {path.name for path in (STUDY / "undo/7.2").iterdir()} <= {f"{p}.patch" for p in patches}


@pytest.mark.kernel
def test_quick_cases_are_within_their_bounds() -> None:
    names = ["netem_limit", "tcp_mss_ack", "tbf_gso"]
    command = [sys.executable, "-m", "qdisclab.emulate.cli", "exec", "--seed", "5", "--", "python3"]
    done = subprocess.run(
        [*command, "bugs.py", *names], cwd=STUDY, text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    rows = {row["case"]: row["value"] for row in map(json.loads, done.stdout.splitlines())}
    assert rows.keys() == set(names)
    for name, value in rows.items():
        low, high = claims()[name]
        assert low <= value <= high, (name, value)
