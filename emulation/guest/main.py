"""The first process of a guest: do the work that the job asks for, then switch the guest off.

`/job/job.json` says what to do (`emulation.config.job` writes it), `/job/out/` takes the results,
`/job/status` takes a line of JSON per step, the last of them `done` or `failed`. The job's `work`
is one of `WORKS`, or a module beside this one; a job without it is a run. The host decides which
files lie beside this one (`emulation.machine.guestcode`), so that a work imports what it needs
where it is done.
"""

import ctypes
import importlib
import json
import os
import resource
import sys
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


#: Open files per process. mnexec closes all that there could be, each with a failing system call.
OPEN_FILES = 128

#: The program of the work `script`.
SCRIPT = "/job/script.py"


class Status:
    """Writes the lines of `/job/status`: JSON objects with the guest's time in seconds."""

    def __init__(self, path):
        self._file = open(path, "a", buffering=1)

    def __call__(self, step, **details):
        line = {"step": step, "virtual_s": round(time.monotonic(), 6), **details}
        self._file.write(json.dumps(line, sort_keys=True) + "\n")


def power_off():
    """Switch the guest off (reboot(2), LINUX_REBOOT_CMD_POWER_OFF)."""
    sys.stdout.flush()
    ctypes.CDLL(None, use_errno=True).reboot(0x4321FEDC)


def run(job, status):
    """Build the rig, send the traffic through it, and store the counters of its qdiscs.

    Returns the objects of the run, so that they live until the guest has ended.
    """
    import traffic
    from capture import Captures
    from readback import read

    rig = checked_rig(job, status)
    if "probes" in job:
        ctypes._dlopen(job["probes"], 0)  # not CDLL: nothing is left for Python to collect
    with Captures(rig, job["queues"], job.get("capture", False)) as captures:
        traffic.run(rig, job["traffic"], captures.draining(status))
        with open("/job/out/qdiscs.json", "w") as file:
            json.dump(read(rig, statistics=True), file, sort_keys=True)
    return rig, captures


def shell(job, status):
    """Build the rig and give a shell in it."""
    importlib.import_module("shell").run(checked_rig(job, status), job, status)


def boot(job, status):
    """Do nothing but boot."""
    status("booted")


def script(job, status):
    """Run the Python program that lies in the job; it has `job` and `status`."""
    with open(SCRIPT) as file:
        exec(compile(file.read(), SCRIPT, "exec"), {"job": job, "status": status})  # noqa: S102


def programs(job, status):
    """Run programs of the user's, without a rig."""
    status("booted")
    importlib.import_module("programs").run(None, job["traffic"], status)


WORKS = {
    "run": run,
    "programs": programs,
    "shell": shell,
    "boot": boot,
    "script": script,
}


def checked_rig(job, status):
    """Return the rig of `job`, built and read back; `Failure` where it is not as asked for."""
    from readback import compare, read
    from rig import Failure, Rig, set_parameters

    if job.get("drivers"):
        importlib.import_module("wifi_rig")  # now: to look for its files takes virtual time
    status("booted")
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, 4096))
    set_parameters(job["parameters"])
    rig = Rig(job)
    status("built", interfaces=len(rig.ports))
    problems = compare(rig.ports, read(rig))
    if problems:
        raise Failure("rig", *problems)
    status("checked")
    return rig


def main():
    status = Status("/job/status")
    try:
        with open("/job/job.json") as file:
            job = json.load(file)
        if "layers" in job:
            importlib.import_module("layers").mount(job["layers"])
        if "modules" in job:
            importlib.import_module("modules").load_all()
        work = job.get("work", "run")
        do = WORKS[work] if work in WORKS else importlib.import_module(work).run
        # To let go of what was made takes virtual time, with captures less: not before `done`.
        kept = do(job, status)  # noqa: F841
        status("done")
    except Exception as error:
        problems = getattr(error, "problems", [str(error)])
        status("failed", cause=getattr(error, "cause", "guest"), problems=problems)
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
