"""Send one TCP flow for as long as it is let, or take it: flow.py PORT [HOST NAME WAY].

It is sent where WAY is `both` or its NAME.
"""

import socket
import sys
import time

port, *client = sys.argv[1:]
if client:
    host, name, way = client
    if way not in ("both", name):
        time.sleep(1e6)
    with socket.create_connection((host, int(port))) as flow:
        while True:
            flow.sendall(bytes(1 << 16))
with socket.create_server(("", int(port))) as server:
    flow, _ = server.accept()
    while flow.recv(1 << 16):
        pass
