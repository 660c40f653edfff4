"""Packet captures: a tcpdump at each place that the job names."""

import os
import re
import signal
import subprocess
import time

from rig import Failure

#: Bytes of a packet that are kept: all headers.
SNAP_BYTES = 128

#: Of the ring between kernel and tcpdump, in KiB.
BUFFER_KIB = 4096

#: How long tcpdump may take until it listens.
PATIENCE_S = 10.0


class Captures:
    """The running captures; a context manager around the traffic."""

    def __init__(self, rig, places):
        self._rig, self._places, self._running = rig, places, []

    def __enter__(self):
        for place in self._places:
            self._running.append((place, self._start(place["node"], place["interface"])))
        return self

    def __exit__(self, kind, error, trace):
        for place, process in self._running:
            process.send_signal(signal.SIGINT)
            process.wait()
            if error is None:
                self._check(place["node"], process)

    def _start(self, node, interface):
        # Straight to the host's file: a capture can be larger than the guest's memory.
        command = [
            "tcpdump", "--interface", interface, "-n", "--nano", "-s", str(SNAP_BYTES),
            "-B", str(BUFFER_KIB), "-Z", "root", "-w", f"/job/out/{node}.pcap",
        ]  # fmt: skip
        with open(_said(node), "w") as err:
            process = subprocess.Popen(
                self._rig.inside(node, *command),
                stdin=subprocess.DEVNULL, stdout=err, stderr=err,
            )  # fmt: skip
        deadline = time.monotonic() + PATIENCE_S
        while "listening on" not in _read(node):
            if process.poll() is not None or time.monotonic() > deadline:
                raise Failure("traffic", f"tcpdump at {node} does not listen: {_read(node)}")
            time.sleep(0.01)
        return process

    def _check(self, node, process):
        said = _read(node)
        lost = re.search(r"(\d+) packets dropped by kernel", said)
        if process.returncode or lost is None or int(lost.group(1)):
            raise Failure("traffic", f"tcpdump at {node}: {said.strip()}")


def _said(node):
    return f"/job/out/tcpdump-{node}.log"


def _read(node):
    if not os.path.exists(_said(node)):
        return ""
    with open(_said(node)) as file:
        return file.read()
