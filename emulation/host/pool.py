"""Processes that share work, and end with the one that started them, whatever ends that."""

import ctypes
import multiprocessing
import os
import signal
from concurrent.futures import ProcessPoolExecutor

_PR_SET_PDEATHSIG = 1


def workers(jobs: int | None = None, start: str = "fork") -> ProcessPoolExecutor:
    """Return a pool of `jobs` processes, by default one a core, with the `start` method of
    multiprocessing.

    Without `follow`, those of a process that is killed do what they have been given, and then wait
    for more for ever.
    """
    return ProcessPoolExecutor(
        jobs or len(os.sched_getaffinity(0)),
        multiprocessing.get_context(start),
        initializer=follow,
        initargs=(os.getpid(),),
    )


def follow(parent: int, by: signal.Signals = signal.SIGKILL) -> None:
    """End this process `by` a signal when `parent`, which has just started it, ends (prctl(2))."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, by)
    if os.getppid() not in (parent, 0):  # it has ended before; 0 is one of another PID namespace
        os._exit(1)
