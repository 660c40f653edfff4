"""One side of what is sent beside bulk transfers: `mix_peer.py servers|clients BEGIN`.

BEGIN is the moment of the monotonic clock at which the load begins; the job says what it is and
when it ends. `clients` fetches the job's web sessions from `servers`, a thread a connection, and
uploads files to it; either sends flows of constant bit rate to the other. A request begins with how
much there is of it, how much is to come back, and after how long. Web sessions use New Reno, as in
codel2012. At the end `out/mix-<side>.json` says how much of it was done.
"""

import json
import os
import resource
import signal
import socket
import struct
import sys
import threading
import time

WEB_PORT, UPLOAD_PORT, CBR_PORT = 80, 9, 4000
BACKLOG, OPEN_FILES, STACK_BYTES, CHUNK = 1024, 4096, 1 << 17, 1 << 16
REQUEST = struct.Struct("!III")  # bytes of the request, bytes of the response, delay in us
IP_UDP_BYTES = 28

done = {"sessions": 0, "exchanges": 0, "failed": 0, "response_bytes": 0, "uploads": 0, "cbr": 0}


def main():
    side, began = sys.argv[1], float(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))
    threading.stack_size(STACK_BYTES)
    with open("/job/job.json") as file:
        traffic = json.load(file)["traffic"]
    load, others = traffic["load"], traffic["others"]
    (other,) = (address for name, address in others.items() if name != side)
    threads = []
    sent, received = ("cbr", "cbr_back") if side == "servers" else ("cbr_back", "cbr")
    if os.fork() == 0:
        sinks = [bound_udp(others[side], CBR_PORT + number) for number in range(load[received])]
        signal.pause()  # until the guest is switched off: packets are still on their way
        del sinks
    threads += [(constant, other, number, load, began) for number in range(load[sent])]
    if side == "servers":
        for port, serve in ((WEB_PORT, answer), (UPLOAD_PORT, swallow)):
            threads.append((accept, listening(others[side], port), serve))
    else:
        threads.append((surf, other, load["sessions"], began))
        threads += [(upload, other, load["upload_bytes"], idle, began) for idle in load["uploads"]]
    for function, *arguments in threads:
        threading.Thread(target=function, args=arguments, daemon=True).start()
    wait_until(began + traffic["length_s"])
    with open(f"/job/out/mix-{side}.json", "w") as file:
        json.dump(done, file, sort_keys=True)
    os._exit(0)


def wait_until(moment):
    time.sleep(max(0.0, moment - time.monotonic()))


def bound_udp(address, port):
    """A socket that nobody reads: without it each packet would be answered by ICMP."""
    sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sink.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    sink.bind((address, port))
    return sink


def constant(address, number, load, began):
    """A packet every `cbr_gap_us`, numbered; flows begin at different parts of a gap."""
    gap_s = load["cbr_gap_us"] / 1e6
    rest = bytes(load["cbr_bytes"] - IP_UDP_BYTES - 4)
    flow = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    flow.connect((address, CBR_PORT + number))
    late_s = gap_s * int.from_bytes(os.urandom(4), "little") / 2**32
    for packet in range(2**32):
        wait_until(began + late_s + packet * gap_s)
        flow.send(struct.pack("!I", packet) + rest)
        done["cbr"] += 1


def listening(address, port):
    return socket.create_server((address, port), backlog=BACKLOG)


def accept(server, serve):
    while True:
        connection, _ = server.accept()
        threading.Thread(target=serve, args=(connection,), daemon=True).start()


def answer(connection):
    """Answer the requests of a web session until it ends."""
    reno(connection)
    with connection:
        try:
            while head := connection.recv(REQUEST.size, socket.MSG_WAITALL):
                request, response, delay_us = REQUEST.unpack(head)
                skip(connection, request - REQUEST.size)
                time.sleep(delay_us / 1e6)
                connection.sendall(bytes(response))
        except (OSError, struct.error):
            done["failed"] += 1


def swallow(connection):
    """Read an upload to its end, and close."""
    with connection:
        while connection.recv(CHUNK):
            pass


def surf(address, sessions, began):
    """Begin each web session at its moment."""
    for start_us, exchanges in sessions:
        wait_until(began + start_us / 1e6)
        threading.Thread(target=fetch, args=(address, exchanges), daemon=True).start()


def fetch(address, exchanges):
    """A web session."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as connection:
            reno(connection)
            connection.connect((address, WEB_PORT))
            for pause_us, request, response, delay_us in exchanges:
                time.sleep(pause_us / 1e6)
                size = max(request, REQUEST.size)
                head = REQUEST.pack(size, response, delay_us)
                connection.sendall(head + bytes(size - REQUEST.size))
                skip(connection, response)
                done["exchanges"] += 1
                done["response_bytes"] += response
        done["sessions"] += 1
    except OSError:
        done["failed"] += 1


def upload(address, size, idle_us, began):
    """Send a file, wait until all of it has arrived, pause, and so on."""
    wait_until(began)
    for pause_us in idle_us:
        with socket.create_connection((address, UPLOAD_PORT)) as connection:
            connection.sendall(bytes(size))
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1)
        done["uploads"] += 1
        time.sleep(pause_us / 1e6)


def skip(connection, size):
    """Read `size` bytes; `OSError` where the other side ends before."""
    while size:
        piece = connection.recv(min(size, CHUNK), socket.MSG_WAITALL)
        if not piece:
            raise OSError("the other side ended early")
        size -= len(piece)


def reno(connection):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")


if __name__ == "__main__":
    main()
