"""Tests one after another, each in a network namespace and from a virtual second of its own.

`suite.json` says which. A line of JSON is printed as a test begins and one as it ends, so that
whoever reads them knows which one was under way when the guest hung.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

NAMESPACE = ["unshare", "--net", "sh", "-c", 'ip link set lo up; exec "$@"', "sh"]


def wait_for_a_second():
    """Sleep until the clock shows a whole second, or a few microseconds more."""
    time.sleep(1 - time.time() % 1)


def run(test, timeout_s):
    """Execute a test; return its exit status (None where it took too long), output and time."""
    begin = time.time()
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [*NAMESPACE, *test["command"]],
            cwd=test["folder"],
            stdin=subprocess.DEVNULL,
            stdout=output,  # no pipe, which a process that it leaves running would hold open
            stderr=errors,
            start_new_session=True,
        )
        status = None
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = process.wait(timeout=timeout_s)
        seconds = time.time() - begin
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # it, or what it has left running
        process.wait()
        texts = {name: text(file) for name, file in (("output", output), ("errors", errors))}
    return {"status": status, "seconds": round(seconds, 6), **texts}


def text(file):
    """Return what is in a file."""
    file.seek(0)
    return file.read().decode(errors="replace")


def main():
    with open("suite.json") as file:
        suite = json.load(file)
    for number, test in enumerate(suite["tests"]):
        wait_for_a_second()
        print(json.dumps({"begins": number}), flush=True)
        print(json.dumps({"ends": number, **run(test, suite["timeout_s"])}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
