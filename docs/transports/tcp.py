"""A download over the kernel's TCP: tcp.py listen PORT CONTROL, or fetch HOST PORT SECONDS."""

import contextlib
import json
import socket
import sys
import time


def serve(port: int, control: str) -> None:
    """Send the first connection as much as it takes."""
    listener = socket.create_server(("", port))
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
    connection, _ = listener.accept()
    with contextlib.suppress(ConnectionError):  # the client has enough
        while True:
            connection.sendall(bytes(1 << 16))


def fetch(host: str, port: int, seconds: float) -> None:
    """Print a line of JSON per 200 ms: when, and Mbit/s since the one before."""
    begin = last = time.time()
    count = total = 0
    with socket.create_connection((host, port)) as connection:
        while (now := time.time()) - begin < seconds:
            if now - last >= 0.2:
                print(json.dumps({"time_s": now, "mbit_s": count * 8e-6 / (now - last)}))
                last, count = now, 0
            size = len(connection.recv(1 << 16))
            if not size:
                sys.exit("the server has ended")
            count, total = count + size, total + size
    print(json.dumps({"bytes": total}))


if sys.argv[1] == "listen":
    serve(int(sys.argv[2]), sys.argv[3])
else:
    fetch(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
