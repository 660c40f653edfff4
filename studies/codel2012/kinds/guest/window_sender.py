"""The sender of a connection that always has something to send.

`ADDRESS PORT BEGIN LENGTH`: connect when the monotonic clock is at BEGIN, send for LENGTH seconds.
"""

import socket
import sys
import time

CHUNK = bytes(1 << 16)
BUFFER = 1 << 20  # the window is the limit, and not this


def main(address, port, begin_s, length_s):
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER)
    one.settimeout(length_s)
    time.sleep(max(0.0, begin_s - time.monotonic()))
    one.connect((address, port))
    while (left_s := begin_s + length_s - time.monotonic()) > 0:
        one.settimeout(left_s)
        try:
            one.send(CHUNK)
        except TimeoutError:
            break


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4]))
