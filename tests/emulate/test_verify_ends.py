"""`emulate verify` with several guests at once that is interrupted or killed: none goes on."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from qdisclab.emulation.errors import INTERRUPTED
from tests import ROOT
from tests.waiting import at_work, wait_for


@pytest.mark.kernel
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_no_guest_goes_on(number: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    words = [sys.executable, "-m", "qdisclab.emulate.cli", "verify", "40", "--jobs", "2"]
    only = ["--only", "gbw2015/rrul@2014c/10-"]  # some 40 x 3 s
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    said = tmp_path / "said"
    with (
        said.open("wb") as output,
        subprocess.Popen(
            [*words, *only],
            cwd=ROOT,
            env=environment,
            stdout=output,
            stderr=output,
            # A shell has what it runs in the background ignore it, these tests as well.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        ) as process,
    ):
        try:

            def a_guest_runs() -> bool:
                return any("umid=guest" in command for command in at_work(tmp_path))

            wait_for(a_guest_runs, process, said)
            process.send_signal(number)  # to it alone
            process.wait(timeout=60)
        finally:
            process.kill()
    if number == signal.SIGINT:
        assert process.returncode == INTERRUPTED
    wait_for(lambda: not at_work(tmp_path), seconds=5)
