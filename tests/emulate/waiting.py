"""Wait for what a process is to do."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path


def wait_for(
    what: Callable[[], object], process: subprocess.Popen[bytes], said: Path | None = None
) -> None:
    """Until `what` is so; `said` is where the process writes why it ended before."""
    deadline = time.monotonic() + 300
    while not what():
        assert process.poll() is None, f"it has ended: {said.read_text() if said else ''}"
        assert time.monotonic() < deadline
        time.sleep(0.1)
