"""How long a guest has been silent, without the time in which it could not run.

A guest that waits for a processor on a busy host, or that is suspended together with this process,
does not hang.
"""

from __future__ import annotations

import time
from pathlib import Path

#: Interval of looks at the host, in wall seconds: time beyond it this process was stopped, too.
MOST_S = 1.0

_PROC = Path("/proc")


class Patience:
    """Counts the wall seconds in which the guest `pid` had a processor or did not want one."""

    def __init__(self, pid: int, proc: Path = _PROC) -> None:
        self._pid, self._proc = pid, proc
        self._delays_s: dict[int, float] = {}  # at the last look
        self.heard()

    def heard(self) -> None:
        """Start again: the guest has given a sign of life.

        That is no look at the host, so some of what came before may be taken off the next second.
        """
        self._waited_s = 0.0
        self._looked = time.monotonic()

    def waited_s(self) -> float:
        """Return seconds since `heard`; looks at the host at most once per `MOST_S`."""
        passed_s = time.monotonic() - self._looked
        if passed_s >= MOST_S:
            delays_s = self._delays()
            delayed_s = sum(now_s - self._delays_s.get(pid, 0.0) for pid, now_s in delays_s.items())
            self._waited_s += max(0.0, min(passed_s, MOST_S) - delayed_s)
            self._looked, self._delays_s = time.monotonic(), delays_s
        return self._waited_s

    def _delays(self) -> dict[int, float]:
        """Return the seconds for which each process of the guest has waited for a processor."""
        delays_s, pids = {}, [self._pid]
        while pids:
            pid = pids.pop()
            try:
                # "time on a processor, time in wait of one, slices" (kernel, sched-stats.rst).
                text = (self._proc / str(pid) / "schedstat").read_text()
                delays_s[pid] = int(text.split()[1]) / 1e9
                children = self._proc / str(pid) / "task" / str(pid) / "children"
                pids += [int(word) for word in children.read_text().split()]
            except (OSError, IndexError):  # it has ended, or the host does not say
                continue
        return delays_s
