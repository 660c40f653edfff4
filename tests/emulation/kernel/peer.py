"""A TCP peer without a kernel of its own: `python3 peer.py CASE`, on the node `server`.

It is 192.0.2.1, to which the client has a route over this node, so that the kernel here answers
nothing.

It prints a line of JSON for each segment of the client that it has not waited for: `at_ms`, since
the peer's first answer or segment; `first`, `count`, of segments of 1000 bytes; `acks`, bytes;
`window`, as the client's SYN has it.
"""

import json
import math
import socket
import struct
import sys
import time

MSS = 1000
ISS = 5000
PEER = socket.inet_aton("192.0.2.1")
SYN, RST, ACK, ECE = 2, 4, 16, 64
ECT, CE = 2, 3  # RFC 3168: able to carry marks; marked


def checksum(data: bytes) -> int:
    data += b"\0" * (len(data) % 2)
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


class Peer:
    def __init__(self) -> None:
        self.wire = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
        self.start = 0.0

    def receive(self, until: float = math.inf) -> tuple[int, ...]:
        """Return the next segment as (flags, first byte, acknowledged, bytes); none if too late."""
        while (left := until - time.monotonic()) > 0:
            self.wire.settimeout(left if math.isfinite(left) else None)
            try:
                data, place = self.wire.recvfrom(65536)
            except TimeoutError:
                break
            size, end = (data[0] & 15) * 4, int.from_bytes(data[2:4], "big")
            if place[2] == socket.PACKET_OUTGOING or data[9] != 6 or data[16:20] != PEER:
                continue
            port, _, number, acks, offset, flags, window = struct.unpack(
                "!HHIIBBH", data[size : size + 16]
            )
            if flags & SYN:
                self.window = window
                self.place, self.client, self.port, self.base = place, data[12:16], port, number + 1
            return flags, number - self.base, acks - ISS - 1, end - size - (offset >> 4) * 4
        return ()

    def send(
        self, flags: int, first: int = 0, acks: int = 0, options: bytes = b"", data: bytes = b"",
        tos: int = 0,
    ) -> None:  # fmt: skip
        head = struct.pack(
            "!HHIIBBHHH", 9000, self.port, ISS + first + (not flags & SYN),
            self.base + acks, (20 + len(options)) << 2, flags, 65535, 0, 0,
        )  # fmt: skip
        segment = head + options + data
        pseudo = PEER + self.client + struct.pack("!HH", 6, len(segment))
        segment = segment[:16] + struct.pack("!H", checksum(pseudo + segment)) + segment[18:]
        ip = struct.pack("!BBHIBBH", 0x45, tos, 20 + len(segment), 0, 64, 6, 0) + PEER + self.client
        ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
        self.wire.sendto(ip + segment, (self.place[0], 0x0800, 0, 0, self.place[4]))

    def meet(self, ecn: bool) -> None:
        while not self.receive()[0] & SYN:
            pass
        options = struct.pack("!BBHBBBBBBBB", 2, 4, MSS, 4, 2, 1, 3, 3, 7, 1, 1)
        self.send(SYN | ACK | ECE * ecn, options=options)
        self.send(ACK)  # whose window is scaled: 8 MB

    def sack(self, acks: int, first: int, end: int) -> None:
        """Acknowledge segments before `acks`, and `first` to `end` besides."""
        edges = struct.pack("!II", self.base + first * MSS, self.base + end * MSS)
        self.answer(acks, b"\1\1\5\12" + edges)

    def answer(self, acks: int, options: bytes = b"") -> None:
        self.start = self.start or time.monotonic()
        self.send(ACK, acks=acks * MSS, options=options)

    def give(self, *segments: int, tos: int = 0) -> None:
        self.start = self.start or time.monotonic()
        for segment in segments:
            self.send(ACK, first=segment * MSS, data=b"x" * MSS, tos=tos)

    def take(self, count: int) -> None:
        """Wait for `count` segments with data."""
        while count:
            count -= self.receive()[3] > 0

    def answer_each(self, first: int, end: int, gap_s: float) -> None:
        """Acknowledge the segments from `first` up to `end` one by one."""
        for segment in range(first, end):
            self.answer(segment + 1)
            time.sleep(gap_s)

    def flight(self) -> int:
        """Wait until nothing comes for 60 ms; return how many segments have come in all."""
        end = 0
        while found := self.receive(time.monotonic() + 0.06):
            end = max(end, (found[1] + found[3]) // MSS)
        return end

    def watch(self, seconds: float) -> None:
        """Print what the client sends from now on."""
        until = time.monotonic() + seconds
        while found := self.receive(until):
            _, first, acks, size = found
            at_ms = 1000 * (time.monotonic() - self.start)
            row = {"at_ms": at_ms, "first": first // MSS, "count": size // MSS, "acks": acks}
            print(json.dumps(row | {"window": self.window}), flush=True)


def main(case: str) -> None:
    peer = Peer()
    marked = case == "marked"
    peer.meet(ecn=marked)
    if case == "tail":  # two segments, and silence
        peer.take(2)
        peer.start = time.monotonic()
    elif case == "stretched":  # one acknowledgment of a whole window
        peer.take(10)
        peer.answer(10)
    elif case == "avoidance":  # after a timeout an acknowledgment for each flight
        peer.take(10)
        time.sleep(0.5)
        peer.answer(10)
        for _ in range(5):
            peer.answer(peer.flight())
        peer.start = time.monotonic()
    elif case == "delayed":  # the second round trip takes 4.5 ms longer
        peer.take(20)
        peer.answer_each(0, 20, 0.0001)
        peer.take(40)
        time.sleep(0.0025)
        peer.answer_each(20, 60, 0.0001)
    elif case == "train":  # two acknowledgments belong together, 1.7 ms apart, and then none
        peer.take(20)
        peer.answer_each(0, 1, 0.0017)
        peer.answer_each(1, 20, 0.0025)
    elif case == "reset":  # what is in the host's queue still comes
        peer.take(5)
        peer.start = time.monotonic()
        peer.send(RST)
    elif case == "three":  # the first of three is lost
        peer.take(3)
        peer.sack(0, 1, 2)
        peer.sack(0, 1, 3)
    elif case == "ahead":  # one acknowledgment says that the fifth segment has arrived
        peer.take(10)
        peer.sack(0, 4, 5)
    elif case == "seven":  # the first seven of ten are lost, but not the two that follow
        peer.take(10)
        for end in range(8, 11):
            peer.sack(0, 7, end)
        time.sleep(0.06)
        for end in range(11, 13):
            peer.sack(0, 7, end)
    elif case == "gap":  # the first segment alone is lost of all that the buffer holds
        end = peer.flight()
        for sacked in (2, 3, 4, end):
            peer.sack(0, 1, sacked)
    else:  # the client receives: first as much as its quick acknowledgments at the start are for
        begin = 20 if marked else 60  # from some 67 on each is acknowledged at once, marked or not
        for segment in range(begin):
            peer.give(segment, tos=ECT * marked)
            time.sleep(0.002)
        if case == "hole":
            peer.give(*range(61, 81))
        elif marked:
            for segment in range(begin, begin + 25):
                peer.give(segment, tos=CE if segment == begin else ECT)
                time.sleep(0.002)
        else:  # "filled"
            peer.give(61)
            peer.give(60)
            for segment in range(62, 66):
                time.sleep(0.002)
                peer.give(segment)
    peer.watch(0.6)


main(sys.argv[1])
