"""The server that figures and kernels are forked from, and clients that go away."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulation.errors import ConfigError
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


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


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
    parent = parent_of(fork.pid)
    os.kill(parent, signal.SIGKILL)
    assert fork.wait() == -signal.SIGKILL
    with pytest.raises(OSError, match="no server of forks"):
        forks.Fork("figure", [])


def test_runs_are_rehearsed_for_alone(server: str, capfd: pytest.CaptureFixture[str]) -> None:
    """What only figures need is not imported for them."""
    assert forks.main(["run", "gbw2015/rrull"]) == ConfigError.exit_status
    assert "did you mean 'gbw2015/rrul'" in capfd.readouterr().err
    fork = forks.Fork("run", ["gbw2015/rrul", "--dry-run", "--link", "10/10"])
    parent = parent_of(fork.pid)
    assert "matplotlib" not in Path(f"/proc/{parent}/maps").read_text()
    assert fork.wait() == 0
    assert "gbw2015/rrul" in capfd.readouterr().out
