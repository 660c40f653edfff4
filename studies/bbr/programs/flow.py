"""A connection whose congestion control is asked for its state, on a path that can be changed.

Three network namespaces in a row, a - r - b. What r sends to b waits for an htb of the case's rate
in a netem, which may lose, delay and reorder; what r sends back is delayed by the round-trip time.
a's TCP is asked every 2 ms what the control does: BBR tells its estimates and its two gains
(`struct tcp_bbr_info`), and they tell its state.
"""

import ctypes
import os
import select
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import groupby, pairwise
from pathlib import Path
from typing import NamedTuple

MBIT, MSS, FRAME = 1e6, 1448, 1514
SAMPLE_S, TICK_S = 0.002, 0.01  # between samples; between writes of a limited application
TCP_CC_INFO, TCP_NOTSENT_LOWAT, CLONE_NEWNET = 26, 25, 0x40000000


def enter(ns: str) -> None:
    """Make this process's next sockets and children those of a namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    with Path(f"/run/netns/{ns}").open() as file:
        if libc.setns(file.fileno(), CLONE_NEWNET):
            sys.exit(f"{ns}: {os.strerror(ctypes.get_errno())}")


class Sample(NamedTuple):
    """What a sender's TCP said at a moment; without BBR's gains the state is empty."""

    time: float
    state: str
    bw: float  # BBR's estimate in bytes of payload per s
    min_rtt: float  # s
    gain: float
    cwnd: int
    inflight: int
    delivered: int  # packets
    sent: int  # bytes, with retransmissions
    again: int  # bytes, of retransmissions
    rounds: int

    @property
    def bdp(self) -> float:
        """BBR's estimate of the bandwidth-delay product in packets."""
        return self.bw * self.min_rtt / MSS


def state_of(pacing: float, window: float) -> str:
    """Return the state that has these gains, in the draft and in all versions of Linux's BBR."""
    if pacing >= 2:
        return "STARTUP"
    if pacing <= 0.6:
        return "DRAIN"
    if abs(pacing - 1) > 0.02:
        return "UP" if pacing > 1 else "DOWN"
    return "PROBE_RTT" if window <= 1.05 else "CRUISE"


class Network:
    """a - r - b: rate and buffer of r's link to b, and the round-trip time."""

    def __init__(self, mbit_s: float, rtt_ms: float, packets: int) -> None:
        self.packets = packets
        setup = [f"netns add {ns}" for ns in "arb"]
        for left, right, subnet in (("a", "r", 1), ("r", "b", 2)):
            setup += [f"link add dev {right} netns {left} type veth peer name {left} netns {right}"]
            for ns, device, host in ((left, right, 1), (right, left, 2)):
                setup += [f"-n {ns} addr add 10.0.{subnet}.{host}/24 dev {device}"]
                mac = f"address 02:00:00:00:0{subnet}:0{host}"
                setup += [f"-n {ns} link set dev {device} gso_max_segs 1 {mac} up"]
                peer = f"10.0.{subnet}.{3 - host} lladdr 02:00:00:00:0{subnet}:0{3 - host}"
                # ARP would wait in the queue, for longer than the kernel awaits an answer
                setup += [f"-n {ns} neigh add {peer} dev {device} nud permanent"]
        setup += ["-n a route add default via 10.0.1.2", "-n b route add default via 10.0.2.1"]
        for line in setup:
            subprocess.run(["ip", *line.split()], check=True)
        enter("r")
        Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
        rate = self._class(mbit_s)
        for line in (
            "qdisc add dev b root handle 1: htb default 1",
            f"class add {rate}",
            f"qdisc add dev b parent 1:1 handle 10: netem limit {packets}",
            f"qdisc add dev a root netem delay {rtt_ms}ms limit 100000",
        ):
            subprocess.run(["tc", *line.split()], check=True)
        # one tc makes all later changes: to start one takes time
        self._tc = subprocess.Popen(["tc", "-batch", "-"], stdin=subprocess.PIPE, text=True)

    def tc(self, line: str) -> None:
        """Have the one tc of this path carry out a command."""
        assert self._tc.stdin is not None
        print(line, file=self._tc.stdin, flush=True)

    def _class(self, mbit_s: float) -> str:
        """Return the bottleneck's class at a rate, as tc wants it."""
        rate = f"rate {mbit_s}mbit ceil {mbit_s}mbit burst 1600 cburst 1600 quantum 1514"
        return f"dev b parent 1: classid 1:1 htb {rate}"

    def rate(self, mbit_s: float) -> None:
        """Set the bottleneck's rate."""
        self.tc(f"class change {self._class(mbit_s)}")

    def queue(self, options: str = "") -> None:
        """Let the bottleneck's queue lose, delay or reorder what comes from now on."""
        self.tc(f"qdisc change dev b parent 1:1 handle 10: netem limit {self.packets} {options}")

    def back(self, options: str) -> None:
        """Say how acknowledgements are delayed from now on."""
        self.tc(f"qdisc change dev a root netem {options} limit 100000")


class Flow:
    """A connection from a to b, what its application sends, and what its TCP said meanwhile."""

    def __init__(self, control: str) -> None:
        self.control = control
        enter("b")
        listener = socket.create_server(("10.0.2.2", 0))
        enter("a")
        self.sender = socket.socket()
        self.sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
        self.sender.setsockopt(socket.IPPROTO_TCP, TCP_NOTSENT_LOWAT, 16384)
        self.sender.connect(listener.getsockname())
        self.receiver = listener.accept()[0]
        self.sender.setblocking(False)
        self.samples: list[Sample] = []
        self._mark = 0  # bytes that end the present round when they are acknowledged
        self.sample()

    @property
    def now(self) -> Sample:
        """The latest sample."""
        return self.samples[-1]

    def sample(self) -> Sample:
        """Ask TCP."""
        info = self.sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 232)
        own = self.sender.getsockopt(socket.IPPROTO_TCP, TCP_CC_INFO, 64)
        unacked, sacked, lost, again = struct.unpack_from("4I", info, 24)
        acked, sent, resent = (struct.unpack_from("Q", info, at)[0] for at in (120, 200, 208))
        rounds = self.samples[-1].rounds if self.samples else 0
        if acked > self._mark:
            rounds, self._mark = rounds + 1, sent - resent
        state, bw, min_rtt, gain = "", 0, 0, 0.0
        if len(own) >= 20:
            low, high, min_rtt, pacing, window = struct.unpack_from("5I", own)
            bw, gain = low | high << 32, pacing / 256
            state = state_of(gain, window / 256)
        self.samples.append(
            Sample(
                *(time.monotonic(), state, bw, min_rtt / 1e6, gain),
                cwnd=struct.unpack_from("I", info, 80)[0],
                inflight=unacked - sacked - lost + again,
                delivered=struct.unpack_from("I", info, 192)[0],
                sent=sent,
                again=resent,
                rounds=rounds,
            )
        )
        return self.now

    def run(
        self, seconds: float, until: Callable[[Sample], bool] | None = None, mbit_s: float = -1
    ) -> Sample:
        """Send for so long, or until a sample is such; return that sample.

        The application sends as much as TCP takes, or `mbit_s` (0: it pauses).
        """
        began, data = time.monotonic(), bytes(8192)
        due, owed = began, 0.0
        while (moment := time.monotonic()) < began + seconds:
            if mbit_s > 0 and moment >= due:
                due, owed = due + TICK_S, owed + mbit_s * MBIT / 8 * TICK_S
                with suppress(BlockingIOError):  # it sends later what it cannot send now
                    owed -= self.sender.send(bytes(int(owed)))
            wait = self.now.time + SAMPLE_S - time.monotonic()
            writers = [self.sender] if mbit_s < 0 else []
            readable, writable, _ = select.select([self.receiver], writers, [], max(wait, 0))
            if readable:
                self.receiver.recv(1 << 20)
            if writable:
                self.sender.send(data)
            if time.monotonic() >= self.now.time + SAMPLE_S and until is not None:
                if until(self.sample()):
                    return self.now
            elif time.monotonic() >= self.now.time + SAMPLE_S:
                self.sample()
        if until is not None:
            raise TimeoutError(f"not so within {seconds} s, in state {self.now.state or 'unknown'}")
        return self.now

    def enters(self, *states: str, seconds: float = 15, mbit_s: float = -1) -> Sample:
        """Send until the control comes into one of these states from another one."""
        if not self.now.state:
            raise LookupError(f"{self.control} tells no state")
        self.run(seconds, lambda now: now.state not in states, mbit_s)
        return self.run(seconds, lambda now: now.state in states, mbit_s)

    def leaves(self, seconds: float = 15, mbit_s: float = -1) -> Sample:
        """Send until the control has left its state."""
        if not (state := self.now.state):
            raise LookupError(f"{self.control} tells no state")
        return self.run(seconds, lambda now: now.state != state, mbit_s)

    def since(self, moment: float, until: float = float("inf")) -> list[Sample]:
        """Return the samples of a time."""
        return [one for one in self.samples if moment <= one.time <= until]

    def spells(self, state: str) -> list[tuple[Sample, Sample, Sample]]:
        """Return of each whole stay in a state its first and last sample, and the one behind."""
        runs = [list(run) for _, run in groupby(self.samples, key=lambda one: one.state)]
        return [
            (run[0], run[-1], after[0])
            for run, after in pairwise(runs[1:])
            if run[0].state == state
        ]
