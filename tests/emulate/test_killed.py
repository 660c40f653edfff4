"""`./reproduce-all` that is killed, or whose terminal is closed: nothing of it goes on."""

import fcntl
import os
import pty
import signal
import subprocess
import termios
import time
from pathlib import Path

import pytest

from qdisclab.emulation.errors import INTERRUPTED
from tests.waiting import at_work, wait_for


@pytest.mark.kernel
@pytest.mark.parametrize("ended_by", ["kill", "closed terminal"])
def test_a_killed_reproduce_all_leaves_nothing_at_work(ended_by: str, scratch: Path) -> None:
    options = ["--emulate", "--scale", "smoke", "--figure", "gbw2015/fig2b", "--jobs", "1"]
    environment = {**os.environ, "TMPDIR": str(scratch / "tmp")}
    ours, its = pty.openpty()
    os.set_blocking(ours, False)
    said = scratch / "said"

    def shown() -> bytes:
        """What came on the terminal, which blocks where nobody looks."""
        try:
            return os.read(ours, 1 << 16)
        except OSError:  # nothing, or closed
            return b""

    def own_terminal() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup's choice would be inherited
        os.setsid()
        fcntl.ioctl(its, termios.TIOCSCTTY, 0)

    with (
        said.open("wb") as stderr,
        subprocess.Popen(
            ["./reproduce-all", *options], cwd=scratch, env=environment, stdin=its, stdout=its,
            stderr=stderr, preexec_fn=own_terminal,
        ) as process,
    ):  # fmt: skip
        os.close(its)
        try:

            def a_guest_runs() -> bool:
                shown()
                return any("umid=guest" in command for command in at_work(scratch))

            wait_for(a_guest_runs, process, said)
            if ended_by == "kill":
                process.terminate()
            else:
                os.close(ours)  # the kernel sends SIGHUP
            deadline = time.monotonic() + 120
            while process.poll() is None and time.monotonic() < deadline:
                shown()
                time.sleep(0.1)
        finally:
            process.kill()
    assert process.returncode == INTERRUPTED
    assert at_work(scratch) == []
    assert f"==> stopped ({ended_by}), and nothing goes on; the same command continues" in (
        said.read_text()
    )
    assert not [*scratch.glob("tmp/guest-*")]
    left = {path.name.partition(".")[0] for path in scratch.glob("results/data/**/*.flent.gz")}
    assert left == {path.stem for path in scratch.glob("results/data/**/seed-*.json")}
