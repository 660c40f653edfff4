"""Bugs of Linux's queues and TCP, each as an experiment of under a minute.

    bugs.py [NAME...]       as root, in a guest or on any Linux; needs ip, tc and ping

Three network namespaces in a row, a - r - b; `r` forwards, and what it sends to `b` passes the
queue under test. Prints a line of JSON for each case; `claims.csv` says what a kernel without the
bug gives. With UNDONE set the module of the case, as undo.py makes it, takes the place of the
kernel's own.
"""

import ctypes
import fcntl
import json
import os
import re
import select
import socket
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

B = "10.0.2.1"  # b's address

Connection = tuple[socket.socket, socket.socket]  # sender and receiver
LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET, SO_RCVBUFFORCE, SO_TIMESTAMP = 0x40000000, 33, 29
RTM_NEWQDISC, NLM_F_REQUEST, NLM_F_ACK = 36, 1, 4
TCA_KIND, TCA_OPTIONS, TCA_NETEM_PRNG_SEED = 1, 2, 14
SUFFIX = "_undone" if os.environ.get("UNDONE") else ""  # of qdiscs and controls under test


def run(command: str, *, check: bool = True) -> str:
    """Run a command outside of all namespaces and return what it prints."""
    result = subprocess.run(command.split(), capture_output=True, text=True)
    if check and result.returncode:
        sys.exit(f"{command}: {result.stderr.strip()}")
    return result.stdout


def tc(ns: str, command: str) -> None:
    """Run `tc` in a namespace; a kind with a `*` is the one under test."""
    run(f"ip netns exec {ns} tc {command.replace('*', SUFFIX)}")


def enter(ns: str) -> None:
    """Make this process's next sockets and children those of a namespace."""
    with Path(f"/run/netns/{ns}").open() as file:
        if LIBC.setns(file.fileno(), CLONE_NEWNET):
            sys.exit(f"{ns}: {os.strerror(ctypes.get_errno())}")


def network(*, offloads: bool = False, rtt_ms: int = 0) -> None:
    """Build a - r - b, whose devices are called after their neighbours.

    The way back takes `rtt_ms`. Without offloads TCP sends segment by segment.
    """
    segments = "" if offloads else " gso_max_segs 1"
    for ns in "arb":
        run(f"ip netns add {ns}")
        run(f"ip netns exec {ns} sysctl -q net.ipv6.conf.default.disable_ipv6=1")
        run(f"ip -n {ns} link set lo up")
    for left, right, hosts in (("a", "r", ("10.0.1.1", "10.0.1.2")), ("r", "b", ("10.0.2.2", B))):
        run(f"ip -n {left} link add dev {right} type veth peer name {left} netns {right}")
        for ns, device, host in ((left, right, hosts[0]), (right, left, hosts[1])):
            run(f"ip -n {ns} addr add {host}/24 dev {device}")
            run(f"ip -n {ns} link set dev {device}{segments} up")
    for ns, way in (("a", "10.0.1.2"), ("b", "10.0.2.2")):
        run(f"ip -n {ns} route add default via {way}")
        for name in ("rmem=4096 131072 33554432", "wmem=4096 65536 33554432"):
            command = ["ip", "netns", "exec", ns, "sysctl", "-q", f"net.ipv4.tcp_{name}"]
            subprocess.run(command, check=True)
    run("ip netns exec r sysctl -q net.ipv4.ip_forward=1")
    run(f"ip netns exec a ping -q -c 1 {B}")
    for ns in "arb":  # what ARP sends later would draw random numbers of netem, as IPv6 would
        for peer in json.loads(run(f"ip -n {ns} -j neigh")):
            place = f"{peer['dst']} lladdr {peer['lladdr']} dev {peer['dev']}"
            run(f"ip -n {ns} neigh replace {place} nud permanent")
    if rtt_ms:
        tc("r", f"qdisc add dev a root netem delay {rtt_ms}ms limit 100000")


def udp() -> tuple[socket.socket, socket.socket]:
    """Return a socket of a that sends to the other, of b."""
    enter("b")
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 26)
    receiver.bind((B, 9000))
    enter("a")
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.connect((B, 9000))
    return sender, receiver


def arrivals(receiver: socket.socket, wait_s: float) -> list[tuple[float, int]]:
    """Return when each packet arrived, and its number, until none does for so long."""
    taken = []
    while select.select([receiver], [], [], wait_s)[0]:
        data = receiver.recv(2000)
        taken.append((time.monotonic(), int.from_bytes(data[:4], "big")))
    return taken


def packet(number: int, length: int = 1400) -> bytes:
    """Return a payload that begins with its number."""
    return number.to_bytes(4, "big") + bytes(length - 4)


def tcp(control: str = "cubic") -> Connection:
    """Return both ends of a connection from a to b."""
    enter("b")
    listener = socket.create_server((B, 0))
    enter("a")
    sender = socket.socket()
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
    sender.connect(listener.getsockname())
    return sender, listener.accept()[0]


def ssthresh(sender: socket.socket) -> int:
    """Return the slow-start threshold of a connection in packets (`struct tcp_info`)."""
    return struct.unpack_from("I", sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104), 76)[
        0
    ]


def upload(seconds: float, connections: list[Connection]) -> list[int]:
    """Send as much as each connection takes for so long; return how many bytes of each arrived."""
    sockets = [end for connection in connections for end in connection]
    for end in sockets:
        end.setblocking(False)
    arrived = {receiver: 0 for _, receiver in connections}
    until, data = time.monotonic() + seconds, bytes(65536)
    while (left := until - time.monotonic()) > 0:
        readable, writable, _ = select.select(list(arrived), sockets[::2], [], left)
        for receiver in readable:
            arrived[receiver] += len(receiver.recv(1 << 20))
        for sender in writable:
            sender.send(data)
    return list(arrived.values())


def pings(number: int) -> Callable[[], dict[str, float]]:
    """Start so many pings from a to b, 0.2 s apart; what is returned waits for their end, and gives
    the share that was lost in percent and their mean RTT in ms."""
    command = f"ip netns exec a ping -q -i 0.2 -c {number} {B}".split()
    ping = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def ended() -> dict[str, float]:
        text = ping.communicate()[0]
        lost, mean = re.search(r"([\d.]+)% packet", text), re.search(r"= [\d.]+/([\d.]+)/", text)
        return {"lost": float(lost[1]) if lost else 100, "mean": float(mean[1]) if mean else 0}

    return ended


def flood(packets: int, interval_s: float = 0.0, length: int = 1400) -> list[tuple[float, int]]:
    """Send packets from a to b and return the arrivals of those that come within 3 s of another."""
    sender, receiver = udp()
    for number in range(packets):
        sender.send(packet(number, length))
        time.sleep(interval_s)
    return arrivals(receiver, 3)


def rate(taken: list[tuple[float, int]], length: int = 1400) -> float:
    """Return the rate of the frames between the first arrival and the last, in kbit/s."""
    return (len(taken) - 1) * (length + 42) * 8 / (taken[-1][0] - taken[0][0]) / 1e3


def backlog(device: str, kind: str) -> tuple[int, int]:
    """Return the bytes and packets that wait in a qdisc of r, as tc has them."""
    for qdisc in json.loads(run(f"ip netns exec r tc -s -j qdisc show dev {device}")):
        if qdisc["kind"] == kind:
            return qdisc["backlog"], qdisc["qlen"]
    sys.exit(f"r's {device} has no {kind}")


def netem(device: str, *, seed: int | None = None, loss: float = 0.0) -> None:
    """Change the netem of r's device as tc does from iproute2 6.6 on, which has `seed`."""

    def attribute(kind: int, data: bytes) -> bytes:
        return struct.pack("HH", len(data) + 4, kind) + data + bytes(-len(data) % 4)

    enter("r")
    index = socket.if_nametoindex(device)
    options = struct.pack("6I", 0, 1000, int(loss * 0xFFFFFFFF), 0, 0, 0)
    if seed is not None:
        options += attribute(TCA_NETEM_PRNG_SEED, struct.pack("Q", seed))
    body = struct.pack("BxxxiIII", 0, index, 0x10000, 0xFFFFFFFF, 0)
    body += attribute(TCA_KIND, f"netem{SUFFIX}".encode() + bytes(1)) + attribute(
        TCA_OPTIONS, options
    )
    header = struct.pack("IHHII", 16 + len(body), RTM_NEWQDISC, NLM_F_REQUEST | NLM_F_ACK, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as link:
        link.send(header + body)
        if error := struct.unpack_from("i", link.recv(4096), 16)[0]:
            sys.exit(f"netem: {os.strerror(-error)}")
    enter("a")


def codel_stale() -> float:
    """Pings lost beside eight uploads, each flow in a queue of its own."""
    network()
    tc("r", "qdisc add dev b root handle 1: tbf rate 1mbit burst 1600 latency 10s")
    tc("r", "qdisc add dev b parent 1: fq_codel*")
    connections = [tcp() for _ in range(8)]
    ended = pings(140)
    upload(28, connections)
    return ended()["lost"]


def codel_mtu() -> float:
    """RTT through CoDel that gets what TCP sends at once as one packet."""
    network(offloads=True)
    tc("r", "qdisc add dev b root handle 1: htb default 1")
    tc("r", "class add dev b parent 1: classid 1:1 htb rate 1mbit burst 1600 quantum 1514")
    tc("r", "qdisc add dev b parent 1:1 codel*")
    connection = tcp()
    upload(10, [connection])
    ended = pings(90)
    upload(20, [connection])
    return ended()["mean"]


def fq_tstamp() -> float:
    """Packets lost that a router forwards into fq while a program of its takes timestamps."""
    network()
    enter("r")
    stamped = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    stamped.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMP, 1)
    tc("r", "qdisc add dev b root fq")
    time.sleep(1)  # the kernel begins to stamp in a worker of its own
    return 100 - len(flood(100, 0.01))


def htb_low_rate() -> float:
    """The rate of a class of 8 kbit/s."""
    network()
    tc("r", "qdisc add dev b root handle 1: htb* default 1")
    tc("r", "class add dev b parent 1: classid 1:1 htb* rate 8kbit burst 1600 quantum 1514")
    return rate(flood(30))


def htb_atm() -> float:
    """The rate of small packets over ATM's cells in a class of 1 Mbit/s."""
    network()
    tc("r", "qdisc add dev b root handle 1: htb* default 1")
    shape = "rate 1mbit burst 1600 cburst 1600 quantum 1514 linklayer atm"
    tc("r", f"class add dev b parent 1: classid 1:1 htb* {shape}")
    return rate(flood(400, length=64), 64)


def netem_duplicate() -> float:
    """Packets that arrive per packet, where one of two leaves of HTB duplicates all."""
    network()
    tc("r", "qdisc add dev b root handle 1: htb default 2")
    for leaf in (1, 2):
        tc("r", f"class add dev b parent 1: classid 1:{leaf} htb rate 10mbit quantum 1514")
    tc("r", "qdisc add dev b parent 1:1 netem* delay 1ms")
    run(f"ip netns exec r tc qdisc add dev b parent 1:2 netem{SUFFIX} duplicate 100%", check=False)
    return len(flood(100, 0.01)) / 100


def netem_slot() -> float:
    """The shortest time between slots that are to be 3 to 8 s apart."""
    network()
    tc("r", "qdisc add dev b root netem* slot 3s 8s limit 10000")
    sender, receiver = udp()
    times = []
    for number in range(200):
        sender.send(packet(number))
        times += [moment for moment, _ in arrivals(receiver, 0.25)]
    gaps = [after - before for before, after in pairwise(times)]
    return min(gap for gap in gaps if gap > 0.4)


def netem_limit() -> float:
    """Packets in a netem with a limit of 20 that sends each before the others."""
    network()
    tc("r", "qdisc add dev b root handle 1: tbf rate 100kbit burst 1600 latency 1s")
    tc("r", "qdisc add dev b parent 1: netem* limit 20 delay 1ms reorder 100%")
    sender, _ = udp()
    for number in range(200):
        sender.send(packet(number))
    time.sleep(0.1)
    return backlog("b", f"netem{SUFFIX}")[1]


def netem_reseed() -> float:
    """Of 100 packets after a change of netem without a seed, how many have another fate."""
    network()
    tc("r", "qdisc add dev b root handle 1: netem* loss 50%")
    fates = []
    for changed in (False, True):
        netem("b", seed=1, loss=0.5)
        taken = flood(100, 0.001)
        if changed:
            netem("b", loss=0.5)
        later = flood(100, 0.001)
        fates.append({number for _, number in later})
        assert 20 < len(taken) < 80
    return len(fates[0] ^ fates[1])


def netem_child() -> float:
    """What a netem with fq_codel in it delivers at 1 Mbit/s, offered twice that."""
    network()
    tc("r", "qdisc add dev b root handle 1: tbf rate 1mbit burst 1600 latency 1s")
    tc("r", "qdisc add dev b parent 1: handle 2: netem* limit 100 delay 1ms")
    tc("r", "qdisc add dev b parent 2: fq_codel limit 20")
    taken = flood(2000, 0.0056)
    return len(taken) * 1442 * 8 / (2000 * 0.0056) / 1e3


def tbf_gso() -> float:
    """Bytes that wait in tbf when nothing does, after it has cut what TCP sent at once."""
    network(offloads=True)
    tc("r", "qdisc add dev b root tbf* rate 10mbit burst 1600 latency 50ms")
    connection = tcp()
    upload(5, [connection])
    connection[0].close()
    time.sleep(5)
    waiting = backlog("b", f"tbf{SUFFIX}")[0]
    return min(waiting, 2**32 - waiting)  # the counter has 32 bits


def cubic_round() -> float:
    """The window at which HyStart leaves slow start; 619 packets fill the link."""
    network(rtt_ms=150)
    tc("r", "qdisc add dev b root tbf rate 50mbit burst 3200 limit 937166")
    connection = tcp(f"cubic{SUFFIX}")
    upload(1.5, [connection])
    return ssthresh(connection[0])


def tcp_mss_ack() -> float:
    """Time until a single full segment is acknowledged that its receiver has read."""
    network()
    sender, receiver = tcp()
    waits = []
    for _ in range(60):
        began = time.monotonic()
        sender.send(bytes(1448))
        receiver.recv(1448)
        while struct.unpack("i", fcntl.ioctl(sender, termios.TIOCOUTQ, bytes(4)))[0]:
            time.sleep(0.0005)
        waits.append(time.monotonic() - began)
    return 1e3 * sum(waits[-30:]) / 30


def bbr_bdp() -> float:
    """The share of the smaller of two flows of BBR, 1 Mbit/s and 10 ms."""
    network(rtt_ms=10)
    tc("r", "qdisc add dev b root tbf rate 1mbit burst 1600 latency 400ms")
    first, second = tcp(f"bbr{SUFFIX}"), tcp(f"bbr{SUFFIX}")
    upload(5, [first])
    upload(20, [first, second])
    shares = upload(25, [first, second])
    return 100 * min(shares) / sum(shares)


def pie_precision() -> float:
    """RTT through PIE beside an upload at 10 Mbit/s."""
    network(rtt_ms=50)
    tc("r", "qdisc add dev b root handle 1: tbf rate 10mbit burst 1600 latency 10s")
    tc("r", "qdisc add dev b parent 1: pie")
    if SUFFIX:
        Path("/sys/module/sch_pie/parameters/short_prob").write_text("Y")
    connection = tcp()
    upload(10, [connection])
    ended = pings(140)
    upload(30, [connection])
    return ended()["mean"]


def counter(ns: str, name: str) -> int:
    """Return a counter of a namespace's IP and TCP, by its name in /proc/net."""
    enter(ns)
    for table in ("snmp", "netstat"):
        lines = iter(Path(f"/proc/thread-self/net/{table}").read_text().splitlines())
        for names, values in zip(lines, lines, strict=True):
            if name in names.split():
                return int(values.split()[names.split().index(name)])
    sys.exit(f"{ns} has no counter {name}")


def lossy(control: str, sysctl: str) -> None:
    """Upload through a loss of 3 % for 10 s; with UNDONE the sysctl of both ends is 0."""
    network(rtt_ms=20)
    if SUFFIX:
        for ns in "ab":
            run(f"ip netns exec {ns} sysctl -q net.ipv4.{sysctl}=0")
    tc("r", "qdisc add dev b root netem loss 3% rate 100mbit limit 1000")
    upload(10, [tcp(control)])


def rack_lost() -> float:
    """Timeouts per 100 segments sent again, where some of these are lost, too."""
    lossy("reno", "tcp_recovery")
    return 100 * counter("a", "TCPTimeouts") / counter("a", "RetransSegs")


def sack_acks() -> float:
    """Acknowledgments per 100 segments that arrive, beside losses."""
    lossy("bbr", "tcp_comp_sack_nr")
    return 100 * counter("b", "OutSegs") / counter("b", "InSegs")


CASES: tuple[Callable[[], float], ...] = (
    *(codel_stale, codel_mtu, fq_tstamp, htb_low_rate, htb_atm, netem_duplicate, netem_slot),
    *(netem_limit, netem_reseed, netem_child, tbf_gso, cubic_round, tcp_mss_ack, bbr_bdp),
    *(pie_precision, rack_lost, sack_acks),
)


def main(names: list[str]) -> None:
    """Run the cases of these names, or all, each in namespaces of its own."""
    for case in CASES:
        if names and case.__name__ not in names:
            continue
        row: dict[str, object] = {"case": case.__name__}
        if child := os.fork():
            os.waitpid(child, 0)
        else:
            try:
                row["value"] = round(case(), 3)
            except BaseException as error:  # also of sys.exit: the others go on
                row["error"] = str(error)
            print(json.dumps(row), flush=True)
            os._exit(0)
        run("ip -all netns delete")


if __name__ == "__main__":
    main(sys.argv[1:])
