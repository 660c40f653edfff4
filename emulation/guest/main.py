"""The job of a guest: build the rig, read it back, run the traffic, write what was seen.

Runs as the guest's first process. `/job/job.json` says what to do (`emulation.model` writes it),
`/job/out/` takes what comes of it, `/job/status` takes a line of JSON a step, the last of them
`done` or `failed`. Whatever happens, the guest is switched off at the end.
"""

import contextlib
import ctypes
import json
import os
import resource
import sys
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


_TIMER_ABSTIME = 1  # linux/time.h

#: Open files a process. mnexec closes all that there could be, each with a failing system call.
OPEN_FILES = 128


class Status:
    """The lines of `/job/status`: one JSON object each, with the guest's time in seconds."""

    def __init__(self, path):
        self._file = open(path, "a", buffering=1)

    def __call__(self, step, **details):
        line = {"step": step, "virtual_s": round(time.monotonic(), 6), **details}
        self._file.write(json.dumps(line, sort_keys=True) + "\n")


def settle(step_ns=100_000_000):
    """Sleep until the guest's clock is at a multiple of `step_ns`.

    Opening a file or a socket reads the clock, and each such read takes 256 ns of virtual time.
    With this the traffic starts at the same instant with and without captures.
    """
    now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    until = Timespec(*divmod(now - now % step_ns + step_ns, 10**9))
    libc = ctypes.CDLL(None)
    if libc.clock_nanosleep(time.CLOCK_MONOTONIC, _TIMER_ABSTIME, ctypes.byref(until), None):
        raise OSError("clock_nanosleep")


class Timespec(ctypes.Structure):
    """`struct timespec`."""

    _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]


def power_off():
    """Switch the guest off (reboot(2), LINUX_REBOOT_CMD_POWER_OFF)."""
    sys.stdout.flush()
    ctypes.CDLL(None, use_errno=True).reboot(0x4321FEDC)


def work(status):
    import traffic
    from readback import compare, read
    from rig import Rig, set_parameters

    with open("/job/job.json") as file:
        job = json.load(file)
    status("booted")
    if "boot" in job:
        status("done")
        return
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, 4096))
    set_parameters(job["parameters"])
    rig = Rig(job)
    status("built", interfaces=len(rig.ports))
    seen = read(rig)
    problems = compare(rig.ports, seen)
    if problems:
        status("failed", cause="rig", problems=problems)
        return
    status("checked")
    if "shell" in job:
        import shell

        shell.run(rig, job, status)
        status("done")
        return
    beat = status
    with contextlib.ExitStack() as until_the_end:
        if job.get("captures"):
            from capture import Captures

            captures = until_the_end.enter_context(Captures(rig, job["captures"]))
            beat = captures.draining(status)
        settle()
        traffic.run(rig, job["traffic"], beat)
    with open("/job/out/qdiscs.json", "w") as file:
        json.dump(read(rig, statistics=True), file, sort_keys=True)
    status("done")


def main():
    status = Status("/job/status")
    try:
        work(status)
    except Exception as error:
        status("failed", cause=getattr(error, "cause", "guest"), problems=[str(error)])
        traceback.print_exc()
    finally:
        with open("/dev/kmsg") as log, open("/job/out/kernel.log", "w") as out:
            os.set_blocking(log.fileno(), False)
            try:
                while True:
                    out.write(os.read(log.fileno(), 8192).decode("utf-8", "replace"))
            except BlockingIOError:
                pass
        power_off()


if __name__ == "__main__":
    main()
