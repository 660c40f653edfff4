"""Send a small packet every 100 ms and print how long each answer took, a line of JSON each."""

import json
import socket
import sys
import time

PORT, EVERY_S = 9000, 0.1


def answer():
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("", PORT))
    while True:
        packet, sender = server.recvfrom(2048)
        server.sendto(packet, sender)


def probe(address, length_s):
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    client.connect((address, PORT))
    client.settimeout(1.0)
    began = time.monotonic()
    for number in range(int(length_s / EVERY_S)):
        time.sleep(max(0.0, began + number * EVERY_S - time.monotonic()))
        sent = time.monotonic()
        client.send(str(number).encode())
        try:
            while client.recv(2048) != str(number).encode():
                pass
        except (TimeoutError, ConnectionRefusedError):  # lost, or the load is over
            continue
        rtt_ms = round(1e3 * (time.monotonic() - sent), 3)
        print(json.dumps({"time_s": round(sent - began, 6), "rtt_ms": rtt_ms}), flush=True)


if sys.argv[1] == "answer":
    answer()
else:
    probe(sys.argv[1], float(sys.argv[2]))
