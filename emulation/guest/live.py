"""flent's traffic, to be watched: what its tools have printed so far is copied out as it goes.

The tools' output is in files without a name until flent reads it at the end. With each beat of the
status its new part is appended to `/job/out/live/<pid>`, whose first line is the tool's command
line, and what the kernel has counted of the qdiscs to `/job/out/live/qdiscs`: a line of JSON with
the time, the node and what `tc -s` says.
"""

import json
import os
import time

from readback import installed
from traffic import run_flent

PLACE = "/job/out/live"
TOOLS = ("netperf", "fping")


class Outputs:
    """The outputs of the tools that run, or ran."""

    def __init__(self, rig):
        os.makedirs(PLACE)
        self._rig = rig
        self._nodes = sorted({node for (node, _), port in rig.ports.items() if port["qdiscs"]})
        self._open = {}  # by process id: the output and its copy

    def copying(self, status):
        """`status`, which first copies what is new."""

        def copied(step, **details):
            self._copy()
            status(step, **details)

        return copied

    def _copy(self):
        for pid in os.listdir("/proc"):
            if pid.isdigit() and pid not in self._open:
                self._find(pid)
        for output, copy in self._open.values():
            copy.write(output.read())
            copy.flush()
        with open(f"{PLACE}/qdiscs", "a") as counts:
            for node in self._nodes:
                line = [time.time(), node, installed(self._rig, node, statistics=True)]
                counts.write(json.dumps(line) + "\n")

    def _find(self, pid):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            if os.path.basename(words[0]).decode() in TOOLS:
                output = open(f"/proc/{pid}/fd/1", "rb")
                copy = open(f"{PLACE}/{pid}", "wb")
                copy.write(b" ".join(words) + b"\n")
                self._open[pid] = output, copy
        except (FileNotFoundError, ProcessLookupError):  # it has ended
            pass


def run(rig, traffic, status):
    """What flent would do for `traffic`; an option with several words is given once a word."""
    options = {name: value.split() for name, value in traffic["options"].items()}
    outputs = Outputs(rig)
    run_flent(rig, {**traffic, "options": options}, outputs.copying(status))
    outputs.copying(status)("watched")
