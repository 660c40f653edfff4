"""Change a link while traffic runs: its rate by a trace as mahimahi has them, or both by steps.

    play.py trace FILE      the rate of each 50 ms is that of its opportunities of 1500 bytes
    play.py steps FILE      lines of: second, Mbit/s, ms

The rate is that of the class 1:10 of box-client, whose queue keeps its packets; the delay is that
of box-server. Each change is printed as a row: time_s since the load began, rate_mbit_s, delay_ms.
"""

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path

WINDOW_MS = 50
FRAME_BYTES = 1514  # what the shaper counts of a packet of 1500 bytes
LEAST_BIT_S = 100_000  # of a window without opportunities

Change = tuple[float, float, float | None]  # seconds, bit/s, ms


def trace(path: Path) -> Iterator[Change]:
    """The file's lines are milliseconds, one per packet that may be sent then; it is repeated."""
    moments = [int(line) for line in path.read_text().split()]
    windows = Counter((ms - 1) // WINDOW_MS for ms in moments)
    number = -(-moments[-1] // WINDOW_MS)
    for window in count():
        bits = 8 * FRAME_BYTES * windows[window % number]
        yield window * WINDOW_MS / 1e3, max(bits * 1e3 / WINDOW_MS, LEAST_BIT_S), None


def steps(path: Path) -> Iterator[Change]:
    """What the file says, once."""
    for line in path.read_text().splitlines():
        second, mbit_s, ms = map(float, line.split())
        yield second, mbit_s * 1e6, ms


def play(changes: Iterator[Change]) -> None:
    """Make each change at its time. One tc takes them all: processes take virtual time to start."""
    began = time.monotonic()
    tc = subprocess.Popen(["tc", "-batch", "-"], stdin=subprocess.PIPE, text=True)
    for second, bit_s, ms in changes:
        time.sleep(max(began + second - time.monotonic(), 0))
        rate = f"rate {bit_s:.0f}bit ceil {bit_s:.0f}bit burst 1600b cburst 1600b"
        print(f"class change dev box-client parent 1: classid 1:10 htb {rate}", file=tc.stdin)
        if ms is not None:  # with a rate of its own netem keeps the order as the delay falls
            delay = f"netem delay {ms:g}ms rate 10gbit limit 100000"
            print(f"qdisc change dev box-server root {delay}", file=tc.stdin)
        tc.stdin.flush()
        row = {"time_s": round(second, 3), "rate_mbit_s": round(bit_s / 1e6, 3)}
        print(json.dumps(row | ({} if ms is None else {"delay_ms": ms})), flush=True)


if __name__ == "__main__":
    play({"trace": trace, "steps": steps}[sys.argv[1]](Path(sys.argv[2])))
