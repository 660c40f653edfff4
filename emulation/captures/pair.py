"""A pair of captures, before and behind a queue, as the table of the packets that entered it.

Both are merged by time into records like those of the probe `packets`, in a file, and followed in
chunks. The captures need one clock. Packets that come out and did not go in are counted and left
out; the captures do not tell when a packet was dropped.
"""

import heapq
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd

from qdisclab.emulation.captures import packets, pcap
from qdisclab.emulation.captures.follow import follow, in_order
from qdisclab.emulation.errors import ConfigError

#: Most packets of both captures: each takes 96 bytes of the temporary folder, and 80 of memory.
MOST_PACKETS = 20_000_000
#: Bytes that a capture must have of a packet: Ethernet, IPv4, and TCP without its options; and
#: those that each has at least.
LEAST_CAPTURED, LEAST_FRAME = 54, 14
#: Share of the packets behind the queue that may come from elsewhere.
MOST_STRANGERS = 0.5
#: Packets that come out before they go in, as a share of the others.
MOST_EARLY = 0.01
#: The shortest wait of all packets: what is longer is no queue, but clocks that differ.
LONGEST_SHORTEST_NS = 60 * 10**9

_BLOCK = 1 << 16
_OFFLOADS = "ethtool -K DEVICE gro off gso off tso off"


@dataclass(frozen=True)
class Counts:
    """What the captures have: packets that entered, that left, and that came from elsewhere.

    `early` of the last came out before they went in; of those that left, none did so sooner than
    after `shortest_ns`.
    """

    entered: int
    left: int
    strangers: int
    early: int
    shortest_ns: int


def write(before: Path, behind: Path, target: Path, rate_bit_s: int = 0) -> Counts:
    """Write the table of the packets of `before` to `target`; `rate_bit_s` becomes its metadata.

    Raises `ConfigError` for captures that cannot be read or are of two clocks, for one that is
    named twice, for too many packets, and where they have little in common.
    """
    if before.exists() and behind.exists() and before.samefile(behind):
        what = "is what arrives and what leaves: nothing would wait"
        raise ConfigError(what, str(before), "name two captures, before and behind the queue")
    about = {"node": before.name, "interface": behind.name}
    about |= {"rate_bit_s": str(rate_bit_s)} if rate_bit_s else {}
    with tempfile.TemporaryDirectory(prefix="packets-") as folder:
        records = Path(folder) / "records"
        _merge(before, behind, records)
        passages, counts = _follow(records, before, behind)
        _note_queued(records, passages)
        packets.write(records, passages, "", target, about)
    return counts


def _merge(before: Path, behind: Path, records: Path) -> None:
    """Write the packets of both captures to `records`, by time; what enters comes first."""
    streams = _packets(before, packets.ENTERED), _packets(behind, packets.LEFT)
    both = heapq.merge(*streams, key=lambda entry: (entry[1].time_ns, entry[0]))
    number = 0
    with records.open("wb") as file:
        while block := list(islice(both, _BLOCK)):
            number += len(block)
            if number > MOST_PACKETS:
                what = f"more than {MOST_PACKETS:,} packets with {behind.name}"
                todo = f"cut both to the same time: editcap -A 'FROM' -B 'TO' {before.name} SHORT"
                raise ConfigError(what, str(before), todo)
            heads = (packet.content[:LEAST_CAPTURED] for _, packet in block)
            content = b"".join(head.ljust(packets.HEAD, b"\0") for head in heads)
            rows = np.zeros(len(block), dtype=packets.RECORD)
            rows["event"] = [event for event, _ in block]
            rows["time_ns"] = [packet.time_ns for _, packet in block]
            rows["length"] = [packet.length for _, packet in block]
            rows["kept"] = [min(len(packet.content), packets.HEAD) for _, packet in block]
            rows["content"] = np.frombuffer(content, dtype=np.uint8).reshape(-1, packets.HEAD)
            rows.tofile(file)
    if not number:
        raise ConfigError("have no packet", f"{before}, {behind}", "capture while packets pass")


def _packets(path: Path, event: int) -> Iterator[tuple[int, pcap.Packet]]:
    """Yield (event, packet) of a capture; raise `ConfigError` for one that cannot be followed."""
    last_ns = 0
    for number, packet in enumerate(pcap.read(path), 1):
        if packet.time_ns < last_ns:
            what = f"packet {number} is earlier than the one before it"
            raise ConfigError(what, str(path), f"sort it: reordercap {path.name} SORTED")
        if packet.length < LEAST_FRAME:
            what = f"packet {number} has {packet.length} bytes, which is not an Ethernet frame"
            raise ConfigError(what, str(path), "name a whole capture")
        if len(packet.content) < min(packet.length, LEAST_CAPTURED):
            what = f"has {len(packet.content)} bytes of packet {number}, {LEAST_CAPTURED} are read"
            raise ConfigError(what, str(path), "capture more: tcpdump -s 96")
        last_ns = packet.time_ns
        yield event, packet


def _follow(records: Path, before: Path, behind: Path) -> tuple[packets.Passages, Counts]:
    passages, flows = packets.Passages(), packets.Flows()
    columns = ["time_ns", "packet", "ce", "row"]
    pending = pd.DataFrame({name: np.zeros(0, dtype=np.int64) for name in columns})
    pending["packet"] = pending["packet"].astype(np.uint64)
    strangers: dict[int, int] = {}  # when each came out
    left = early = 0
    shortest_ns = np.iinfo(np.int64).max
    for chunk in packets.chunks(records):
        table = packets.decode(chunk)
        enters = chunk["event"] == packets.ENTERED
        table["row"] = len(passages.fate) + np.cumsum(enters) - 1
        passages.passed_by.append(np.zeros(0, dtype=np.int64))
        passages.add(flows.of(table[enters]), table.loc[enters, "packet"].to_numpy())
        pending = pd.concat([pending, table.loc[enters, columns]], ignore_index=True)
        matched, odd = _matched(pending, table[~enters])
        strangers.update(zip(odd["packet"], odd["time_ns"], strict=True))
        entered = zip(table.loc[enters, "packet"], table.loc[enters, "time_ns"], strict=True)
        early += sum(strangers.get(key, time_ns) < time_ns for key, time_ns in entered)
        followed = follow(pending, matched, behind.name, in_order)
        packets.leave(passages, followed, refused=False)
        left += len(matched)
        shortest_ns = followed.delay_ns[followed.sent].min(initial=shortest_ns)
        pending = followed.before[~followed.sent]
    counts = Counts(len(passages.fate), left, len(strangers), early, int(shortest_ns))
    if not counts.entered:
        raise ConfigError("has no packet", str(before), "name the capture before the queue first")
    if not left + counts.strangers:
        raise ConfigError("has no packet", str(behind), "capture where the queue's packets leave")
    if early > MOST_EARLY * max(left, 1):
        what = f"{early:,} packets come out before they go in"
        todo = "name IN first, capture one way (tcpdump -Q in, -Q out), or, of two clocks, shift "
        todo += f"one: editcap -t SECONDS {behind.name} NEW"
        raise ConfigError(what, str(behind), todo)
    if counts.strangers > MOST_STRANGERS * (left + counts.strangers) or not left:
        what = f"{counts.strangers:,} packets are not in {before.name}, {left:,} are"
        todo = f"filter both alike (tcpdump -r), capture without offloads ({_OFFLOADS})"
        raise ConfigError(what, str(behind), todo)
    if shortest_ns > LONGEST_SHORTEST_NS:
        wait_s = shortest_ns / 1e9
        what = f"no packet comes out sooner than {wait_s:,.3f} s after it went in: two clocks"
        todo = f"shift it: editcap -t -{wait_s:.6f} {behind.name} NEW"
        raise ConfigError(what, str(behind), todo)
    return passages, counts


def _matched(before: pd.DataFrame, behind: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return which packets of `behind` are of `before`, each as often and not earlier; the rest."""
    times = before["time_ns"].to_numpy()
    twins = before["packet"].duplicated(keep=False).to_numpy()
    once = pd.Index(before["packet"].to_numpy()[~twins]).get_indexer(pd.Index(behind["packet"]))
    is_matched = once >= 0
    came_out = behind["time_ns"].to_numpy()
    is_matched[is_matched] = times[~twins][once[is_matched]] <= came_out[is_matched]
    is_matched &= ~behind["packet"].duplicated().to_numpy()
    waiting: dict[int, list[int]] = {}
    for key, time_ns in zip(before["packet"][twins], times[twins], strict=True):
        waiting.setdefault(key, []).append(time_ns)
    for place in np.flatnonzero(once < 0) if waiting else ():
        left = waiting.get(behind["packet"].iloc[place])
        if left and left[0] <= came_out[place]:
            is_matched[place] = True
            left.pop(0)
    return behind[is_matched], behind[~is_matched]


def _note_queued(records: Path, passages: packets.Passages) -> None:
    """Write into the records how many packets, of those that left, each found in the queue."""
    rows = np.memmap(records, dtype=packets.RECORD, mode="r+")
    enters = rows["event"] == packets.ENTERED
    in_ns, length = rows["time_ns"][enters].astype(np.int64), rows["length"][enters].astype(int)
    left = passages.fate != packets.DROPPED
    order = np.argsort(passages.out_ns[left], kind="stable")
    gone = np.searchsorted(passages.out_ns[left][order], in_ns, side="right")
    for name, size in (("packets", np.ones(len(in_ns), dtype=int)), ("bytes", length)):
        came = np.cumsum(np.where(left, size, 0)) - np.where(left, size, 0)
        went = np.append(0, np.cumsum(size[left][order]))[gone]
        rows[name][enters] = np.maximum(came - went, 0)
    rows.flush()
