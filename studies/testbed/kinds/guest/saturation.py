"""Saturate a WiFi link and count: what the driver is compared with theory by.

A case is an access point, stations, a server behind the access point and traffic that never lets a
sender's queue run empty; all sockets are in this process, each in its network namespace. The job
has a list of cases, an answer a case is written to `/job/out/cases.json`.
"""

import contextlib
import ctypes
import json
import os
import selectors
import socket
import struct
import subprocess
import time

import modules
import wifi
import wifi_netlink

_CLONE_NEWNET = 0x40000000
_SO_SNDBUFFORCE, _SO_RCVBUFFORCE = 32, 33
#: Holds more than a driver's queue, and less than a qdisc: a sender waits, and nothing is dropped.
_DATAGRAMS = 1 << 18
_STREAM = 1 << 19
_PORT = 5001
_CHUNK = 65536
_libc = ctypes.CDLL(None, use_errno=True)


class Namespace:
    """A network namespace, entered by `with`. `descriptor` is what names it to the kernel."""

    def __init__(self):
        self._outer = os.open("/proc/self/ns/net", os.O_RDONLY)
        _check(_libc.unshare(_CLONE_NEWNET))
        self.descriptor = os.open("/proc/self/ns/net", os.O_RDONLY)
        _check(_libc.setns(self._outer, _CLONE_NEWNET))

    def __enter__(self):
        _check(_libc.setns(self.descriptor, _CLONE_NEWNET))

    def __exit__(self, *error):
        _check(_libc.setns(self._outer, _CLONE_NEWNET))

    def close(self):
        os.close(self.descriptor)
        os.close(self._outer)


class Node:
    """A device `name` with an address, in the network namespace `space`."""

    def __init__(self, space, name, ip, number):
        self.space = space
        self.name = name
        self.ip = ip
        self.mac = f"02:00:00:00:00:{number:02x}"

    def set_up(self, qdisc):
        with self.space:
            _run("sysctl", "-q", "-w", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv4.ip_forward=1")
            _run("ip", "address", "add", f"{self.ip}/24", "dev", self.name)
            _run("tc", "qdisc", "replace", "dev", self.name, "root", *qdisc.split())
            _run("ip", "link", "set", self.name, "up")
            _run("ethtool", "-K", self.name, "gso", "off", "gro", "off")

    def knows(self, other):
        with self.space:
            words = ("ip", "neighbour", "replace", other.ip, "lladdr", other.mac)
            _run(*words, "dev", self.name, "nud", "permanent")

    def goes_by(self, gateway):
        with self.space:
            _run("ip", "route", "add", "default", "via", gateway.ip)

    def socket(self, kind):
        with self.space:
            return socket.socket(socket.AF_INET, kind)

    def counters(self):
        with self.space:
            return wifi.counters(self.name)

    def backlog(self):
        """Packets in the qdisc."""
        with self.space:
            return wifi_netlink.backlog(socket.if_nametoindex(self.name))


class Flow:
    """Data from one node to another as fast as its socket takes them; `received` bytes."""

    def __init__(self, source, target, port, protocol, payload):
        self.received = 0
        tcp = protocol == "tcp"
        kind = socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM
        self.sink = target.socket(kind)
        self.sink.bind((target.ip, port))
        self.source = source.socket(kind)
        if tcp:
            self.source.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, _STREAM)
            self.sink.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _STREAM)
            self.sink.listen()
            self.source.connect((target.ip, port))
            listening, (self.sink, _) = self.sink, self.sink.accept()
            listening.close()
        else:
            # Datagrams are counted by the driver; nobody reads them.
            self.source.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, _DATAGRAMS)
            self.source.connect((target.ip, port))
        self.data = bytes(_CHUNK if tcp else payload)
        self.reads = tcp
        for end in (self.source, self.sink):
            end.setblocking(False)

    def close(self):
        # At once: what is not sent would hold memory that the next case's sockets wait for.
        for end in (self.source, self.sink):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            end.close()

    def send(self):
        with contextlib.suppress(BlockingIOError):
            while True:
                self.source.send(self.data)

    def receive(self):
        with contextlib.suppress(BlockingIOError):
            self.received += len(self.sink.recv(_CHUNK))


def do(case):
    """Run one case; counters of each device and bytes by flow, over its `seconds`.

    `access_point`: options; `stations`: options of each; `flows`: [from, to, protocol, bytes a
    datagram] with 0 the access point, stations from 1 and then the server; `delay_ms`: of what the
    server sends; `seconds` measured, after `settle_s`; `qdisc`: of each device and its options;
    `poll_s`: how often the backlog of the qdiscs is read, 0 for never.
    """
    spaces = [Namespace() for _ in range(len(case["stations"]) + 2)]
    access_point = Node(spaces[0], "ap", "10.0.0.1", 1)
    stations = [
        Node(space, "sta", f"10.0.0.{number}", number)
        for number, space in enumerate(spaces[1:-1], 2)
    ]
    nodes = [access_point, *stations]
    flows = []
    try:
        with access_point.space:
            wifi.create_access_point("ap", case["access_point"], access_point.mac)
            for station, options in zip(stations, case["stations"], strict=True):
                inside = station.space.descriptor
                wifi.create_station("sta", "ap", options, station.mac, inside)
        for node in nodes:
            node.set_up(case["qdisc"])
        for station in stations:
            station.knows(access_point)
            access_point.knows(station)
            station.goes_by(access_point)
        server = add_server(spaces[0], spaces[-1], case.get("delay_ms", 0))
        ends = [*nodes, server]
        for port, (source, target, protocol, payload) in enumerate(case["flows"], _PORT):
            flows.append(Flow(ends[source], ends[target], port, protocol, payload))
        return measure(case, nodes, flows)
    finally:
        for flow in flows:
            flow.close()
        with access_point.space:
            subprocess.run(["ip", "link", "delete", "ap"], stdin=subprocess.DEVNULL)
        for space in spaces:
            space.close()


def add_server(here, there, delay_ms):
    """Wire a server in the namespace `there` to the access point's, which is `here`."""
    gateway = Node(here, "wire", "10.0.1.1", 0xFE)
    server = Node(there, "wire", "10.0.1.2", 0xFF)
    with here:
        _run("ip", "link", "add", "wire", "type", "veth", "peer", "name", "peer")
        _run("ip", "link", "set", "peer", "netns", f"/proc/{os.getpid()}/fd/{there.descriptor}")
    with there:
        _run("ip", "link", "set", "peer", "name", "wire")
    gateway.set_up("pfifo limit 1000")
    server.set_up(f"netem delay {delay_ms}ms limit 10000")
    server.goes_by(gateway)
    return server


def measure(case, nodes, flows):
    """Keep the flows busy; what happened between the end of `settle_s` and that of `seconds`."""
    with selectors.DefaultSelector() as ready:
        for flow in flows:
            ready.register(flow.source, selectors.EVENT_WRITE, flow.send)
            if flow.reads:
                ready.register(flow.sink, selectors.EVENT_READ, flow.receive)
        keep_busy(ready, case["settle_s"])
        before = [node.counters() for node in nodes]
        begin, received = time.monotonic(), [flow.received for flow in flows]
        backlogs = keep_busy(ready, case["seconds"], case.get("poll_s", 0), nodes)
        after = [node.counters() for node in nodes]
        return {
            "seconds": time.monotonic() - begin,
            "devices": [
                {name: now[name] - then[name] for name in now}
                for now, then in zip(after, before, strict=True)
            ],
            "received": [flow.received - then for flow, then in zip(flows, received, strict=True)],
            "backlogs": backlogs,
        }


def keep_busy(ready, seconds, poll_s=0, nodes=()):
    """Serve sockets for so long; mean backlog of each node's qdisc, read every `poll_s`."""
    end = time.monotonic() + seconds
    next_poll = time.monotonic() + poll_s if poll_s else end
    sums, polls = [0] * len(nodes), 0
    while (now := time.monotonic()) < end:
        for key, _ in ready.select(max(0.0, min(end, next_poll) - now)):
            key.data()
        if poll_s and time.monotonic() >= next_poll:
            sums = [total + node.backlog() for total, node in zip(sums, nodes, strict=True)]
            polls += 1
            next_poll += poll_s
    return [total / polls for total in sums] if polls else None


def run(job, status):
    """Do the cases of the job."""
    modules.load("wifi")
    answers = []
    for number, case in enumerate(job["cases"]):
        answers.append(do(case))
        status("case", number=number)
    with open("/job/out/cases.json", "w") as file:
        json.dump(answers, file, sort_keys=True)


def _run(*command):
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def _check(result):
    if result:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
