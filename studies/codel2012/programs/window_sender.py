"""The sender of a connection that always has something to send.

    window_sender.py ADDRESS PORT LENGTH_S WINDOW MTU HOST

ADDRESS is one of the receiver's HOST. It starts with all of its window, as a route can have it do,
and sends for LENGTH_S seconds.
"""

import socket
import subprocess
import sys
import time

from loads import begin, set_mtu, wait_until

CHUNK = bytes(1 << 16)
BUFFER = 1 << 20  # the window is the limit, and not this
LINGER_S = 2.0  # until what was sent has arrived


def main(address: str, port: str, length_s: str, window: str, mtu: str, host: str) -> None:
    """Connect and send."""
    set_mtu("eth0", int(mtu))
    set_initial_window(window)
    began = begin(host)
    subprocess.run(
        ["ping", "-c", "1", "-W", "1", address], check=False
    )  # nobody answers, but it is found
    end = began + float(length_s)
    sender = socket.socket()
    sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER)
    sender.settimeout(float(length_s))
    wait_until(began)
    sender.connect((address, int(port)))
    while (left_s := end - time.monotonic()) > 0:
        sender.settimeout(left_s)
        try:
            sender.send(CHUNK)
        except TimeoutError:
            break
    time.sleep(LINGER_S)


def set_initial_window(window: str) -> None:
    """Have connections of the default route start with a window of so many packets."""
    shown = subprocess.run(
        ["ip", "route", "show", "default"], check=True, capture_output=True, text=True
    ).stdout
    route = ["ip", "route", "replace", *shown.split(), "initcwnd", window]
    subprocess.run(route, check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
