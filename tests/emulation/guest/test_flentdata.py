"""What the guest keeps of flent's data file."""

import gzip
import json
from pathlib import Path
from typing import Any

import flentdata
import pytest

T0 = 1420070400.0


def content() -> dict[str, Any]:
    """A file of two steps, as flent writes it."""
    packets = [
        {"t": T0 + 0.01234567, "val": 50.0047361, "owd_up": 25.0024961, "owd_down": 25.00224,
         "ipdv": 0.1, "seq": 0},
        {"t": T0 + 0.03, "seq": 1, "lost": True, "lost_dir": "up"},
    ]  # fmt: skip
    return {
        "version": 4,
        "x_values": [0.0, 0.6000000000000001],
        "results": {
            "TCP upload": [None, 8.255604690483201],
            "VoIP": [25.0024961, 25.1],
            "HTTP latency": [386.0720000001, None],
        },
        "raw_values": {
            "TCP upload": [{"t": T0 + 5.25, "dur": 0.2, "val": 8.5}, {"t": T0 + 5.5, "val": 8.0}],
            "VoIP": packets,
            "VoIP::delay": [],
            "HTTP latency": [{"t": T0 + 1.1158214321, "val": 386.07200000001}],
        },
        "metadata": {
            "NAME": "all",
            "SERIES_META": {"TCP upload": {"BYTES_SENT": 7}, "VoIP": {}, "HTTP latency": {}},
        },
    }


@pytest.fixture
def reduced(tmp_path: Path) -> dict[str, Any]:
    source, target = tmp_path / "source.flent.gz", tmp_path / "target.flent.gz"
    with gzip.open(source, "wt") as file:
        json.dump(content(), file)
    flentdata.reduce(source, target)
    with gzip.open(target) as file:
        found: dict[str, Any] = json.load(file)
    return found


def test_steps_have_the_digits_that_were_measured(reduced: dict[str, Any]) -> None:
    assert reduced["x_values"] == [0.0, 0.6]
    assert reduced["results"]["TCP upload"] == [None, 8.256]
    assert reduced["results"]["HTTP latency"] == [386.072, None]


def test_each_packet_and_page_is_kept(reduced: dict[str, Any]) -> None:
    assert reduced["raw_values"]["VoIP"] == [
        {"t": round(T0 + 0.012, 3), "val": 50.0, "owd_up": 25.0, "seq": 0},
        {"t": T0 + 0.03, "seq": 1, "lost": True, "lost_dir": "up"},
    ]
    assert reduced["raw_values"]["HTTP latency"] == [{"t": T0 + 1.115821, "val": 386.072}]


def test_of_a_flow_its_start_is_kept(reduced: dict[str, Any]) -> None:
    assert reduced["raw_values"]["TCP upload"] == []
    about = reduced["metadata"]["SERIES_META"]["TCP upload"]
    assert about == {"BYTES_SENT": 7, "STARTED": T0 + 5.05}


def test_all_else_is_as_it_was(reduced: dict[str, Any]) -> None:
    before = content()
    assert reduced["version"] == before["version"]
    assert reduced["metadata"]["NAME"] == "all"
    assert reduced["results"].keys() == before["results"].keys()
    assert reduced["raw_values"].keys() == before["raw_values"].keys()


def test_equal_files_give_equal_bytes_whatever_their_names(tmp_path: Path) -> None:
    written = []
    for name in ("a", "b"):
        with gzip.open(tmp_path / name, "wt") as file:
            json.dump(content(), file)
        flentdata.reduce(tmp_path / name, tmp_path / f"{name}.out")
        written.append((tmp_path / f"{name}.out").read_bytes())
    assert written[0] == written[1]
