"""How long a guest has said nothing, without the time in which it could not have said anything.

A guest that waits for a processor on a busy host, or that is suspended together with this process,
is not one that hangs.
"""

from __future__ import annotations

import time
from pathlib import Path

#: Most that passes between two looks, in wall seconds: more, and this process was stopped, too.
MOST_S = 1.0

_PROC = Path("/proc")


class Patience:
    """Counts the wall seconds in which the guest `pid` had a processor or did not want one."""

    def __init__(self, pid: int, proc: Path = _PROC) -> None:
        self._pid, self._proc = pid, proc
        self.heard()

    def heard(self) -> None:
        """The guest has said something: begin anew."""
        self._waited_s = 0.0
        self._looked = time.monotonic()
        self._delays_s = self._delays()

    def waited_s(self) -> float:
        """Seconds since the guest was heard. Looks at the host once a `MOST_S` at most."""
        passed_s = time.monotonic() - self._looked
        if passed_s >= MOST_S:
            delays_s = self._delays()
            delayed_s = sum(now_s - self._delays_s.get(pid, 0.0) for pid, now_s in delays_s.items())
            self._waited_s += max(0.0, min(passed_s, MOST_S) - delayed_s)
            self._looked, self._delays_s = time.monotonic(), delays_s
        return self._waited_s

    def _delays(self) -> dict[int, float]:
        """Process of the guest -> seconds in which it has waited for a processor."""
        found, open_ = {}, [self._pid]
        while open_:
            pid = open_.pop()
            try:
                # "time on a processor, time in wait of one, slices" (kernel, sched-stats.rst).
                text = (self._proc / str(pid) / "schedstat").read_text()
                found[pid] = int(text.split()[1]) / 1e9
                children = self._proc / str(pid) / "task" / str(pid) / "children"
                open_ += [int(word) for word in children.read_text().split()]
            except (OSError, IndexError):  # it has ended, or the host does not tell
                continue
        return found
