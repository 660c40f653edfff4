"""Packet captures by the guest's first process: a ring that the kernel fills and a beat empties.

A capture by another process would shift what follows: each process that starts takes random
numbers and a process id, each that wakes can read the clock. So the first process, which wakes once
a beat in any case, opens the sockets itself, one in the namespace of each place. The sockets change
nothing; to keep what the ring held still shifts events by parts of a microsecond, the same in each
run with captures.
"""

import ctypes
import mmap
import os
import socket
import struct
import zlib

from rig import Failure

#: Bytes of a packet that are kept: all headers.
SNAP_BYTES = 128

BLOCK_BYTES = 1 << 16

_CLONE_NEWNET = 0x40000000  # linux/sched.h
_ETH_P_ALL = 3  # linux/if_ether.h
_SOL_PACKET, _RX_RING, _STATISTICS, _VERSION, _V2 = 263, 5, 6, 10, 1  # linux/if_packet.h
_FRAME = struct.Struct("<IIIHHII")  # status, length, kept, mac, net, s, ns: struct tpacket2_hdr
_PACKET = struct.Struct("<IIII")
_HEADER = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, SNAP_BYTES, 1)  # nanoseconds, Ethernet


class Captures:
    """The captures at `places` of the job; a context manager around the traffic.

    `ring` is the class that takes them, `Ring` where none is given.
    """

    def __init__(self, rig, places, ring=None):
        ring = ring or Ring
        self._rings = []
        if places:
            home = os.open("/proc/self/ns/net", os.O_RDONLY)
            for place in places:
                _enter(os.open(f"/proc/{rig.nodes[place['node']].pid}/ns/net", os.O_RDONLY))
                self._rings.append(ring(place["node"], place["interface"]))
            _enter(home)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        for ring in self._rings:
            ring.close(error is None)

    def draining(self, status):
        """`status`, which then also empties the rings."""
        if not self._rings:
            return status

        def beat(step, **details):
            self.drain()
            status(step, **details)

        return beat

    def drain(self):
        """Empty the rings; how many packets were in them."""
        return sum(ring.drain() for ring in self._rings)


class Ring:
    """A packet socket at `interface` of the present namespace, and the file that it goes to."""

    #: What 1 s of 100 Mbit/s in both directions takes, twice.
    FRAME_BYTES, RING_BYTES = 256, 1 << 24
    LEVEL, HEADER, SUFFIX = 6, _HEADER, "pcap.gz"

    def __init__(self, node, interface):
        self._node, self._interface = node, interface
        # gzip without name and time: equal captures are equal files.
        self._gzip = zlib.compressobj(level=self.LEVEL, wbits=31)
        self._packed = [self._gzip.compress(self.HEADER)]
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self._socket.setsockopt(_SOL_PACKET, _VERSION, _V2)
        size, ring = self.FRAME_BYTES, self.RING_BYTES
        request = struct.pack("IIII", BLOCK_BYTES, ring // BLOCK_BYTES, size, ring // size)
        self._socket.setsockopt(_SOL_PACKET, _RX_RING, request)
        self._ring = mmap.mmap(self._socket.fileno(), ring)
        self._next = 0
        self._socket.bind((interface, _ETH_P_ALL))

    def drain(self):
        """Take what the kernel has put into the ring since the last time; how many packets.

        It stays in memory until the traffic has ended: writing a file reads the clock.
        """
        ring, at, out = self._ring, self._next, []
        while True:
            status, length, kept, mac, _, seconds, nanoseconds = _FRAME.unpack_from(ring, at)
            if not status & 1:
                break
            kept = min(kept, SNAP_BYTES)
            out.append(_PACKET.pack(seconds, nanoseconds, kept, length))
            out.append(ring[at + mac : at + mac + kept])
            ring[at : at + 4] = b"\0\0\0\0"
            at = (at + self.FRAME_BYTES) % self.RING_BYTES
        self._next = at
        self._packed.append(self._gzip.compress(b"".join(out)))
        return len(out) // 2

    def place(self):
        """The name of the file, without its end."""
        return self._node

    def close(self, check):
        """Write the rest; where `check`, raise `Failure` if the kernel had no room for a packet."""
        self.drain()
        with open(f"/job/out/{self.place()}.{self.SUFFIX}", "wb") as file:
            file.writelines([*self._packed, self._gzip.flush()])
        lost = struct.unpack("II", self._socket.getsockopt(_SOL_PACKET, _STATISTICS, 8))[1]
        self._socket.close()
        if check and lost:
            raise Failure("traffic", f"the capture at {self._node} lost {lost} packets")


def _enter(namespace):
    if ctypes.CDLL(None, use_errno=True).setns(namespace, _CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")
    os.close(namespace)
