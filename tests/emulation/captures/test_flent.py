"""Tests of emulation.captures.flent: what all files have."""

import gzip
import json
from pathlib import Path

from qdisclab.emulation.captures import flent
from qdisclab.emulation.model.units import Duration

TEST = flent.About("bulk", "a/b/seed-001", Duration.parse("250 ms"), Duration.parse("100 ms"))


def test_equal_content_gives_equal_files(tmp_path: Path) -> None:
    content = {"results": {"a": [1, 2]}}
    for name in ("one", "two"):
        flent.write(content, tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert json.loads(gzip.decompress((tmp_path / "one").read_bytes())) == content


def test_a_file_says_what_was_done() -> None:
    content = flent.content(TEST, {"a": [None, 1.0, 2.0]}, {"load": "bulk"}, HOST="x")
    assert content["x_values"] == [0, 0.1, 0.2]
    about = content["metadata"]
    assert (about["NAME"], about["TITLE"], about["LENGTH"]) == ("bulk", "a/b/seed-001", 0.25)
    assert about["DATA_FILENAME"] == "a_b_seed-001.flent.gz"
    assert (about["TEST_PARAMETERS"], about["HOST"]) == ({"load": "bulk"}, "x")


def test_a_step_that_has_begun_counts() -> None:
    assert TEST.steps == 3
