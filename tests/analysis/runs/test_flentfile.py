"""flent files: what is read of them, field by field, and which are refused."""

import gzip
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.runs.flentfile import RERUN, TESTS, Loss, flows_began_s, kind_of, read_flent

BEGAN = 1000.0  # s since 1970, of the first flow
LENGTH = 4.0  # s of load


def packet(seq: int, at: float, **more: Any) -> dict[str, Any]:
    """A packet of the call, `at` s after the load began."""
    return {"seq": seq, "t": BEGAN + at, "val": 12.5, **more}


def lost(seq: int, at: float, way: str) -> dict[str, Any]:
    """As irtt has a packet of which there was no answer, for it was lost on the way there or
    back."""
    return packet(seq, at, lost=True, lost_dir=way)


def content(**changes: Any) -> dict[str, Any]:
    """A file of a call beside one upload, five steps of 0.2 s, as flent leaves it."""
    file: dict[str, Any] = {
        "version": 4,
        "metadata": {
            "NAME": "voip-1up",
            "LENGTH": 4,
            "TOTAL_LENGTH": 14,
            "STEP_SIZE": 0.2,
            "FLENT_VERSION": "2.1.1",
            "SERIES_META": {
                "TCP upload BE": {
                    "STARTED": BEGAN,
                    "BYTES_SENT": 1_000_000,
                    "BYTES_RECVD": 3,
                    "ELAPSED_TIME": 4.0,
                },
                "VoIP": {},
                "VoIP::delay": {},
            },
        },
        "x_values": [0.0, 0.2, 0.4, 0.6000000000000001, 0.8],
        "results": {
            "TCP upload BE": [None, 1.0, 2.0, None, 0.0],
            "Delay of something else": [1.0, 1.0, 1.0, 1.0, 1.0],
            "VoIP::delay": [30.0, 0.0, None, 0.5, 26.0],
            "TCP totals": [None, 1.0, 2.0, None, 0.0],
        },
        "raw_values": {"VoIP": [packet(seq, seq) for seq in range(5)]},
    }
    return {**file, **changes}


def write(folder: Path, file: Mapping[str, Any]) -> Path:
    path = folder / "run.flent.gz"
    path.write_bytes(gzip.compress(json.dumps(file).encode()))
    return path


def loss_of(folder: Path, packets: list[dict[str, Any]]) -> Loss:
    found = read_flent(write(folder, content(raw_values={"VoIP": packets}))).loss
    assert found is not None
    return found


def test_fields(tmp_path: Path) -> None:
    found = read_flent(write(tmp_path, content()))
    assert (found.test, found.flent_version) == ("voip-1up", "2.1.1")
    assert (found.length_s, found.delay_s, found.step_s) == (4.0, 5.0, 0.2)
    assert found.loss == Loss(5, 0)


def test_series_have_the_steps_with_a_value(tmp_path: Path) -> None:
    upload, delay = read_flent(write(tmp_path, content())).series
    assert (upload.name, upload.kind) == ("TCP upload BE", "tcp_upload")
    assert upload.time_s.tolist() == [0.2, 0.4, 0.8]
    assert upload.value.tolist() == [1.0, 2.0, 0.0]  # a flow may stand still
    assert (delay.name, delay.kind) == ("VoIP::delay", "voip")
    assert delay.time_s.tolist() == [0.0, 0.6, 0.8]  # rounded; no packet arrived where it is 0
    assert delay.value.tolist() == [30.0, 0.5, 26.0]
    assert math.isnan(delay.transferred_mbit_s)


def test_a_flow_moves_what_the_clients_end_counts(tmp_path: Path) -> None:
    file = content()
    (upload, _) = read_flent(write(tmp_path, file)).series
    assert upload.transferred_mbit_s == 2.0  # of a megabyte in 4 s
    meta = file["metadata"]["SERIES_META"]
    meta["TCP download BE"] = {**meta["TCP upload BE"], "BYTES_RECVD": 500_000}
    file["results"]["TCP download BE"] = [1.0] * 5
    found = {one.kind: one for one in read_flent(write(tmp_path, file)).series}
    assert found["tcp_download"].transferred_mbit_s == 1.0


def test_only_the_kinds_that_are_asked_for_are_read_and_required(tmp_path: Path) -> None:
    path = write(tmp_path, content())
    assert [one.kind for one in read_flent(path, ["tcp_upload"]).series] == ["tcp_upload"]
    assert [one.kind for one in read_flent(path, ["voip"]).series] == ["voip"]
    with pytest.raises(DataError, match=f"no series of kind tcp_upload.*{RERUN}"):
        read_flent(write(tmp_path, content(results={"VoIP::delay": [1.0] * 5})))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("TCP download", "tcp_download"), ("TCP download BE2", "tcp_download"),
        ("TCP download::12", "tcp_download"), ("TCP download EF", "tcp_download"),
        ("TCP upload BE1 10.0.0.2", "tcp_upload"), ("TCP upload", "tcp_upload"),
        ("TCP upload BK", "tcp_upload"), ("TCP upload CS5", "tcp_upload"),
        ("Ping (ms) ICMP", "ping_icmp"), ("Ping (ms) ICMP1 10.0.0.2", "ping_icmp"),
        ("Ping (ms) UDP EF", "ping_udp"), ("Ping (ms) UDP BE2", "ping_udp"),
        ("Ping (ms) UDP BK", "ping_udp"), ("TCP totals", None),
        ("VoIP::delay", "voip"), ("HTTP latency", "page"),
        ("TCP download sum", None), ("Ping (ms) avg", None), ("VoIP", None),
        ("TCP upload::1::tcp_cwnd", None),
    ],
)  # fmt: skip
def test_kinds_by_name(name: str, kind: str | None) -> None:
    assert kind_of(name) == kind


def test_what_each_test_has_to_have() -> None:
    assert TESTS["rrul"] == TESTS["rrul_be"] == ("tcp_download", "tcp_upload", "ping_icmp")
    assert TESTS["http"] == ("page",)


# --- losses ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("packets", "loss"),
    [
        ([packet(0, 0), lost(1, 1, "up"), packet(2, 2), packet(3, 3)], Loss(4, 1)),
        ([packet(0, 0), lost(1, 1, "down"), packet(2, 2), packet(3, 3)], Loss(4, 0)),
        ([packet(0, 0), lost(1, 1, "up"), lost(2, 2, "down"), packet(3, 3)], Loss(4, 1)),
        # of no known way
        ([packet(0, 0), packet(1, 1, lost=True), packet(2, 2, lost=False)], Loss(3, 1)),
        # 8 is not there; 9 came twice
        ([packet(7, 0), packet(10, 1), packet(9, 2), packet(9, 2.5)], Loss(4, 1)),
        # the whole test counts
        ([packet(0, -5), packet(2, 0.0), packet(4, LENGTH), packet(6, LENGTH + 5)], Loss(7, 3)),
    ],
)
def test_what_is_lost_there_and_not_what_is_lost_on_the_way_back(
    tmp_path: Path, packets: list[dict[str, Any]], loss: Loss
) -> None:
    assert loss_of(tmp_path, packets) == loss


def test_a_call_of_which_nothing_arrives_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no packet of the VoIP flow arrived"):
        loss_of(tmp_path, [lost(1, 1, "up")])
    assert read_flent(write(tmp_path, content(raw_values={}))).loss is None


# --- when the load began --------------------------------------------------------------------------


def test_flows_say_when_they_began() -> None:
    file = content()
    meta = file["metadata"]["SERIES_META"]
    meta["TCP download BE"] = {"STARTED": BEGAN - 0.5}
    meta["Ping (ms) ICMP"] = {"STARTED": BEGAN - 5}
    assert flows_began_s(file) == {"TCP upload BE": BEGAN, "TCP download BE": BEGAN - 0.5}


def test_a_flow_that_does_not_say_when_began_an_interval_before_its_first_report() -> None:
    file = content(raw_values={"TCP upload BE": [{"t": 1010.0, "dur": 0.25}, {"t": 1011.0}]})
    del file["metadata"]["SERIES_META"]["TCP upload BE"]["STARTED"]
    assert flows_began_s(file) == {"TCP upload BE": 1009.75}
    del file["raw_values"]["TCP upload BE"][0]["dur"]
    assert flows_began_s(file) == {"TCP upload BE": 1010.0}


# --- pages ----------------------------------------------------------------------------------------


def web() -> dict[str, Any]:
    file = content(
        results={"HTTP latency": [100.0] * 5},
        raw_values={"HTTP latency": [{"t": 2002.0, "val": 1500.0}, {"t": 2000.9, "val": 900.0}]},
    )
    file["metadata"] |= {"NAME": "http", "SERIES_META": {}}
    return file


def test_a_page_is_at_its_begin_and_the_first_at_0(tmp_path: Path) -> None:
    (pages,) = read_flent(write(tmp_path, web())).series
    assert (pages.name, pages.kind) == ("HTTP latency", "page")
    assert pages.value.tolist() == [1500.0, 900.0]
    assert pages.time_s.tolist() == [0.5, 0.0]
    assert math.isnan(pages.transferred_mbit_s)


# --- what is refused ------------------------------------------------------------------------------


def test_newer_formats_are_refused_and_older_ones_are_read(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"flent data format 5, newer than 4\. Read it with a newer"
    ):
        read_flent(write(tmp_path, content(version=5)))
    assert read_flent(write(tmp_path, content(version=3))).test == "voip-1up"


def test_series_of_another_length_are_refused(tmp_path: Path) -> None:
    short = {"TCP upload BE": [1.0] * 4}
    with pytest.raises(DataError, match="series 'TCP upload BE' has 4 values for 5 steps"):
        read_flent(write(tmp_path, content(results=short)))


@pytest.mark.parametrize("name", ["LENGTH", "STEP_SIZE"])
def test_lengths_that_are_not_finite_are_refused(tmp_path: Path, name: str) -> None:
    file = content()
    file["metadata"][name] = "1e999"
    with pytest.raises(DataError, match=f"not a flent data file .*a length that is not.*{RERUN}"):
        read_flent(write(tmp_path, file))


@pytest.mark.parametrize("name", ["NAME", "LENGTH", "TOTAL_LENGTH", "STEP_SIZE", "FLENT_VERSION"])
def test_a_field_that_is_missing_is_named(tmp_path: Path, name: str) -> None:
    file = content()
    del file["metadata"][name]
    with pytest.raises(DataError, match=rf"not a flent data file \(KeyError: '{name}'\)"):
        read_flent(write(tmp_path, file))


def test_a_series_without_a_sample_is_refused(tmp_path: Path) -> None:
    file = content()
    file["results"]["TCP upload BE"] = [None] * 5
    assert any(one.value.size == 0 for one in read_flent(write(tmp_path, file)).series)  # counted
    file["metadata"]["SERIES_META"]["TCP upload BE"]["BYTES_SENT"] = 0
    with pytest.raises(DataError, match=f"series 'TCP upload BE' has no sample.*{RERUN}"):
        read_flent(write(tmp_path, file))


def test_tests_that_nobody_listed_have_what_they_have(tmp_path: Path) -> None:
    file = content(results={})
    file["metadata"]["NAME"] = "own_test"
    assert read_flent(write(tmp_path, file)).series == ()


def test_a_web_test_without_a_page_is_refused(tmp_path: Path) -> None:
    file = {**web(), "raw_values": {"HTTP latency": []}}
    with pytest.raises(DataError, match="series 'HTTP latency' has no sample"):
        read_flent(write(tmp_path, file))


@pytest.mark.parametrize(
    "changes",
    [
        {"version": 5},
        {"results": None},
        {"results": {}},
        {"results": {"TCP upload BE": [1.0] * 5, "VoIP::delay": [None] * 5}},
    ],
)
def test_an_error_names_the_file(tmp_path: Path, changes: dict[str, Any]) -> None:
    path = write(tmp_path, content(**changes))
    with pytest.raises(DataError, match=f"^{path}: "):
        read_flent(path)


def test_values_are_floats(tmp_path: Path) -> None:
    for one in read_flent(write(tmp_path, content())).series:
        assert (one.time_s.dtype, one.value.dtype) == (np.float64, np.float64)
