"""Tests of emulation.runs.shell: the job of a guest that gives a shell, a command, a prompt."""

import os
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from qdisclab.emulate import cli
from qdisclab.emulation.config.catalogue import select as select_runs
from qdisclab.emulation.config.job import job_of
from qdisclab.emulation.errors import GuestFailure, RigMismatch
from qdisclab.emulation.machine import guestcode, vm
from qdisclab.emulation.model.run import Experiment
from qdisclab.emulation.runs import shell

ASKED = ["shell", "gbw2015/rrul", "--link", "10/1", "--qdisc", "codel"]


def test_the_job_is_the_runs_with_a_shell(rrul: Experiment) -> None:
    run = select_runs(rrul, link="10/1", qdisc="codel", cc="cubic", seed=1)[0]
    job = shell.job(run)
    assert {key: value for key, value in job.items() if key not in ("work", "shell")} == job_of(run)
    assert job["work"] == "shell"
    assert {"rows", "columns", "term"} == set(job["shell"])


def test_the_status_is_the_shells() -> None:
    steps = [
        {"step": "shell", "exit_status": 3, "virtual_s": 1.0},
        {"step": "done", "virtual_s": 1.0},
    ]
    assert shell._exit_status(vm.Ending(steps)) == 3
    with pytest.raises(
        GuestFailure, match="after step 'shell' of the guest: the guest was shut down"
    ):
        shell._exit_status(vm.Ending(steps[:1]))
    failed = {"step": "failed", "cause": "rig", "problems": ["no codel"], "virtual_s": 1.0}
    with pytest.raises(RigMismatch, match="no codel"):
        shell._exit_status(vm.Ending([failed]))


def test_a_terminal_has_the_hosts_clock() -> None:
    words = vm.command(vm.Machine(guestcode.FOLDER, guestcode.FOLDER, 1, terminal=True))
    assert "con0=fd:0,fd:1" in words
    assert not any(word.startswith("time-travel") for word in words)


def test_what_has_no_load_has_no_length(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (
        [*ASKED, "--length", "5"],
        ["exec", "--rig", "gbw2015/rrul --length 5", "--", "a"],
    ):
        with pytest.raises(SystemExit):
            cli.main(words)
        assert "unrecognized arguments: --length" in capsys.readouterr().err


@pytest.mark.kernel
def test_a_command_in_the_rig(capfd: pytest.CaptureFixture[str]) -> None:
    text = "on client ping -c 2 10.0.4.2; on router_up tc qdisc show dev r1-delay; on x y; exit 3"
    assert cli.main([*ASKED, "--command", text]) == 3
    out, err = capfd.readouterr()
    assert "2 packets transmitted, 2 received" in out
    assert "qdisc codel 10: parent 1:1" in out
    assert "on: no node 'x'; there are: client router_up" in err


@pytest.mark.kernel
def test_of_a_guest_that_fails_the_logs_stay(capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*ASKED, "--command", "umount -l /job"]) == GuestFailure.exit_status
    logs = Path(capfd.readouterr().err.rpartition("its logs are in ")[2].strip())
    assert (logs / "console").is_file()


@pytest.mark.kernel
def test_a_prompt_on_a_terminal() -> None:
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "qdisclab.emulate.cli", *ASKED]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    try:
        assert "router_down" in read_until(ours, "rig# ")
        os.write(ours, b"on client ping -c 1 10.0.4.2\r")
        assert "1 received" in read_until(ours, "rig# ")
        os.write(ours, b"sleep 1000\r")
        read_until(ours, "sleep 1000")
        time.sleep(0.3)
        os.write(ours, b"\x03")  # ^C is the guest's
        read_until(ours, "rig# ")
        os.write(ours, b"exit 4\r")
        read_until(ours, None)
        assert process.wait(timeout=30) == 4
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def read_until(terminal: int, wanted: str | None, patience_s: float = 60) -> str:
    """What `terminal` shows until `wanted`, or until the other side is closed."""
    shown, deadline = "", time.monotonic() + patience_s
    while wanted is None or wanted not in shown:
        assert time.monotonic() < deadline, f"no {wanted!r} in {shown!r}"
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                shown += os.read(terminal, 4096).decode(errors="replace")
            except OSError:
                assert wanted is None, f"it ended: {shown!r}"
                break
    return shown
