"""One side of what is sent beside bulk transfers.

    peer.py servers|clients LOAD SEED LENGTH_S MTU SERVERS CLIENTS

`clients` fetches web sessions from `servers`, a thread per connection, and uploads files to it;
either sends flows of constant bit rate to the other. A request begins with how much there is of it,
how much is to come back, and after how long. Web sessions use New Reno, as in the paper. At the end
a row says how much of it was done.
"""

import json
import os
import random
import resource
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Sequence

from loads import begin, counts, set_mtu, wait_until
from packmime import Exchange, Session, sessions

WEB_PORT, UPLOAD_PORT, CBR_PORT = 80, 9, 4000
BACKLOG, OPEN_FILES, STACK_BYTES, CHUNK = 1024, 4096, 1 << 17, 1 << 16
REQUEST = struct.Struct("!III")  # bytes of the request, bytes of the response, delay in us
IP_UDP_BYTES = 28
CBR_BYTES, CBR_BIT_S = 100, 64_000  # IP packets (the source of the study says so)
UPLOAD_BYTES = 1_000_000  # Consumer Edge
UPLOAD_IDLE_S = (5.0, 15.0)  # uniform (Consumer Edge)

done = {"sessions": 0, "exchanges": 0, "failed": 0, "response_bytes": 0, "uploads": 0, "cbr": 0}


def main(side: str, load: str, seed: str, length_s: str, mtu: str, *addresses: str) -> None:
    """Send until the load is over."""
    address, other = addresses if side == "servers" else addresses[::-1]
    began = begin(*([other] if side == "servers" else []))
    set_mtu("eth0", int(mtu))
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))
    threading.stack_size(STACK_BYTES)
    count, end = counts(load), began + float(length_s)
    sent, received = ("cbr", "back") if side == "servers" else ("back", "cbr")
    sinks = [bound_udp(address, CBR_PORT + number) for number in range(count[received])]
    for number in range(count[sent]):
        rng = random.Random(f"{seed} {side} {number}")
        start(constant, other, CBR_PORT + number, began + rng.random() * 8 * CBR_BYTES / CBR_BIT_S)
    if side == "servers":
        for port, serve in ((WEB_PORT, answer), (UPLOAD_PORT, swallow)):
            start(accept, socket.create_server((address, port), backlog=BACKLOG), serve)
    else:
        if count["web"]:
            # independent of the qdisc: qdiscs are compared by the same sessions
            start(surf, other, sessions(count["web"], float(length_s), f"{seed} web"), began)
        for number in range(count["uploads"]):
            start(upload, other, random.Random(f"{seed} upload {number}"), began)
    wait_until(end)
    print(json.dumps({"time_s": float(length_s), **done}), flush=True)
    del sinks
    os._exit(0)  # whatever the threads do


def start(function: Callable[..., None], *arguments: object) -> None:
    """Call a function in a thread of its own."""
    threading.Thread(target=function, args=arguments, daemon=True).start()


def bound_udp(address: str, port: int) -> socket.socket:
    """Return a socket that nobody reads: without it each packet would be answered by ICMP."""
    sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sink.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    sink.bind((address, port))
    return sink


def constant(address: str, port: int, began: float) -> None:
    """Send numbered packets at a constant rate."""
    rest = bytes(CBR_BYTES - IP_UDP_BYTES - 4)
    flow = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    flow.connect((address, port))
    for packet in range(2**32):
        wait_until(began + packet * 8 * CBR_BYTES / CBR_BIT_S)
        flow.send(struct.pack("!I", packet) + rest)
        done["cbr"] += 1


def accept(server: socket.socket, serve: Callable[[socket.socket], None]) -> None:
    """Serve each connection in a thread of its own."""
    while True:
        start(serve, server.accept()[0])


def answer(connection: socket.socket) -> None:
    """Answer the requests of a web session until it ends."""
    use_reno(connection)
    with connection:
        try:
            while head := connection.recv(REQUEST.size, socket.MSG_WAITALL):
                request, response, delay_us = REQUEST.unpack(head)
                skip(connection, request - REQUEST.size)
                time.sleep(delay_us / 1e6)
                connection.sendall(bytes(response))
        except (OSError, struct.error):
            done["failed"] += 1


def swallow(connection: socket.socket) -> None:
    """Read an upload to its end, and close."""
    with connection:
        while connection.recv(CHUNK):
            pass


def surf(address: str, drawn: Sequence[Session], began: float) -> None:
    """Begin each web session at its moment."""
    for session in drawn:
        wait_until(began + session.start_s)
        start(fetch, address, session.exchanges)


def fetch(address: str, exchanges: Sequence[Exchange]) -> None:
    """Do a web session."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as connection:
            use_reno(connection)
            connection.connect((address, WEB_PORT))
            for exchange in exchanges:
                time.sleep(exchange.pause_s)
                size = max(exchange.request_bytes, REQUEST.size)
                delay_us = round(1e6 * exchange.server_delay_s)
                head = REQUEST.pack(size, exchange.response_bytes, delay_us)
                connection.sendall(head + bytes(size - REQUEST.size))
                skip(connection, exchange.response_bytes)
                done["exchanges"] += 1
                done["response_bytes"] += exchange.response_bytes
        done["sessions"] += 1
    except OSError:
        done["failed"] += 1


def upload(address: str, rng: random.Random, began: float) -> None:
    """Send a file, wait until all of it has arrived, pause, and so on."""
    wait_until(began)
    while True:
        with socket.create_connection((address, UPLOAD_PORT)) as connection:
            connection.sendall(bytes(UPLOAD_BYTES))
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1)
        done["uploads"] += 1
        time.sleep(rng.uniform(*UPLOAD_IDLE_S))


def skip(connection: socket.socket, size: int) -> None:
    """Read `size` bytes; raise `OSError` where the other side ends before."""
    while size:
        piece = connection.recv(min(size, CHUNK), socket.MSG_WAITALL)
        if not piece:
            raise OSError("the other side ended early")
        size -= len(piece)


def use_reno(connection: socket.socket) -> None:
    """Have the connection use New Reno."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")


if __name__ == "__main__":
    main(*sys.argv[1:])
