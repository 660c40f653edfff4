"""Processes that share work, and end with the one that started them, whatever ends that."""

import ctypes
import multiprocessing
import os
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Final, TypeVar

FEW: Final = 8  # below this, starting processes costs more than it saves

_PR_SET_PDEATHSIG = 1

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def mapped(
    of: Callable[[_Item], _Result], items: Sequence[_Item], jobs: int | None = None
) -> list[_Result]:
    """Return `of` of each of `items`, by `jobs` processes where these are not `FEW`."""
    if len(items) < FEW or jobs == 1:
        return [of(item) for item in items]
    with workers(jobs) as pool:
        return list(pool.map(of, items, chunksize=4))


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
