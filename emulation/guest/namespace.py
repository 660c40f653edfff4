"""Network namespaces of nodes: this process enters one for a while, and what it starts is there.

That costs two system calls. A program that does it, `mnexec`, costs another exec a command.
"""

import contextlib
import ctypes
import fcntl
import os
import socket
import struct

_CLONE_NEWNET = 0x40000000  # linux/sched.h
_SIOCETHTOOL, _SIOCGIFTXQLEN = 0x8946, 0x8942  # linux/sockios.h

#: What joins packets or splits them, by the short names of `ethtool -K`: the commands that get and
#: set it (linux/ethtool.h).
OFFLOADS = {"tso": (0x1E, 0x1F), "gso": (0x23, 0x24), "gro": (0x2B, 0x2C)}

_libc = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def inside(path):
    """Be in the network namespace with that path, as `/proc/<pid>/ns/net`, for a while."""
    with open("/proc/self/ns/net") as outer, open(path) as inner:
        _enter(inner)
        try:
            yield
        finally:
            _enter(outer)


def _enter(namespace):
    if _libc.setns(namespace.fileno(), _CLONE_NEWNET):
        number = ctypes.get_errno()
        raise OSError(number, f"{os.strerror(number)}: setns to {namespace.name}")


def set_sysctl(key, value):
    """Set what `sysctl -w key=value` sets in this namespace; raises OSError."""
    place = key.translate(str.maketrans("./", "/."))  # as sysctl(8): a slash is a name's dot
    with open(f"/proc/sys/{place}", "r+") as file:
        file.write(value)


def set_offloads(interface, on):
    """Switch all `OFFLOADS` of `interface` on or off, as far as it can change them."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as device:
        for _, command in OFFLOADS.values():
            with contextlib.suppress(OSError):  # which reading them back shows
                _ethtool(device, interface, command, int(on))


def offloads_on(interface):
    """The short names of the `OFFLOADS` of `interface` that are on."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as device:
        return [
            name for name, (command, _) in OFFLOADS.items() if _ethtool(device, interface, command)
        ]


def txqueuelen(interface):
    """The length of the queue of `interface`, in packets."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as device:
        request = struct.pack("16si20x", interface.encode(), 0)
        return struct.unpack_from("i", fcntl.ioctl(device, _SIOCGIFTXQLEN, request), 16)[0]


def _ethtool(device, interface, command, value=0):
    """Do a command on a number (struct ethtool_value) of `interface`; the number afterwards."""
    number = ctypes.create_string_buffer(struct.pack("=II", command, value), 8)
    request = struct.pack("16sQ16x", interface.encode(), ctypes.addressof(number))
    fcntl.ioctl(device, _SIOCETHTOOL, request)
    return struct.unpack("=II", number.raw)[1]
