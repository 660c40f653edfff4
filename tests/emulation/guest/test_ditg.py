"""Tests of emulation.guest.ditg: its control server on loopback with pretended tools, and a run."""

import gzip
import importlib
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from xmlrpc.client import ServerProxy
from xmlrpc.server import SimpleXMLRPCServer

import pytest

from qdisclab.emulation import kernel
from qdisclab.emulation.config.catalogue import experiment, select
from qdisclab.emulation.machine import rootfs
from qdisclab.emulation.model.units import Duration
from qdisclab.emulation.runs.run import execute
from tests import captured, write_executable
from tests.waiting import wait_for

PACKET = (
    "Flow>1 Seq>{seq} Src>10.0.1.1/1 Dest>10.0.4.2/2 txTime>0:0:11.5 rxTime>0:0:11.75 Size>172\n"
)

#: Writes a log at once and lives on, as a receiver does.
RECEIVER = """#!/bin/sh
echo "$@" > "$2"
while true; do sleep 0.01; done
"""

#: Says what it was asked for in the file that ITGDec would write.
DECODER = """#!/bin/sh
for last; do :; done
case "$2" in
    -c) echo "averages of $3 ms from $(cat "$1")" > "$last" ;;
    -l) cat {packets} > "$last" ;;
esac
"""

GRACE_S = 0.3


@pytest.fixture
def ditg(guest_modules: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module in a folder of the test's, with tools of the test's."""
    module = importlib.import_module("ditg")
    monkeypatch.setattr(module, "FOLDER", str(tmp_path))
    monkeypatch.setattr(module, "GRACE_S", GRACE_S)
    monkeypatch.setattr(module, "SETTLE_S", 0.2)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    packets = tmp_path / "packets"
    packets.write_text(PACKET.format(seq=1) + PACKET.format(seq=2))
    write_executable(tmp_path / "ITGRecv", RECEIVER)
    write_executable(tmp_path / "ITGDec", DECODER.format(packets=packets))
    return module


@pytest.fixture
def control(ditg: ModuleType) -> Iterator[ServerProxy]:
    """What flent calls."""
    server = SimpleXMLRPCServer(("127.0.0.1", 0), allow_none=True, logRequests=False)
    server.register_instance(ditg.Control("10.0.4.2"))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield ServerProxy(f"http://127.0.0.1:{server.server_address[1]}", allow_none=True)
    finally:
        server.shutdown()
        server.server_close()


def results(control: ServerProxy, name: str) -> dict[str, Any]:
    """What flent gets in the end; it asks until the receiver has ended."""
    deadline = time.monotonic() + 20
    found: dict[str, Any] = {}
    while found.get("status") != "OK" and time.monotonic() < deadline:
        time.sleep(0.05)
        found = control.get_test_results(name)  # type: ignore[assignment]
    return found


def test_a_test_has_a_receiver_of_its_own(control: ServerProxy, tmp_path: Path) -> None:
    first = control.request_new_test(0.5, 200, "a secret", True)
    second = control.request_new_test(0.1, 100, "", False)
    assert first == {"status": "OK", "test_id": "test-0", "port": 9000}
    assert second == {"status": "OK", "test_id": "test-1", "port": 9002}
    early = control.get_test_results("test-0")
    assert early == {"status": "Error", "message": "no data of 'test-0' yet"}

    found = results(control, "test-0")
    assert found["data"].startswith("averages of 200 ms from ")
    assert found["data"].split(" from ")[1].split() == [
        *("-l", f"{tmp_path}/test-0.log", "-a", "10.0.4.2", "-Sp", "9000"),
    ]
    assert found["raw"].count("Flow>1") == 2
    assert found["utc_offset"] % 86400 == 11.75
    assert time.time() - 86400 < found["utc_offset"] < time.time() + 86400
    assert "raw" not in results(control, "test-1")


def test_its_receiver_ends_with_the_test(control: ServerProxy, tmp_path: Path) -> None:
    control.request_new_test(0.1, 200, "", False)
    running = ["pgrep", "-f", f"{tmp_path}/test-0.log"]
    assert subprocess.run(running, capture_output=True).returncode == 0
    assert results(control, "test-0")["status"] == "OK"
    assert subprocess.run(running, capture_output=True).returncode == 1


def test_a_receiver_that_does_not_start_is_told(control: ServerProxy, tmp_path: Path) -> None:
    write_executable(tmp_path / "ITGRecv", "exit 3")
    answer = control.request_new_test(1, 200, "", False)
    assert answer == {"status": "Error", "message": "ITGRecv ended with 3"}


def test_a_test_without_a_packet_is_told(control: ServerProxy, tmp_path: Path) -> None:
    (tmp_path / "packets").write_text("")
    control.request_new_test(0.1, 200, "", False)
    told = {"status": "Error", "message": "no packet arrived"}
    wait_for(lambda: control.get_test_results("test-0") == told, seconds=20)
    assert control.get_test_results("test-7") == {
        "status": "Error",
        "message": "no data of 'test-7' yet",
    }


def test_the_first_arrival_is_of_today(ditg: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    midnight = 1_420_070_400  # 1 January 2015
    monkeypatch.setattr(ditg.time, "time", lambda: midnight + 40.25)
    assert ditg.first_arrival(PACKET.format(seq=1)) == midnight + 11.75
    later = PACKET.format(seq=1).replace("rxTime>0:0:11.75", "rxTime>13:2:5.5")
    assert ditg.first_arrival(later) == midnight + 13 * 3600 + 2 * 60 + 5.5


def test_a_client_is_copied_by_its_address(root: Path) -> None:
    folder = str(root / "emulation" / "guest")
    code = (
        "import pickle, xmlrpc.client as x; p = x.ServerProxy('http://10.0.4.2:8000')\n"
        "copy = pickle.loads(pickle.dumps(p)); print(repr(copy))"
    )
    words = [sys.executable, "-c", f"import ditg_pickle\n{code}"]
    there = {"PYTHONPATH": folder}
    done = captured(words, timeout=30, env=there)
    assert done.stdout == "<ServerProxy for 10.0.4.2:8000/RPC2>\n", done.stderr


@pytest.mark.kernel
def test_a_call_is_measured_packet_by_packet(tmp_path: Path) -> None:
    (run,) = select(
        experiment("gbw2015/voip_1up"),
        link="10/10",
        qdisc="pfifo_fast",
        cc="cubic",
        seed=1,
        length=Duration.parse("4 s"),
    )
    result = execute(run, kernel.build(), rootfs.build(), tmp_path)
    with gzip.open(result.data) as stream:
        content = json.load(stream)
    delays = [one for one in content["results"]["VoIP::delay"] if one is not None]
    assert min(delays) == pytest.approx(25, abs=0.1)  # half of the base round trip
    assert 100 < max(delays) < 25 + 127 * 1514 * 8 / 10_000 + 2  # behind the upload in a full queue
    packets = content["raw_values"]["VoIP"]
    sequence = [packet["seq"] for packet in packets]
    assert sequence == list(range(1, len(sequence) + 1))  # 100 a second, for 14 s; none is lost
    assert len(sequence) > 1300
    assert {packet["val"] < 25.5 for packet in packets[:100]} == {True}  # before the upload
