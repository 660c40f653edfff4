"""How long a guest has been silent, without the time in which it could not run.

A guest that waits for a processor on a busy host, or that is suspended together with this process,
does not hang.
"""

import time
from pathlib import Path

#: Interval of looks at the host, in wall seconds: time beyond it this process was stopped, too.
MOST_S = 1.0

_PROC = Path("/proc")


class Patience:
    """Counts the wall seconds in which the guest `pid` had a processor or did not want one."""

    def __init__(self, pid: int, proc: Path = _PROC) -> None:
        self._pid, self._proc = pid, proc
        self._used: dict[int, tuple[float, float]] = {}  # at the last look
        self.heard()

    def heard(self) -> None:
        """Start again: the guest has given a sign of life.

        That is no look at the host, so some of what came before may be taken off the next second.
        """
        self._waited_s = 0.0
        self._looked = time.monotonic()

    def waited_s(self) -> float:
        """Return seconds since `heard`; looks at the host at most once per `MOST_S`."""
        if (passed_s := time.monotonic() - self._looked) >= MOST_S:
            used, ran_s, delayed_s = self._use(), 0.0, 0.0
            for pid, (ran, delayed) in used.items():
                ran_before, delayed_before = self._used.get(pid, (0.0, 0.0))
                ran_s += ran - ran_before
                delayed_s += delayed - delayed_before
            # The kernel and a user process that yield to each other wait in turn, and one runs.
            delayed_s = min(delayed_s, max(0.0, passed_s - ran_s))
            self._waited_s += max(0.0, min(passed_s, MOST_S) - delayed_s)
            self._looked, self._used = time.monotonic(), used
        return self._waited_s

    def _use(self) -> dict[int, tuple[float, float]]:
        """Return for how many seconds each process of the guest ran, and waited for a processor."""
        used, pids = {}, [self._pid]
        while pids:
            pid = pids.pop()
            try:
                # "time on a processor, time in wait of one, slices" (kernel, sched-stats.rst).
                ran, delayed, _ = (self._proc / str(pid) / "schedstat").read_text().split()
                used[pid] = (int(ran) / 1e9, int(delayed) / 1e9)
                children = self._proc / str(pid) / "task" / str(pid) / "children"
                pids += [int(word) for word in children.read_text().split()]
            except (OSError, ValueError):  # it has ended, or the host does not say
                continue
        return used
