"""The server that figures and kernels are forked from, and clients that go away."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import ROOT
from workflow import forks


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.chdir(ROOT)
    with forks.running():
        yield os.environ[forks.ADDRESS]


def request(work: str, *arguments: str) -> bytes:
    told = {"work": work, "arguments": arguments, "folder": str(ROOT), "environment": {}}
    return json.dumps(told).encode() + b"\n"


def leave(address: str, sent: bytes) -> None:
    """Connect, send that and go away."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        if sent:
            socket.send_fds(connection, [b"\0"], [1, 2])
            connection.sendall(sent)


def test_clients_that_go_away_do_not_end_the_server(server: str) -> None:
    for sent in (b"", b"{", request("figure", "no-such.yaml"), request("report")):
        leave(server, sent)
    fork = forks.Fork("figure", ["no-such.yaml", "--data", "data", "--results", "none"])
    assert fork.wait() not in (0, -signal.SIGKILL)
    assert not Path("none").exists()


def test_nobody_waits_for_a_server_that_has_ended(
    server: str, capfd: pytest.CaptureFixture[str]
) -> None:
    fork = forks.Fork("figure", ["no-such.yaml", "--data", "data", "--results", "none"])
    parent = int(Path(f"/proc/{fork.pid}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(parent, signal.SIGKILL)
    assert fork.wait() == -signal.SIGKILL
    with pytest.raises(OSError, match="no server of forks"):
        forks.Fork("figure", [])
