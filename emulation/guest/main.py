"""The job of a guest: build the rig, read it back, run the traffic, write what was seen.

Runs as the guest's first process. `/job/job.json` says what to do (`emulation.model` writes it),
`/job/out/` takes what comes of it, `/job/status` takes a line of JSON a step, the last of them
`done` or `failed`. Whatever happens, the guest is switched off at the end.
"""

import ctypes
import json
import os
import resource
import sys
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


#: Open files a process. mnexec closes all that there could be, each with a failing system call.
OPEN_FILES = 128


class Status:
    """The lines of `/job/status`: one JSON object each, with the guest's time in seconds."""

    def __init__(self, path):
        self._file = open(path, "a", buffering=1)

    def __call__(self, step, **details):
        line = {"step": step, "virtual_s": round(time.monotonic(), 6), **details}
        self._file.write(json.dumps(line, sort_keys=True) + "\n")


def power_off():
    """Switch the guest off (reboot(2), LINUX_REBOOT_CMD_POWER_OFF)."""
    sys.stdout.flush()
    ctypes.CDLL(None, use_errno=True).reboot(0x4321FEDC)


def work(status):
    import traffic
    from capture import Captures
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
    with Captures(rig, job["queues"], job.get("capture", False)) as captures:
        traffic.run(rig, job["traffic"], captures.draining(status))
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
