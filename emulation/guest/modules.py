"""Kernel modules of the job, each `/job/modules/<name>.ko`.

A plugin `q_<kind>.so` beside a module teaches the options of its qdisc to `tc`, which looks where
TC_LIB_DIR says.
"""

import ctypes
import json
import os

PLACE = "/job/modules"
_FINIT_MODULE = 313  # x86-64


class NotLoaded(Exception):
    """A module that the kernel does not take."""

    cause = "rig"


def load_all():
    """Load the modules of the job, for `tc` as well."""
    os.environ["TC_LIB_DIR"] = PLACE
    with open("/job/job.json") as file:
        modules = json.load(file)["modules"]
    for module in modules:
        load(module["name"])


def load(name):
    """Put a module of the job into the kernel (finit_module(2)); raises `NotLoaded`."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(f"{PLACE}/{name}.ko", "rb") as file:
        if libc.syscall(_FINIT_MODULE, file.fileno(), b"", 0):
            reason = os.strerror(ctypes.get_errno())
            raise NotLoaded(f"the kernel does not take the module {name}: {reason}; see kernel.log")
