"""A gateway's end of the link: its largest packet, and its rate, which may change.

    link.py left|right LOAD MTU LENGTH_S CHANGES    # such as '50=10 100=1': second=Mbit/s

It prints when the load began, in ns since 1970, and a row for each change during the load.
"""

import ctypes
import json
import os
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

from loads import ETHERNET_MTU, begin, set_mtu, wait_until

#: In pages, of all hosts together: 128 MiB are never reached. A guest's default is a few MB.
TCP_MEMORY = "16384 24576 32768"
PR_SET_TIMERSLACK = 29
AT_ONCE_US = 10  # most delay of a change of rate: a tenth of a packet at 100 Mbit/s
KNOWN_NEIGHBOUR_MS = "36000000"  # no run is that long


def main(node: str, load: str, mtu: str, length_s: str, changes: str) -> None:
    """Set up the link, and make each change at its time."""
    interface = "left-right" if node == "left" else "right-left"
    ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)  # wake when asked to, to the ns
    began = begin()
    keep_neighbours()
    set_tcp_memory()
    if int(mtu) != ETHERNET_MTU:
        set_mtu(interface, int(mtu))
        renew(interface)
    tc = Tc(interface)
    wait_until(began)
    print(json.dumps({"time_s": 0.0, "load": load, "began_ns": time.time_ns()}), flush=True)
    for change in changes.split():
        second, mbit_s = map(float, change.split("="))
        if second >= float(length_s):
            break
        wait_until(began + second)
        tc.set_rate(mbit_s)
        late_us = round(1e6 * (time.monotonic() - began - second), 1)
        if late_us > AT_ONCE_US:
            sys.exit(f"{interface}: the rate changed {late_us} us after {second:g} s")
        row = {"time_s": second, "rate_mbit_s": mbit_s, "late_us": late_us}
        print(json.dumps(row), flush=True)


def keep_neighbours() -> None:
    """Prevent ARP during the load: it would enter the queue under test."""
    for path in Path("/proc/sys/net/ipv4/neigh").glob("*/base_reachable_time_ms"):
        path.write_text(KNOWN_NEIGHBOUR_MS)


def set_tcp_memory() -> None:
    """Set what is one for all hosts, from outside of them."""
    line = f"echo {TCP_MEMORY} > /proc/sys/net/ipv4/tcp_mem"
    subprocess.run(["nsenter", "--net=/proc/1/ns/net", "sh", "-c", line], check=True)


def renew(interface: str) -> None:
    """Make the queue under test anew if it is CoDel, which looks at the MTU once."""
    shown = _queue(interface)
    if shown[0] == "codel":
        words = [word.removesuffix("p") if word[:1].isdigit() else word for word in shown]
        where = f"dev {interface} parent 1:1"
        options = " ".join(words[words.index("limit") :])
        lines = f"qdisc del {where}\nqdisc add {where} handle 10: codel {options}\n"
        subprocess.run(["tc", "-batch", "-"], input=lines, text=True, check=True)
        if _queue(interface) != shown:
            sys.exit(f"{interface}: the queue is {_queue(interface)}, not {shown}")


def _queue(interface: str) -> list[str]:
    """Return the words with which tc shows the queue under test, without `qdisc`."""
    command = ["tc", "qdisc", "show", "dev", interface]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return next(line.split()[1:] for line in shown.splitlines() if " 10: " in line)


class Tc:
    """A tc that does each line at once: to start one would take virtual time.

    It answers line by line, as it writes to what it takes for a terminal.
    """

    def __init__(self, interface: str) -> None:
        terminal, end = os.openpty()
        command = ["tc", "-batch", "-"]
        self._tc = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=end, bufsize=0)
        os.close(end)
        self._answers = os.fdopen(terminal)
        self._interface = interface
        self._burst = self._ask()["burst"]

    def set_rate(self, mbit_s: float) -> None:
        """Change the rate of the link, whose bucket stays, and read it back."""
        burst = f"burst {self._burst} cburst {self._burst}"
        change = f"class change dev {self._interface} parent 1: classid 1:1 htb"
        seen = self._ask(f"{change} rate {1e6 * mbit_s:.0f}bit {burst}\n")
        if seen["rate"] != f"{mbit_s:g}Mbit" or seen["burst"] != self._burst:
            sys.exit(f"{self._interface}: the link is {seen}, not of {mbit_s:g} Mbit/s")

    def _ask(self, line: str = "") -> dict[str, str]:
        """Have tc do a `line`, and return what it then says of the class of the link."""
        assert self._tc.stdin is not None
        show = f"class show dev {self._interface} classid 1:1\n"
        self._tc.stdin.write((line + show).encode())
        return dict(pairwise(self._answers.readline().split()))


if __name__ == "__main__":
    main(*sys.argv[1:])
