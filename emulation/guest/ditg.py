"""D-ITG in the guest: the receivers, and the control server that flent asks for them.

flent has one-way delays measured by D-ITG: before a test it asks a control server beside the
receiver, by XML-RPC, for a receiver of its own, and afterwards for what that one logged (flent,
`DitgRunner`). This is such a server, for a network in which nobody needs a secret to be kept out.
"""

import os
import shutil
import subprocess
import sys
import threading
import time
from xmlrpc.server import SimpleXMLRPCServer

CONTROL_PORT = 8000

#: Signalling port of the first receiver; each takes two, one of them for TCP data.
FIRST_PORT = 9000

#: How much longer than its test a receiver lives, in seconds: flent asks for the results, once a
#: second, for ten seconds after the sender has ended.
GRACE_S = 5.0

#: After so long a receiver listens, or has ended because it cannot.
SETTLE_S = 0.1

FOLDER = "/tmp/ditg"


def start(rig, traffic):
    """The control server, listening on the server's node."""
    from traffic import serve

    os.makedirs(FOLDER)
    teach_pickle()
    command = [sys.executable, os.path.abspath(__file__), traffic["hosts"][0]["address"]]
    return [serve(rig, traffic["server"], command, "tcp", CONTROL_PORT)]


def teach_pickle():
    """Have each Python that is started from now on copy an XML-RPC client by its address.

    flent 2.1.1 parses what its tools said in processes of their own and pickles its runners for it;
    the client that `DitgRunner` holds takes pickle's questions for calls, and flent never ends.
    """
    shutil.copyfile(
        os.path.join(os.path.dirname(os.path.abspath(__file__)), "ditg_pickle.py"),
        f"{FOLDER}/sitecustomize.py",
    )
    os.environ["PYTHONPATH"] = FOLDER


class Control:
    """What flent calls. Times are seconds, intervals milliseconds."""

    def __init__(self, address):
        self._address = address
        self._tests = {}

    def request_new_test(self, length, interval, secret, raw):
        """Start a receiver for a test of `length`; `secret` is not looked at."""
        number = len(self._tests)
        name = f"test-{number}"
        port = FIRST_PORT + 2 * number
        log = f"{FOLDER}/{name}.log"
        receiver = subprocess.Popen(
            ["ITGRecv", "-l", log, "-a", self._address, "-Sp", str(port)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
        )
        time.sleep(SETTLE_S)
        if receiver.poll() is not None:
            return {"status": "Error", "message": f"ITGRecv ended with {receiver.returncode}"}
        self._tests[name] = {"log": log, "interval": int(interval), "raw": raw, "done": False}
        lifetime = float(length) + GRACE_S
        threading.Thread(target=self._end, args=(name, receiver, lifetime), daemon=True).start()
        return {"status": "OK", "test_id": name, "port": port}

    def get_test_results(self, name):
        """What the receiver logged: averages an interval, and each packet where that was asked."""
        test = self._tests.get(name)
        if test is None or not test["done"]:
            return {"status": "Error", "message": f"no data of '{name}' yet"}
        averages = decode(test["log"], "-c", str(test["interval"]), ".averages")
        packets = decode(test["log"], "-l", ".packets")
        if not averages or not packets:
            return {"status": "Error", "message": "no packet arrived"}
        found = {"status": "OK", "data": averages, "utc_offset": first_arrival(packets)}
        if test["raw"]:
            found["raw"] = packets
        return found

    def _end(self, name, receiver, lifetime_s):
        time.sleep(lifetime_s)
        receiver.terminate()
        receiver.wait()
        self._tests[name]["done"] = True


def decode(log, *options):
    """What ITGDec writes about a log with `options`, the last of which ends the file's name."""
    *words, end = options
    subprocess.run(
        ["ITGDec", log, *words, log + end],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with open(log + end) as file:
        return file.read()


def first_arrival(packets):
    """Seconds since the epoch of the first packet's arrival, from which averages are counted.

    D-ITG logs the time of day (UTC); no test runs across midnight.
    """
    hours, minutes, seconds = packets.partition("rxTime>")[2].split()[0].split(":")
    now = time.time()
    return now - now % 86400 + 3600 * int(hours) + 60 * int(minutes) + float(seconds)


if __name__ == "__main__":
    server = SimpleXMLRPCServer((sys.argv[1], CONTROL_PORT), allow_none=True, logRequests=False)
    server.register_instance(Control(sys.argv[1]))
    server.serve_forever()
