"""Processes that end with the one that started them: workers of a pool, and guests."""

import os
import subprocess
import sys

from qdisclab.emulation.host.pool import workers
from tests.waiting import wait_for

PROGRAM = """
import os, time
from qdisclab.emulation.host.pool import workers

def slowly(number):
    time.sleep(0.05)
    return os.getpid()

with workers(2) as pool:
    print(*set(pool.map(slowly, range(8))), flush=True)
    time.sleep(1000)
"""

STARTS_LATE = """
import os, subprocess, sys, time
from qdisclab.emulation.machine import vm

def before_boot(parent=os.getpid()):
    print(os.getpid(), flush=True)
    time.sleep(1)  # in which the parent is killed
    vm._before_boot(0, parent, lambda: None)

subprocess.Popen(["sleep", "1000"], preexec_fn=before_boot)
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
    wait_for(lambda: not any(map(is_there, pids)), seconds=30, name="the workers' end")


def test_no_guest_starts_whose_parent_was_killed_before() -> None:
    program = [sys.executable, "-c", STARTS_LATE]
    with subprocess.Popen(program, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        guest = int(process.stdout.readline())
        process.kill()
    wait_for(lambda: not is_there(guest), seconds=30)


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
