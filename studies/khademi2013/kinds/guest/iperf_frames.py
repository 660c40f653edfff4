"""Captures in the kernel's own form: the frames of a packet ring as they are.

A frame has 128 bytes: the header that the kernel writes (struct tpacket2_hdr) and, at its offset
`mac`, the first 62 bytes of the packet, which hold all that tells it from others. Nothing is looked
at here, so that a packet costs the guest next to nothing; `emulation.captures.frames` reads them.
"""

from capture import Ring

_USER = 1  # TP_STATUS_USER, linux/if_packet.h


class Frames(Ring):
    """A ring whose frames are kept whole."""

    FRAME_BYTES, RING_BYTES = 128, 1 << 21  # 16384 packets a beat: 1 s of 100 Mbit/s takes 8300
    LEVEL, HEADER, SUFFIX = 1, b"", "frames.gz"

    def drain(self):
        """Take the frames that the kernel has filled since the last time; how many there were."""
        ring, size, end = self._ring, self.FRAME_BYTES, self.RING_BYTES
        first, at, taken = self._next, self._next, 0
        while ring[at] & _USER:
            ring[at : at + 4] = b"\0\0\0\0"
            taken += 1
            at += size
            if at == end:
                self._write(ring[first:end])
                first = at = 0
        self._write(ring[first:at])
        self._next = at
        return taken

    def place(self):
        """The name of the file, without its end."""
        return f"{self._node}.{self._interface}"
