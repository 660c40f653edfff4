"""Tests of the claims on CPUs."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from qdisclab.emulation.host import cpus, facts
from qdisclab.emulation.host.cpus import by_idleness, claim
from tests import ROOT, captured

#: Of no machine, and of no other process of the tests: nobody has claimed them.
CPUS = [4 * os.getpid() + 3001, 4 * os.getpid() + 3002]

CLAIMS = (
    "import sys; from qdisclab.emulation.host.cpus import claim\n"
    "with claim() as cpu:\n"
    "    print(cpu, flush=True)\n"
    "    sys.stdin.read()\n"
)


@pytest.fixture(autouse=True)
def two_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(CPUS))
    monkeypatch.setattr(facts, "in_container", lambda: False)


def test_guests_get_cpus_of_their_own() -> None:
    with claim() as first, claim() as second:
        assert [first, second] == CPUS
        with claim() as third:
            assert third in CPUS
    with claim() as again:
        assert again == CPUS[0]


def test_an_error_of_the_guest_ends_the_claim_and_goes_on() -> None:
    with pytest.raises(PermissionError), claim():
        raise PermissionError
    with claim() as again:
        assert again == CPUS[0]


def test_where_there_are_no_such_sockets_a_cpu_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refused(socket.socket):
        def bind(self, address: object) -> None:
            raise PermissionError(1, "not here")

    monkeypatch.setattr(socket, "socket", Refused)
    with claim() as cpu:
        assert cpu in CPUS


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be two users")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="there is no setpriv")
def test_two_users_get_different_cpus() -> None:
    """With homes, caches and temporary folders of their own; `nobody` has none at all."""
    code = f"import os; os.sched_getaffinity = lambda pid: {set(CPUS)}\n{CLAIMS}"
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    python = shutil.which("python3", path="/usr/bin:/bin") or sys.executable
    with tempfile.TemporaryDirectory() as place, claim() as ours:
        Path(place).chmod(0o755)  # the folder of the tests may be closed to others
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "emulation", f"{place}/emulation", ignore=ignored)
        shutil.copytree(ROOT / "qdisclab", f"{place}/qdisclab", True, ignored)
        done = captured(
            [*nobody, python, "-c", code],
            input="",
            cwd=place,
            env={"TMPDIR": "/nonexistent", "HOME": "/nonexistent"},
        )
    assert done.stderr == ""
    assert [ours, int(done.stdout)] == CPUS


def test_a_claim_ends_with_a_process_that_is_killed() -> None:
    code = f"import os; os.sched_getaffinity = lambda pid: {set(CPUS)}\n{CLAIMS}"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, **pipes) as other:  # type: ignore[call-overload]
        theirs = int(other.stdout.readline())
        with claim() as ours:
            assert {ours, theirs} == set(CPUS)
        other.kill()
    with claim() as first, claim() as second:
        assert {first, second} == set(CPUS)


def test_the_cpu_that_idles_most_is_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stat = tmp_path / "stat"
    row = "cpu{} 10 0 10 {} {} 0 0 0 0 0\n"
    ticks = {0: (100, 0), 1: (100, 0), 2: (100, 0)}

    def write() -> None:
        total = "cpu  30 0 30 999 0 0 0 0 0 0\n"
        stat.write_text(total + "".join(row.format(c, *t) for c, t in ticks.items()) + "intr 1\n")

    def later(seconds: float) -> None:
        ticks.update({0: (101, 0), 1: (103, 2), 2: (104, 0)})
        write()

    write()
    monkeypatch.setattr(cpus.time, "sleep", later)
    assert by_idleness([0, 1, 2], stat) == [1, 2, 0]
    assert sorted(by_idleness([0, 1], tmp_path / "none")) == [0, 1]


def test_a_container_takes_the_idlest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "in_container", lambda: True)
    monkeypatch.setattr(cpus, "by_idleness", lambda usable: sorted(usable, reverse=True))
    with claim() as first:
        assert first == CPUS[1]
