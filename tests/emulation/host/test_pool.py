"""Pools of processes: that no worker outlives the process that started it."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from emulation.host.pool import workers

PROGRAM = """
import os, time
from emulation.host.pool import workers

def slowly(number):
    time.sleep(0.05)
    return os.getpid()

with workers(2) as pool:
    print(*set(pool.map(slowly, range(8))), flush=True)
    time.sleep(1000)
"""


def test_a_pool_works() -> None:
    with workers(2) as pool:
        assert list(pool.map(abs, (-1, -2))) == [1, 2]


def test_workers_end_with_a_process_that_is_killed() -> None:
    process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    pids = [int(word) for word in process.stdout.readline().split()]
    assert pids and all(map(is_there, pids))
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 30
    while any(map(is_there, pids)):
        assert time.monotonic() < deadline, "a worker is still there"
        time.sleep(0.05)


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
