"""A rig of many hosts: none has a shell of Mininet's, and none takes programs to be connected.

`emulation.machine.guestcode` puts its classes in the places of those of `rig` and `readback`.
"""

import copy
import ctypes
import os
import socket
import struct
import subprocess
import threading

from mininet.link import Intf
from mininet.node import OVSBridge
from rig import Failure, Rig

_NEWLINK, _NEWADDR, _NEWROUTE, _GETQDISC = 16, 20, 24, 38  # linux/rtnetlink.h
_REQUEST, _ACK, _NEW, _DUMP = 0x1, 0x4, 0x600, 0x300  # linux/netlink.h; _NEW: EXCL and CREATE
_NAME, _ADDRESS, _QUEUE_LENGTH, _INFO, _NAMESPACE = 3, 1, 13, 18, 19  # IFLA_, linux/if_link.h
_COUNTERS = (3, 4, 7)  # TCA_STATS, TCA_XSTATS, TCA_STATS2
_UP = 1  # IFF_UP
_NAMESPACES = 0x40020000  # CLONE_NEWNET and CLONE_NEWNS, linux/sched.h
_PRIVATE = 0x44000  # MS_REC and MS_PRIVATE, linux/mount.h

_libc = ctypes.CDLL(None, use_errno=True)


class Host:
    """A thread in namespaces of its own as `mnexec -n` makes them; `pid` names it."""

    def __init__(self, name, **_):
        self.name, self.pid, self._problem = name, None, None
        made = threading.Event()
        threading.stack_size(1 << 17)
        threading.Thread(target=self._stay, args=(made,), daemon=True).start()
        made.wait()
        if self._problem:
            raise Failure("rig", f"{name}: no namespace: {os.strerror(self._problem)}")

    def _stay(self, made):
        if (
            _libc.unshare(_NAMESPACES)
            or _libc.mount(b"", b"/", None, _PRIVATE, None)
            or _libc.mount(b"sysfs", b"/sys", b"sysfs", 0, None)
        ):
            self._problem = ctypes.get_errno()
        self.pid = threading.get_native_id()
        made.set()
        threading.Event().wait()


class Bridge(OVSBridge):
    """A switch of any number of ports: Mininet types its command into a terminal, of 4096 bytes.

    `Crowd` starts it, later than Mininet would.
    """

    @classmethod
    def setup(cls):
        """Look for no daemon: there is none yet."""

    def start(self, controllers):
        """Wait for the hosts."""

    def vsctl(self, *words, **_):
        """Run ovs-vsctl; `Failure` with what it says."""
        command = f"ovs-vsctl {' '.join(map(str, words))}"
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
        if done.returncode:
            raise Failure("rig", f"{self.name}: {done.stderr.strip()}")


class Crowd(Rig):
    """A rig whose kernel is asked by netlink, but for qdiscs."""

    def __init__(self, job):
        # Open vSwitch looks at all ports whenever one changes: hosts are set up before it starts.
        nodes = sorted(job["nodes"], key=lambda node: bool(node.get("switches")))
        super().__init__({**job, "nodes": nodes})

    def _switches(self):
        return {name: self.net.addSwitch(name, cls=Bridge) for name in self.switches}

    def _set_up(self, node, job):
        if node["name"] in self.switches:
            if node["name"] == self.switches[0]:
                import switch

                switch.start()
                super(Bridge, Bridge).setup()
            OVSBridge.start(self.nodes[node["name"]], [])
        super()._set_up(node, job)

    def _wire(self, number, left, right):
        ends = []
        for end, port in enumerate((left, right), 1):
            address = bytes((2, 0, 0, number >> 8, number & 255, end))
            pid = self.nodes[port["node"]].pid or os.getpid()
            ends.append(
                _link()
                + _attribute(_NAME, port["interface"].encode() + b"\0")
                + _attribute(_ADDRESS, address)
                + _attribute(_NAMESPACE, struct.pack("=I", pid))
            )
        ours, peer = ends
        veth = _attribute(1, b"veth") + _attribute(2, _attribute(1, peer))
        with Netlink() as kernel:
            kernel.ask(_NEWLINK, _NEW, ours + _attribute(_INFO, veth))
        for port in (left, right):
            if port["node"] in self.switches:
                Intf(port["interface"], node=self.nodes[port["node"]])

    def batch(self, node, tool, lines):
        """Do `lines` as `Rig.batch` does, those of `ip` without a program."""
        if tool != "ip":
            super().batch(node, tool, lines)
            return
        with self.namespace(node), Netlink() as kernel:
            for line in lines:
                try:
                    kernel.do(*line.split())
                except OSError as error:
                    raise Failure("rig", f"{node}: ip {line}: {error.strerror}") from None


class Netlink:
    """A socket to the routing part of the kernel, in the present namespace."""

    def __enter__(self):
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        return self

    def __exit__(self, *_):
        self._socket.close()

    def ask(self, kind, flags, content):
        """Send a message; yield no more than the kernel's answers. Raises OSError for its error."""
        header = struct.pack("=IHHII", 16 + len(content), kind, _REQUEST | flags | _ACK, 1, 0)
        self._socket.send(header + content)
        answers = []
        while True:
            data = self._socket.recv(1 << 18)
            while data:
                length, answer = struct.unpack_from("=IH", data)
                if answer == 2:  # NLMSG_ERROR, with 0 an acknowledgment
                    (error,) = struct.unpack_from("=i", data, 16)
                    if error:
                        raise OSError(-error, os.strerror(-error))
                if answer in (2, 3):  # NLMSG_DONE
                    return answers
                answers.append(data[16:length])
                data = data[-(-length // 4) * 4 :]

    def do(self, *words):
        """Do a line of `ip -batch`, of those that a rig has; raises OSError."""
        match words:
            case "link", "set", device, "up":
                self.ask(_NEWLINK, 0, _link(device, _UP))
            case "link", "set", device, "txqueuelen", length:
                length = _attribute(_QUEUE_LENGTH, struct.pack("=I", int(length)))
                self.ask(_NEWLINK, 0, _link(device) + length)
            case "address", "add", address, "dev", device:
                address, _, length = address.partition("/")
                address = socket.inet_aton(address)
                index = socket.if_nametoindex(device)
                about = struct.pack("=BBBBI", socket.AF_INET, int(length or 32), 0, 0, index)
                both = _attribute(2, address) + _attribute(1, address)  # IFA_LOCAL, IFA_ADDRESS
                self.ask(_NEWADDR, _NEW, about + both)
            case "route", "add", to, "via", via:
                to, _, length = ("0.0.0.0/0" if to == "default" else to).partition("/")
                # In the main table, by the administrator, to anywhere: RT_TABLE_MAIN, RTPROT_BOOT,
                # RT_SCOPE_UNIVERSE, RTN_UNICAST.
                numbers = (socket.AF_INET, int(length or 32), 0, 0, 254, 3, 0, 1, 0)
                about = struct.pack("=BBBBBBBBI", *numbers)
                about += _attribute(1, socket.inet_aton(to))  # RTA_DST
                self.ask(_NEWROUTE, _NEW, about + _attribute(5, socket.inet_aton(via)))
            case _:
                raise OSError(0, "a crowd's rig cannot do this")

    def qdiscs(self):
        """Return all that says what qdiscs are installed in this namespace, without counters."""
        answers = self.ask(_GETQDISC, _DUMP, bytes(20))
        return tuple(map(_settings, answers))


def installed(by_tc):
    """Return `readback.installed`, which asks tc once for all nodes with the same qdiscs."""
    seen = {}

    def ask(rig, node, statistics):
        if statistics:
            return by_tc(rig, node, statistics)
        with rig.namespace(node), Netlink() as kernel:
            settings = kernel.qdiscs()
        if settings not in seen:
            seen[settings] = by_tc(rig, node, statistics)
        return copy.deepcopy(seen[settings])

    return ask


def _settings(answer):
    """Return interface, handle, parent and attributes of a qdisc (struct tcmsg), but counters."""
    index, handle, parent = struct.unpack_from("=iII", answer, 4)
    attributes, at = [], 20
    while at + 4 <= len(answer):
        length, number = struct.unpack_from("=HH", answer, at)
        if number not in _COUNTERS:
            attributes.append((number, answer[at + 4 : at + length]))
        at += -(-length // 4) * 4
    return socket.if_indextoname(index), handle, parent, tuple(attributes)


def _link(device=None, flags=0):
    """Return a struct ifinfomsg; `flags` are set."""
    index = socket.if_nametoindex(device) if device else 0
    return struct.pack("=BxHiII", 0, 0, index, flags, flags)


def _attribute(number, content):
    """Return an attribute of netlink (struct nlattr)."""
    return struct.pack("=HH", 4 + len(content), number) + content + bytes(-len(content) % 4)
