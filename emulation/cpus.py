"""One CPU a guest: a claim on a CPU that other processes of this user respect.

A guest that moves between CPUs runs two to three times slower, because every system call of the
guest is a switch between two processes of the host; on one CPU that switch is cheap.
"""

from __future__ import annotations

import fcntl
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from emulation.cache import cache_dir


@contextmanager
def claim() -> Iterator[int]:
    """The number of a CPU that this process may use and that no other guest has claimed.

    Where all are claimed, one is shared: slower, never wrong. The claim is a lock on a file, so it
    ends with the process, however that ends. The file has the machine's name, since the nodes of a
    cluster share the cache folder, and not their CPUs.
    """
    usable = sorted(os.sched_getaffinity(0))
    folder = cache_dir("cpu")
    for cpu in usable:
        with (folder / f"{platform.node()}-{cpu}").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            yield cpu
            return
    yield usable[os.getpid() % len(usable)]


@contextmanager
def hogs() -> Iterator[None]:
    """While it lasts, two processes on each CPU that this one may use compute all the time.

    They end with this process, however that ends: their standard input does.
    """
    code = (
        "import os, select, sys\n"
        "os.sched_setaffinity(0, {int(sys.argv[1])})\n"
        "while not select.select([0], [], [], 0)[0]:\n"
        "    sum(range(100000))\n"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", code, str(cpu)], stdin=subprocess.PIPE)
        for cpu in sorted(os.sched_getaffinity(0)) * 2
    ]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.communicate()
