"""The first process of a guest whose job has kernel modules: loads them, then does the job.

It lies in the guest as `main.py`, and what other jobs call so as `wired_main.py` (`emulation.vm`).
Each module is `/job/modules/<name>.ko`. A plugin `q_<kind>.so` beside it teaches the options of a
qdisc to `tc`, which looks where TC_LIB_DIR says.
"""

import ctypes
import json
import os
import runpy
import sys

PLACE = "/job/modules"
_FINIT_MODULE = 313  # x86-64


class NotLoaded(Exception):
    """A module that the kernel does not take."""

    cause = "rig"


def load(name):
    """Put a module of the job into the kernel (finit_module(2)); raises `NotLoaded`."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(f"{PLACE}/{name}.ko", "rb") as file:
        if libc.syscall(_FINIT_MODULE, file.fileno(), b"", 0):
            reason = os.strerror(ctypes.get_errno())
            raise NotLoaded(f"the kernel does not take the module {name}: {reason}; see kernel.log")


def main(folder):
    """Do what the code of the job in `folder` does, with the modules."""
    sys.path.insert(0, folder)
    import wired_main

    do_job = wired_main.work

    def work(status):
        os.environ["TC_LIB_DIR"] = PLACE
        with open("/job/job.json") as file:
            for module in json.load(file)["modules"]:
                load(module["name"])
        do_job(status)

    wired_main.work = work
    if os.path.exists(f"{folder}/wifi_main.py"):  # brings a rig that knows radio channels
        runpy.run_path(f"{folder}/wifi_main.py", run_name="__main__")
    else:
        wired_main.main()


if __name__ == "__main__":
    main(os.path.dirname(os.path.abspath(__file__)))
