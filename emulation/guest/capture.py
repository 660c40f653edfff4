"""Packet captures by the guest's first process: a ring that the kernel fills and a beat empties.

A capture changes nothing. Each process that starts takes random numbers and a process id, and each
that wakes can read the clock, so it is the first process, which wakes once a beat in any case, that
holds the sockets, one in the namespace of each place. Every run makes those at the queues under
test, since making one waits for the kernel; in a run with captures they are bound. What empties a
ring reads no clock, which would take virtual time: no locks of Python's with a time limit, hence no
buffered files and no `zlib.compressobj`.
"""

import mmap
import os
import socket
import struct
import zlib

from rig import Failure

#: Bytes of a packet that are kept: all headers.
SNAP_BYTES = 128

BLOCK_BYTES = 1 << 16  # of a ring

_ETH_P_ALL = 3  # linux/if_ether.h
_SOL_PACKET, _RX_RING, _STATISTICS, _VERSION, _V2 = 263, 5, 6, 10, 1  # linux/if_packet.h
_FRAME = struct.Struct("<IIIHHII")  # status, length, kept, mac, net, s, ns: struct tpacket2_hdr
_PACKET = struct.Struct("<IIII")
_HEADER = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, SNAP_BYTES, 1)  # nanoseconds, Ethernet
_GZIP = 31  # of zlib's `wbits`; without name and time, so that equal captures are equal files


class Captures:
    """The rings at `places` of the job; a context manager around the traffic.

    `wanted`: whether packets are kept; `ring`: the class that takes them.
    """

    def __init__(self, rig, places, wanted=True, ring=None):
        self._rings, self._wanted = [], wanted
        for place in places:
            with rig.namespace(place["node"]):
                self._rings.append((ring or Ring)(place["node"], place["interface"], wanted))

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        for ring in self._rings if self._wanted else ():
            ring.close(error is None)

    def draining(self, status):
        """`status`, which then also empties the rings."""
        if not self._wanted:
            return status

        def beat(step, **details):
            self.drain()
            status(step, **details)

        return beat

    def drain(self):
        """Empty the rings; how many packets were in them."""
        return sum(ring.drain() for ring in self._rings)


class Ring:
    """A packet socket at `interface` of the present namespace, and the file that it goes to.

    Where packets are not `wanted` it is as small as can be, and takes none.
    """

    #: What 1 s of 100 Mbit/s in both directions takes, twice.
    FRAME_BYTES, RING_BYTES = 256, 1 << 24
    LEVEL, HEADER, SUFFIX = 6, _HEADER, "pcap.gz"

    def __init__(self, node, interface, wanted=True):
        self._node, self._interface = node, interface
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self._socket.setsockopt(_SOL_PACKET, _VERSION, _V2)
        size, ring = self.FRAME_BYTES, self.RING_BYTES if wanted else BLOCK_BYTES
        request = struct.pack("IIII", BLOCK_BYTES, ring // BLOCK_BYTES, size, ring // size)
        self._socket.setsockopt(_SOL_PACKET, _RX_RING, request)
        self._ring = mmap.mmap(self._socket.fileno(), ring)
        self._next = 0
        if wanted:
            path = f"/job/out/{self.place()}.{self.SUFFIX}"
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
            self._write(self.HEADER)
            self._socket.bind((interface, _ETH_P_ALL))

    def drain(self):
        """Write what the kernel has put into the ring since the last time; how many packets."""
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
        self._write(b"".join(out))
        return len(out) // 2

    def place(self):
        """The name of the file, without its end."""
        return self._node

    def close(self, check):
        """Write the rest; where `check`, raise `Failure` if the kernel had no room for a packet."""
        self.drain()
        os.close(self._file)
        lost = struct.unpack("II", self._socket.getsockopt(_SOL_PACKET, _STATISTICS, 8))[1]
        self._socket.close()
        if check and lost:
            raise Failure("traffic", f"the capture at {self._node} lost {lost} packets")

    def _write(self, content):
        """Add `content` to the file, as a gzip member of its own, and let go of its memory."""
        if not content:
            return
        packed = memoryview(zlib.compress(content, self.LEVEL, _GZIP))
        while packed:
            packed = packed[os.write(self._file, packed) :]
        os.fdatasync(self._file)
        os.posix_fadvise(self._file, 0, 0, os.POSIX_FADV_DONTNEED)
