"""Wait for what a process is to do, and see what of it is at work."""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path


def wait_for(
    what: Callable[[], object],
    process: subprocess.Popen[bytes] | None = None,
    said: Path | None = None,
    *,
    seconds: float = 300,
    name: str = "it",
) -> None:
    """Until `what`, which has a `name`, is so; `said` is where the process, which must not end
    before, writes why it does."""
    deadline = time.monotonic() + seconds
    while not what():
        if process is not None:
            assert process.poll() is None, f"it has ended: {said.read_text() if said else ''}"
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {name}"
        time.sleep(0.05)


def at_work(place: Path) -> list[str]:
    """The command lines of what was started for the folder `place`, guests among them."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if os.fsencode(place / "tmp") in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:  # it has ended, or is another's
            continue
    return found
