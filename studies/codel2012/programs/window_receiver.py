"""A TCP receiver that sends one acknowledgment for so many segments (codel2012, Fig. 4).

    window_receiver.py ADDRESS PORT EVERY WINDOW MTU

It answers for an ADDRESS that its host does not have, so that the host's own TCP stays out of it,
from a packet socket: when somebody asks who has it, and as a receiver must (RFC 9293). It offers
its segment size and a window, of WINDOW segments, acknowledges in sequence, and at once whatever is
not the next full segment: the last one, one that came before, the end.
"""

import socket
import struct
import sys

INTERFACE, ALL = "eth0", 3  # ETH_P_ALL
FIN, SYN, RST, ACK = 1, 2, 4, 16
FIRST = 1_000_000  # its own initial sequence number
HEADERS = 40  # of IP and TCP without options
IP, ARP, ASKS, ANSWERS = b"\x08\x00", b"\x08\x06", b"\0\1", b"\0\2"


class Receiver:
    """The state of one connection; `answer` turns a frame into the frame that answers it."""

    def __init__(
        self, address: str, port: int, every: int, window: int, mtu: int, here: bytes
    ) -> None:
        self._address, self._port, self._here = socket.inet_aton(address), port, here
        self._every, self._size = every, mtu - HEADERS
        self._window = window * self._size
        self._next = self._waiting = 0  # sequence number expected; segments not acknowledged

    def answer(self, frame: bytes) -> bytes | None:
        """Return the frame that answers `frame`, or None."""
        if frame[12:14] == ARP:
            return self._presence(frame)
        if frame[12:14] != IP or frame[23] != socket.IPPROTO_TCP:
            return None
        source, target, offset = frame[26:30], frame[30:34], 14 + 4 * (frame[14] & 15)
        port, to, seq, _, head, flags = struct.unpack_from("!HHIIBB", frame, offset)
        if (target, to) != (self._address, self._port) or flags & RST:
            return None
        size = struct.unpack_from("!H", frame, 16)[0] - (offset - 14) - 4 * (head >> 4)
        if flags & SYN:
            self._next, options = seq + 1, struct.pack("!BBH", 2, 4, self._size)
            return self._frame(frame, source, port, SYN | ACK, options)
        if not size and not flags & FIN:
            return None
        in_sequence = seq == self._next
        if in_sequence:
            self._next = (seq + size + bool(flags & FIN)) % 2**32
            self._waiting += 1
        if in_sequence and size == self._size and not flags & FIN and self._waiting < self._every:
            return None
        self._waiting = 0
        return self._frame(frame, source, port, ACK | (flags & FIN), b"")

    def _presence(self, frame: bytes) -> bytes | None:
        """Return the answer to the question who has the address."""
        if frame[20:22] != ASKS or frame[38:42] != self._address:
            return None
        asker = frame[22:32]  # of Ethernet and IP
        return (
            frame[6:12]
            + self._here
            + ARP
            + frame[14:20]
            + ANSWERS
            + self._here
            + self._address
            + asker
        )

    def _frame(self, frame: bytes, source: bytes, port: int, flags: int, options: bytes) -> bytes:
        """Return one from this receiver to who sent `frame`."""
        own = FIRST if flags & SYN else FIRST + 1
        tcp = struct.pack(
            "!HHIIBBHHH", self._port, port, own, self._next % 2**32,
            (20 + len(options)) << 2, flags, self._window, 0, 0,
        ) + options  # fmt: skip
        pseudo = self._address + source + struct.pack("!BBH", 0, socket.IPPROTO_TCP, len(tcp))
        tcp = tcp[:16] + struct.pack("!H", checksum(pseudo + tcp)) + tcp[18:]
        addresses = self._address + source
        ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0x4000, 64, 6, 0) + addresses
        ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
        return frame[6:12] + frame[0:6] + IP + ip + tcp


def checksum(content: bytes) -> int:
    """Return that of the internet (RFC 1071)."""
    content += b"\0" * (len(content) % 2)
    total: int = sum(struct.unpack(f"!{len(content) // 2}H", content))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def main(address: str, port: str, every: str, window: str, mtu: str) -> None:
    """Answer each frame that comes."""
    everything = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL))
    everything.bind((INTERFACE, ALL))
    here = everything.getsockname()[4]
    receiver = Receiver(address, int(port), int(every), int(window), int(mtu), here)
    while True:
        frame, about = everything.recvfrom(2048)
        answer = None if about[2] == socket.PACKET_OUTGOING else receiver.answer(frame)
        if answer is not None:
            everything.send(answer)


if __name__ == "__main__":
    main(*sys.argv[1:])
