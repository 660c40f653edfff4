"""`docs/transports`: that it is a study, and that its program in Python does what it says."""

import json
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

from qdisclab.emulation.config import catalogue
from qdisclab.emulation.kinds.traffic.program import CommandSection
from qdisclab.emulation.kinds.traffic.programs import Programs
from tests import captured

FOLDER = Path(__file__).parents[1] / "docs/transports"


def test_it_is_a_study_once_its_programs_are_built(tmp_path: Path) -> None:
    folder = tmp_path / "transports"
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("data", "quicgo", "quinn"))
    for program in ("quicgo", "quinn"):
        (folder / program).write_bytes(b"")
    alone, beside = catalogue.load(folder).experiments
    assert (len(alone.points), len(beside.points)) == (15, 30)
    traffic = {point.label: point.traffic for point in beside.points}["tcp_bbr_beside_cubic"]
    assert isinstance(traffic, Programs)
    serve, fetch, _, rival = traffic.programs
    assert isinstance(serve, CommandSection)
    assert isinstance(fetch, CommandSection)
    assert serve.command == ["python3", "tcp.py", "listen", "4433", "bbr"]
    assert fetch.command[2:] == ["fetch", "{server}", "4433", "{length_s}"]
    assert getattr(rival, "cc", None) == "cubic"


def test_a_download_over_tcp_prints_its_rate_and_its_bytes() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    program = [sys.executable, str(FOLDER / "tcp.py")]
    with subprocess.Popen([*program, "listen", port, "reno"]) as server:
        words = [*program, "fetch", "127.0.0.1", port, "0.7"]
        for _ in range(100):  # until it listens
            fetch = captured(words)
            if fetch.returncode == 0:
                break
            time.sleep(0.1)
        assert server.wait(20) == 0, "a client that leaves is no error"
    *rows, whole = map(json.loads, fetch.stdout.splitlines())
    assert len(rows) == 3
    assert all(row["mbit_s"] > 0 for row in rows)
    assert whole["bytes"] >= sum(row["mbit_s"] * 0.2 for row in rows) * 1e6 / 8
