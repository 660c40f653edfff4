"""What the load has besides TCP and pings: datagrams, a link that steps, a path that has bursts.

load.py send HOST MBIT_S TOS    datagrams at a steady rate; TOS 1 is ECT(1), 0 has no ECN
load.py receive                 count them
load.py step SECOND MBIT_S      the bottleneck's rate from then on
load.py bursts MS               what passes the node before the bottleneck leaves once in MS
"""

import json
import signal
import socket
import subprocess
import sys
import time

PORT, BYTES, HEADERS = 9000, 1200, 42


def send(host: str, mbit_s: str, tos: str) -> None:
    """Send until the load ends."""
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    out.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, int(tos))
    gap = 8 * (BYTES + HEADERS) / (float(mbit_s) * 1e6)
    due = time.monotonic()
    while True:
        out.sendto(bytes(BYTES), (host, PORT))
        due += gap
        time.sleep(max(due - time.monotonic(), 0))


def receive() -> None:
    """Print what came in each second."""
    into = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    into.bind(("", PORT))
    into.settimeout(1)
    began = end = 0.0
    packets = 0
    while True:
        try:
            into.recv(2 * BYTES)
        except TimeoutError:
            continue
        now = time.monotonic()
        began = began or now
        if now > end > 0:
            rate = 8e-6 * packets * (BYTES + HEADERS)
            print(json.dumps({"time_s": round(end - began, 3), "udp_mbit_s": rate}), flush=True)
        if now > end:
            packets, end = 0, now + 1
        packets += 1


def step(second: str, mbit_s: str) -> None:
    """Change the class that the queue under test is below."""
    time.sleep(float(second))
    rate = f"{mbit_s}mbit"
    words = f"class change dev router-receiver parent 1: classid 1:10 htb rate {rate} ceil {rate}"
    subprocess.run(["tc", *words.split(), "burst", "1600b", "cburst", "1600b"], check=True)


def bursts(ms: str) -> None:
    """Give the delay before the bottleneck slots (tc-netem(8))."""
    words = f"qdisc change dev air-router root netem delay 1ms limit 100000 slot {ms}ms {ms}ms"
    subprocess.run(["tc", *words.split()], check=True)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    {"send": send, "receive": receive, "step": step, "bursts": bursts}[sys.argv[1]](*sys.argv[2:])
