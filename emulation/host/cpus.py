"""One CPU per guest: a claim on a CPU that all users of this machine respect.

A guest that moves between CPUs runs two to three times slower, because every system call of the
guest is a switch between two processes of the host; on one CPU that switch is cheap.

A claim is an abstract Unix socket with the CPU's number. Its name belongs to the network namespace,
not to a folder: users with other homes and caches have the same names, nobody can put a link or a
file of other rights in its place, batch systems that give each job a /tmp and /dev/shm of its own
do not separate them, and it ends with its process, however that ends. Whoever claims CPUs without
using them makes other guests share a CPU: slower, never wrong. A container has a network namespace
of its own. It should have a cpuset as well, which is respected; without a cpuset it gets the CPU
that idles most by /proc/stat, which covers the whole machine.
"""

import multiprocessing
import os
import random
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from qdisclab.emulation.host import facts, pool

#: Seconds for which the idle time of CPUs is observed: five ticks of the accounting.
LOOK_S = 0.05

STAT = Path("/proc/stat")


@contextmanager
def claim() -> Iterator[int]:
    """Claim a CPU that this process may use and no other guest has claimed; yield its number.

    If all are claimed, the CPU that idles most is shared: slower, never wrong.
    """
    usable = sorted(os.sched_getaffinity(0))
    if facts.in_container():
        usable = by_idleness(usable)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as held:
        for cpu in usable:
            try:
                held.bind(f"\0qdisc-lab/cpu/{cpu}")
            except OSError:  # claimed, or no such sockets here
                continue
            break
        else:
            cpu = by_idleness(usable)[0]
        yield cpu


def by_idleness(cpus: list[int], stat: Path = STAT) -> list[int]:
    """Sort `cpus` by how much they idle just now, most first; equal ones in random order."""
    if len(cpus) == 1:
        return cpus
    before = _idle(stat)
    time.sleep(LOOK_S)
    after = _idle(stat)
    idled = {cpu: after.get(cpu, 0) - before.get(cpu, 0) for cpu in cpus}
    return sorted(cpus, key=lambda cpu: (-idled[cpu], random.random()))


def _idle(stat: Path) -> dict[int, int]:
    """Return each CPU's idle ticks, including those waiting for disks (proc(5), `stat`)."""
    try:
        rows = [line.split() for line in stat.read_text().splitlines() if line.startswith("cpu")]
    except OSError:
        return {}
    return {int(row[0][3:]): int(row[4]) + int(row[5]) for row in rows if row[0][3:].isdigit()}


@contextmanager
def hogs() -> Iterator[None]:
    """Keep each CPU that this process may use busy with two processes that compute all the time."""
    cpus = sorted(os.sched_getaffinity(0)) * 2
    fork = multiprocessing.get_context("fork")
    burning = [fork.Process(target=_burn, args=(cpu, os.getpid())) for cpu in cpus]
    for process in burning:
        process.start()
    try:
        yield
    finally:
        for process in burning:
            process.kill()
            process.join()


def _burn(cpu: int, parent: int) -> None:
    pool.follow(parent)
    os.sched_setaffinity(0, {cpu})
    while True:
        pass
