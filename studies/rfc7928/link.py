"""Change the rate of the class 1:10 of box-receiver: `link.py SECOND=MBIT_S…`.

When the load began is printed as a row (`began_ns`, since 1970), and so is each change: `time_s`
since then, and `rate_mbit_s`.
"""

import json
import subprocess
import sys
import time

WHERE = "dev box-receiver parent 1: classid 1:10 htb"


def main(*changes: str) -> None:
    """Make each change at its time. One tc makes them all: to start one takes virtual time."""
    began = time.monotonic()
    print(json.dumps({"time_s": 0.0, "began_ns": time.time_ns()}), flush=True)
    tc = subprocess.Popen(["tc", "-batch", "-"], stdin=subprocess.PIPE, text=True)
    assert tc.stdin is not None
    for change in changes:
        second, mbit_s = map(float, change.split("="))
        time.sleep(max(0.0, began + second - time.monotonic()))
        rate = f"rate {1e6 * mbit_s:.0f}bit ceil {1e6 * mbit_s:.0f}bit burst 1600b cburst 1600b"
        print(f"class change {WHERE} {rate}", file=tc.stdin, flush=True)
        print(json.dumps({"time_s": second, "rate_mbit_s": mbit_s}), flush=True)
    tc.stdin.close()
    sys.exit(tc.wait())


if __name__ == "__main__":
    main(*sys.argv[1:])
