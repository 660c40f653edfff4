"""Which packets the upload's queue drops: runs with captures before and behind it, as a table.

`python -m workflow.drops --output data/captures/gbw2015.csv` does the runs of `PLAN` that the table
lacks. A packet that the client sends and that does not leave the bottleneck was dropped in its
queue: nothing else on the way drops any. The runs are of their own, since a capture at the client
is part of their job; they are the paper's experiments in all else.
"""

from __future__ import annotations

import argparse
import csv
import json
import socket
import struct
import sys
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from itertools import chain, groupby
from math import ceil
from pathlib import Path
from statistics import fmean, median

from emulation import capture, kernel, rootfs, vm
from emulation.config import experiment, select
from emulation.errors import EmulationError
from emulation.model import Run
from emulation.units import Duration

#: experiment, link
PLAN = (
    ("rrul", "10/1"),
    ("rtt_fairness", "10/1"),
    ("web_small_1up", "10/1"),
    ("web_small_rrul", "10/1"),
    ("voip_1up", "10/1"),
    ("voip_rrul", "10/1"),
)
ERA, CC = "2014", "cubic"
BEFORE = {"node": "client", "interface": "client-r1"}
BEHIND, INTERFACE = "router_up", "r1-delay"

#: Payload of a flow in bytes above which it is an upload; the others acknowledge or control.
UPLOAD_BYTES = 100_000
#: Packets without payload above which a flow acknowledges a download.
MANY = 100
#: What a packet sets off is sent at once, as computing takes no time: a retransmission with no
#: packet of its flow so long before was set off by a timer.
AT_ONCE_NS = 1_000_000
#: The retransmission timer waits for a round trip and at least so long besides (TCP_RTO_MIN).
RTO_MIN_NS = 200_000_000

#: Of what the qdisc drops, at most so much is the router's own: it asks for the next one's address.
ARP_PART = 0.005

#: Payload of a full packet of TCP, at least.
FULL_BYTES = 1400
#: Round trips without a drop after which a flow of 1 Mbit/s has its window back: CUBIC needs
#: cbrt(0.3 x 40 / 0.4) = 3.1 s for one of 40 packets; a round trip takes 1 s, with a full queue.
RECOVERY = 4
#: Kinds of packets of which a flow sends few.
SPARSE = ("probe", "voip")

SYN = 0x02
HTTP, DNS, DITG, IPERF = 80, 53, 9001, 5001
LOOPBACK = 127


Flow = tuple[int, str, int, int]  # protocol, address of the server, ports of client and server


@dataclass(frozen=True)
class OfRun:
    """What the rows of all tables of captures begin with: which run they are of."""

    experiment: str
    era: str
    link: str
    qdisc: str
    cc: str
    seed: int


@dataclass(frozen=True)
class Row(OfRun):
    """One kind of packets of a run; what a kind does not have is 0."""

    length_s: float
    kind: str  # `upload, 10 ms`, `acknowledgment`, `syn`, `web`, `name`, `voip`, `flood`, `probe`,
    # `control`
    flows: int
    packets: int
    dropped: int
    bursts: int  # runs of packets of one flow dropped one after the other
    longest_burst: int
    events: int  # drops of one flow within a base round trip are one
    wait_ms: float  # in the queue and on the link, mean of the packets that left
    longest_wait_ms: float  # the flow's with the largest mean
    timeouts: int  # of the retransmission timer
    timeouts_in_a_row: int  # at most, without anything acknowledged between
    connections: int  # syn: that were tried
    late_connections: int  # syn: whose first SYN was dropped
    behind_packets: float  # full packets of other flows that leave while one of a flow waits: 99th
    # percentile, median of the flows
    first_series: int  # congestion events in a row, from the first on, of the flow with most


@dataclass(frozen=True)
class Sent:
    """A packet of the client's."""

    time_ns: int
    flow: Flow
    syn: bool
    seq: int
    payload: int
    key: bytes  # what does not change on the way


def sent_by(path: Path, address: str) -> Iterator[Sent]:
    """The packets of a capture that `address` sent, in their order."""
    source = socket.inet_aton(address)
    for packet in capture.read(path):
        frame = packet.content
        if frame[12:14] != b"\x08\0" or frame[26:30] != source or frame[30] == LOOPBACK:
            continue
        protocol, above = frame[23], frame[14 + 4 * (frame[14] & 15) :]
        ports: tuple[int, int] = (0, 0)
        syn, seq, payload = False, 0, 0
        if protocol in (socket.IPPROTO_TCP, socket.IPPROTO_UDP):
            ports = struct.unpack_from("!HH", above)
        if protocol == socket.IPPROTO_TCP:
            seq = struct.unpack_from("!I", above, 4)[0]
            syn = bool(above[13] & SYN)
            total = struct.unpack_from("!H", frame, 16)[0]
            payload = total - 4 * (frame[14] & 15) - 4 * (above[12] >> 4)
        flow = (protocol, socket.inet_ntoa(frame[30:34]), *ports)
        key = frame[16:22] + frame[23:24] + frame[26:]  # without TTL and checksum of the header
        yield Sent(packet.time_ns, flow, syn, seq, payload, key)


@dataclass(frozen=True)
class Answer:
    """A TCP packet that came back to the client."""

    time_ns: int
    ack: int  # its acknowledgment number


def answers(path: Path, address: str) -> dict[Flow, list[Answer]]:
    """The TCP packets to `address` in their order, by the flow that they answer."""
    target, found = socket.inet_aton(address), defaultdict(list)
    for packet in capture.read(path):
        frame = packet.content
        if frame[12:14] == b"\x08\0" and frame[30:34] == target and frame[23] == 6:
            start = 14 + 4 * (frame[14] & 15)
            ports = struct.unpack_from("!HH", frame, start)
            flow = (6, socket.inet_ntoa(frame[26:30]), ports[1], ports[0])
            number = struct.unpack_from("!I", frame, start + 8)[0]
            found[flow].append(Answer(packet.time_ns, number))
    return found


def fates(before: list[Sent], behind: list[Sent]) -> list[int | None]:
    """When each packet of `before` left, in ns, or None where it was dropped; `ValueError` where
    one came from nowhere.

    Equal packets leave in the order in which they came.
    """
    waiting: dict[bytes, deque[int]] = defaultdict(deque)
    for place, packet in enumerate(before):
        waiting[packet.key].append(place)
    left: list[int | None] = [None] * len(before)
    for packet in behind:
        if not waiting[packet.key]:
            raise ValueError("a packet left the queue that the client did not send")
        left[waiting[packet.key].popleft()] = packet.time_ns
    return left


def base_rtts(run: Run) -> dict[str, Duration]:
    """The round trip of the empty path to each of the server's addresses."""
    addresses = run.topology.port(run.experiment.traffic.server).ips
    return dict(zip(addresses, run.experiment.rig.base_rtts, strict=True))


def kinds(packets: list[Sent], rtts: dict[str, str]) -> dict[Flow, str]:
    """What each flow is; `rtts` has the round trip of each of the server's addresses."""
    payload: Counter[Flow] = Counter()
    number: Counter[Flow] = Counter()
    for packet in packets:
        payload[packet.flow] += packet.payload
        number[packet.flow] += 1
    found = {}
    for flow, count in number.items():
        protocol, server, _, port = flow
        if protocol == socket.IPPROTO_TCP:
            upload = "upload" if len(rtts) == 1 else f"upload, {rtts.get(server)}"
            web = "web" if port == HTTP else "control"
            small = "acknowledgment" if count > MANY and port != HTTP else web
            found[flow] = upload if payload[flow] > UPLOAD_BYTES and port != HTTP else small
        elif protocol == socket.IPPROTO_UDP:
            found[flow] = {DNS: "name", DITG: "voip", IPERF: "flood"}.get(port, "probe")
        else:
            found[flow] = "probe"
    return found


def timeouts(packets: list[Sent], answered: list[Answer], base_rtt_ns: int) -> tuple[int, int]:
    """Timeouts of one flow, and the most of them in a row without an acknowledgment between.

    After a timeout the oldest segment is sent again, at least TCP_RTO_MIN and a round trip after
    something new was acknowledged or the same timer went off. RACK's timer, which marks segments
    lost that were sent a round trip and a quarter before one that arrived, is faster.
    """
    found = row = longest = place = 0
    top = oldest = None
    since_ns = packets[0].time_ns if packets else 0
    came_ns = since_ns
    for packet in packets:
        while place < len(answered) and answered[place].time_ns <= packet.time_ns:
            came_ns, number = answered[place].time_ns, answered[place].ack
            place += 1
            if oldest is None or _before(oldest, number):
                oldest, since_ns, row = number, came_ns, 0
        if not packet.payload:
            continue
        end = packet.seq + packet.payload
        if top is None or _before(top, end):
            top = end
        elif (
            packet.seq == oldest
            and packet.time_ns - came_ns > AT_ONCE_NS
            and packet.time_ns - since_ns >= RTO_MIN_NS + base_rtt_ns
        ):
            found, row, since_ns = found + 1, row + 1, packet.time_ns
            longest = max(longest, row)
    return found, longest


def _before(a: int, b: int) -> bool:
    """Whether the sequence number `a` comes before `b` (RFC 9293, 3.4)."""
    return a != b and (b - a) % 2**32 < 2**31


def events(dropped_ns: list[int], base_rtt_ns: int) -> int:
    """How many groups of drops there are, each no longer than a base round trip."""
    found, first = 0, None
    for time_ns in dropped_ns:
        if first is None or time_ns - first > base_rtt_ns:
            found, first = found + 1, time_ns
    return found


def first_series(dropped_ns: list[int], round_trip_ns: float) -> int:
    """How many congestion events there are from the first drop on until the flow has RECOVERY round
    trips without one; drops within a round trip are one event."""
    found, first, last = 0, 0, None
    for time_ns in dropped_ns:
        if last is not None and time_ns - last > RECOVERY * round_trip_ns:
            break
        if last is None or time_ns - first > round_trip_ns:
            found, first = found + 1, time_ns
        last = time_ns
    return found


def behind(waits: list[tuple[int, int]], full_ns: list[int]) -> float:
    """How many of the packets that left at `full_ns`, in order, left while a packet waited, which
    came and left at `waits`: the 99th percentile."""
    if not waits:
        return 0.0
    counts = sorted(
        bisect_left(full_ns, left) - bisect_right(full_ns, came) for came, left in waits
    )
    return float(counts[ceil(0.99 * len(counts)) - 1])


def rows(
    run: Run, before: list[Sent], left: list[int | None], answered: Mapping[Flow, list[Answer]]
) -> Iterator[Row]:
    """A row a kind of packets."""
    rtts = base_rtts(run)
    kind_of = kinds(before, {address: str(rtt) for address, rtt in rtts.items()})
    by_kind: dict[str, dict[Flow, list[tuple[Sent, int | None]]]] = {}
    for packet, when in zip(before, left, strict=True):
        kind = kind_of[packet.flow]
        kind = "syn" if packet.syn and kind == "web" else kind
        by_kind.setdefault(kind, defaultdict(list))[packet.flow].append((packet, when))
    full = [
        (when, packet.flow)
        for packet, when in zip(before, left, strict=True)
        if when is not None and packet.payload > FULL_BYTES and kind_of[packet.flow][:6] == "upload"
    ]
    full.sort()
    for kind, flows in sorted(by_kind.items()):
        together = [
            len(list(group))
            for packets in flows.values()
            for lost, group in groupby(when is None for _, when in packets)
            if lost
        ]
        waits_ms = [
            [1e-6 * (when - packet.time_ns) for packet, when in packets if when is not None]
            for packets in flows.values()
        ]
        fired = [
            timeouts([packet for packet, _ in packets], answered.get(flow, []), base)
            for flow, packets in flows.items()
            if (base := rtts[flow[1]].nanoseconds)
        ]
        is_syn = kind == "syn"
        yield Row(
            *of_run(run),
            length_s=run.length.seconds,
            kind=kind,
            flows=len(flows),
            packets=sum(map(len, flows.values())),
            dropped=sum(together),
            bursts=len(together),
            longest_burst=max(together, default=0),
            events=sum(
                events(
                    [one.time_ns for one, when in packets if when is None],
                    rtts[flow[1]].nanoseconds,
                )
                for flow, packets in flows.items()
            ),
            wait_ms=round(fmean(chain(*waits_ms) if any(waits_ms) else [0.0]), 3),
            longest_wait_ms=round(max((fmean(one) for one in waits_ms if one), default=0.0), 3),
            timeouts=sum(count for count, _ in fired),
            timeouts_in_a_row=max((most for _, most in fired), default=0),
            connections=len(flows) if is_syn else 0,
            late_connections=sum(one[0][1] is None for one in flows.values()) if is_syn else 0,
            behind_packets=median(
                behind(
                    [(packet.time_ns, when) for packet, when in packets if when is not None],
                    [when for when, other in full if other != flow],
                )
                for flow, packets in flows.items()
            )
            if kind in SPARSE
            else 0.0,
            first_series=max(
                first_series(
                    [one.time_ns for one, when in packets if when is None],
                    rtts[flow[1]].nanoseconds + 1e6 * fmean(wait or [0.0]),
                )
                for (flow, packets), wait in zip(flows.items(), waits_ms, strict=True)
            )
            if kind.startswith("upload")
            else 0,
        )


@dataclass(frozen=True)
class Followed:
    """The packets that the client sent in a run, and what became of them."""

    packets: list[Sent]
    left: list[int | None]  # when each one left the queue, in ns; None: it was dropped
    answered: Mapping[Flow, list[Answer]]


def follow(run: Run, built: kernel.Kernel, root: rootfs.RootFs) -> Followed:
    """Do `run` with captures; raises an `EmulationError` where the guest fails."""
    machine = vm.Machine(built.path, root.path, run.random, run.memory_mib)
    job = run.job()
    job["queues"] = [*job["queues"], BEFORE]
    job["capture"] = True
    with vm.scratch() as folder:
        vm.prepare(folder, root.path, job)
        ending = vm.run(machine, folder)
        last = ending.steps[-1]
        if last["step"] != "done":
            raise EmulationError(what="; ".join(last.get("problems", ["it stopped"])), where=run.id)
        out = folder / "job" / "out"
        address = run.topology.port(run.experiment.traffic.client).ips[0]
        ours = out / f"{BEFORE['node']}{capture.SUFFIX}"
        before, answered = list(sent_by(ours, address)), answers(ours, address)
        behind = list(sent_by(out / f"{BEHIND}{capture.SUFFIX}", address))
        counted = json.loads((out / "qdiscs.json").read_text())[f"{BEHIND} {INTERFACE}"]
    left = fates(before, behind)
    dropped, drops = left.count(None), counted["qdiscs"][-1]["drops"]
    if not 0 <= drops - dropped <= ARP_PART * drops:
        what = f"{dropped} packets were dropped, the qdisc counted {drops}"
        raise EmulationError(what=what, where=run.id)
    return Followed(before, left, answered)


def wanted(seeds: list[int]) -> Iterator[Run]:
    """The runs of PLAN."""
    for name, link in PLAN:
        yield from select(experiment(f"gbw2015/{name}"), link=link, cc=CC, seed=seeds, era=ERA)


def of_run(run: Run) -> tuple[str, str, str, str, str, int]:
    """The fields of `OfRun`, in their order."""
    cell = run.cell
    return run.experiment.name, run.era, cell.link.name, cell.qdisc, cell.cc, run.seed


def grow(
    module: str,
    about: str | None,
    row: type[OfRun],
    wanted: Callable[[list[int]], Iterable[Run]],
    reduce: Callable[[Run, Followed], Iterable[OfRun]],
    arguments: list[str] | None,
) -> int:
    """The command line of `module`, which does the runs that a table lacks; the exit status.

    `row` is the dataclass of the table's rows, an `OfRun`; `reduce` makes them of what a run's
    packets came to.
    """
    parser = argparse.ArgumentParser(
        prog=f"python -m {module}",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--output", type=Path, required=True, help="the table; it grows")
    parser.add_argument("--seed", type=int, action="append", help="a repetition (default: 1)")
    given = parser.parse_args(arguments)
    built, root = kernel.build(), rootfs.build()
    given.output.parent.mkdir(parents=True, exist_ok=True)
    names = [field.name for field in fields(row)]
    done = set()
    if given.output.exists():
        with given.output.open(newline="", encoding="utf-8") as file:
            told = [field.name for field in fields(OfRun)]
            done = {tuple(one[name] for name in told) for one in csv.DictReader(file)}
    else:
        given.output.write_text(",".join(names) + "\n", encoding="utf-8")
    for run in wanted(given.seed or [1]):
        if tuple(map(str, of_run(run))) in done:
            continue
        found = list(reduce(run, follow(run, built, root)))
        with given.output.open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, names, lineterminator="\n")
            writer.writerows(asdict(one) for one in found)
        print(run.id, file=sys.stderr, flush=True)
    return 0


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status."""

    def reduce(run: Run, found: Followed) -> Iterator[Row]:
        return rows(run, found.packets, found.left, found.answered)

    return grow("workflow.drops", __doc__, Row, wanted, reduce, arguments)


if __name__ == "__main__":
    sys.exit(main())
