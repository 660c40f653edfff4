"""The cases of the kernel's bugs: each has bounds, a way to bring the bug back, and a number."""

import csv
import json
import sys
from types import SimpleNamespace

import pandas as pd
import pytest

from qdisclab.analysis.runs.statement import read_claims
from qdisclab.analysis.runs.study import study_at
from tests import ROOT, captured

STUDY = ROOT / "studies" / "bugs"


def claims() -> dict[str, tuple[float, float]]:
    with (STUDY / "claims.csv").open() as file:
        rows = list(csv.DictReader(file))
    return {row["note"]: (float(row["value_low"]), float(row["value_high"])) for row in rows}


def test_each_case_has_a_patch_and_bounds() -> None:
    patches = {path.stem for path in (STUDY / "undo").glob("*.patch")}
    others = {"pie_precision", "rack_lost", "sack_acks"}  # which a switch or a sysctl undoes
    assert patches | others == claims().keys()
    text = (STUDY / "bugs.py").read_text()
    assert all(f"def {name}() -> float:" in text for name in claims())
    assert {path.name for path in (STUDY / "undo/7.2").iterdir()} <= {f"{p}.patch" for p in patches}


@pytest.mark.kernel
def test_quick_cases_are_within_their_bounds() -> None:
    names = ["netem_limit", "tcp_mss_ack", "tbf_gso"]
    command = [sys.executable, "-m", "qdisclab.emulate.cli", "exec", "--seed", "5", "--", "python3"]
    done = captured([*command, "bugs.py", *names], cwd=STUDY)
    assert done.returncode == 0, done.stderr
    rows = {row["case"]: row["value"] for row in map(json.loads, done.stdout.splitlines())}
    assert rows.keys() == set(names)
    for name, value in rows.items():
        low, high = claims()[name]
        assert low <= value <= high, (name, value)


def test_the_table_has_means_and_what_is_out_of_bounds() -> None:
    own = study_at("bugs")
    claim = next(one for one in read_claims(own) if one.note == "netem_limit")  # 0 to 20 packets
    eras = ("modern", "modern", "modern@linux-7.2")
    runs = [SimpleNamespace(era=era, value=of) for era, of in zip(eras, (10, 20, 21), strict=True)]
    back = pd.DataFrame({"linux": ["7.2"], "case": ["netem_limit"], "value": [200.0]})
    table = own.module("plots").by_case(
        [claim], runs, lambda run: {"netem_limit": float(run.value)}, back
    )
    assert table.to_dict("records") == [
        {
            "case": "netem_limit", "without the bug": "0 to 20 packets",
            "6.12": "15", "6.12 undone": "–", "7.2": "21 (no)", "7.2 undone": "200 (no)",
        }
    ]  # fmt: skip
