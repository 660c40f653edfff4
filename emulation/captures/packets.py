"""The table of a queue's packets: one row per packet that entered, in the order of arrival.

The module of the guest's kernel (`qdisc/src/probe`) writes a record of each packet that enters a
port's root qdisc, that the qdisc refuses as one enters, and that leaves the port, in the order in
which that happens. `follow` finds the exit of each packet by its headers, and compares each sample
of the qdisc's counters, and those that the run read at its end, with the records so far. `write`
makes the table. Both read the records in chunks: what grows with their number is some eighty bytes
per packet (0.9 GiB at 10 million).
"""

from collections.abc import Iterator, Mapping, Sequence
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from qdisclab.emulation import datafile
from qdisclab.emulation.captures import frames, places
from qdisclab.emulation.captures.counters import Totals
from qdisclab.emulation.captures.follow import Followed, follow as follow_packets, in_order, latest
from qdisclab.emulation.captures.frames import Bools, Ints
from qdisclab.emulation.errors import DamagedData, GuestFailure, TrafficFailure

#: Bytes that a record has of a packet: all headers, and of TCP the timestamp of a SYN, too.
HEAD = 72
#: `struct passage` of the module.
RECORD = np.dtype(
    [
        ("time_ns", "<u8"),
        ("length", "<u4"),
        ("packets", "<u4"),
        ("bytes", "<u4"),  # in the queue before this one entered
        ("segment", "<u2"),  # bytes of payload of each segment of a superpacket, or 0
        ("event", "u1"),
        ("kept", "u1"),
        ("content", "u1", HEAD),
    ]
)
ENTERED, LEFT, REFUSED, CAME, SAMPLED = range(5)  # enum passage_event

#: What became of a packet. `queued`: it was in the queue when the run read its counters.
FATES = ("sent", "marked", "dropped", "queued")
SENT, MARKED, DROPPED, QUEUED = range(len(FATES))
#: Qdiscs that a packet passes by when they are empty, if they are the root of a port.
BYPASSED = frozenset({"pfifo_fast", "pfifo", "bfifo", "codel", "fq_codel", "sfq"})
#: A shaper whose child decides on a packet when the one before it leaves.
PEEKS = "tbf"
#: Most rows of a table that is read.
MOST_ROWS = 50_000_000

_CHUNK = 1 << 17  # records that are read at once
_FLOW = ("protocol", "source", "target", "source_port", "target_port")
_CWR, _PSH = 0x80, 0x08
_OPTIONS = 54  # where those of TCP begin
_TEXT = pa.dictionary(pa.int32(), pa.string())
_TYPES = {
    "in_ns": pa.int64(),
    "out_ns": pa.int64(),
    "sojourn_ns": pa.int64(),
    "fate": _TEXT,
    "flow": pa.uint32(),
    "protocol": pa.uint8(),
    "source": _TEXT,
    "target": _TEXT,
    "source_port": pa.uint16(),
    "target_port": pa.uint16(),
    "length": pa.uint32(),
    "ecn_in": pa.uint8(),
    "ecn_out": pa.uint8(),
    "dscp": pa.uint8(),
    "queued_packets": pa.uint32(),
    "queued_bytes": pa.uint32(),
    "seq": pa.uint32(),
    "payload": pa.int32(),
    "flags": pa.uint8(),
}
SCHEMA = pa.schema([pa.field(name, kind) for name, kind in _TYPES.items()])


class Passages:
    """What became of the packets that entered, in the order of arrival: arrays of equal length."""

    def __init__(self) -> None:
        #: When a packet left or was refused; -1 of others.
        self.out_ns = np.zeros(0, dtype=np.int64)
        self.fate = np.zeros(0, dtype=np.uint8)
        self.tos = np.zeros(0, dtype=np.uint8)  # as it left
        self.flow = np.zeros(0, dtype=np.uint32)  # from 0, in the order of their first packets
        self.packet = np.zeros(0, dtype=np.uint32)  # a number that equal packets share
        #: Places in each chunk of packets that met an empty qdisc of BYPASSED.
        self.passed_by: list[Ints] = []

    def add(self, flow: NDArray[np.uint32], packet: NDArray[np.uint64]) -> None:
        """Add packets, of which nothing is known but their flows, and which are equal."""
        count = len(flow)
        self.out_ns = np.append(self.out_ns, np.full(count, -1, dtype=np.int64))
        self.fate = np.append(self.fate, np.full(count, DROPPED, dtype=np.uint8))
        self.tos = np.append(self.tos, np.zeros(count, dtype=np.uint8))
        self.flow = np.append(self.flow, flow)
        self.packet = np.append(self.packet, packet.astype(np.uint32))

    def cut(self, count: int) -> None:
        """Leave out the packets after the first `count`."""
        for name in ("out_ns", "fate", "tos", "flow", "packet"):
            setattr(self, name, getattr(self, name)[:count])


class Flows:
    """The numbers of flows, by the hash of what identifies them."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}

    def of(self, table: pd.DataFrame) -> NDArray[np.uint32]:
        """Return the number of each packet's flow."""
        keys = frames.hash_rows([table[name].to_numpy() for name in _FLOW])
        names, first, which = np.unique(keys, return_index=True, return_inverse=True)
        for index in np.argsort(first):
            self._numbers.setdefault(int(names[index]), len(self._numbers))
        numbers = np.array([self._numbers[int(name)] for name in names], dtype=np.uint32)
        return numbers[which] if len(which) else np.zeros(0, dtype=np.uint32)


def follow(
    path: Path,
    samples: Sequence[Totals],
    last: Totals,
    root: str,
    where: places.Place,
    *,
    fifo: bool = False,
) -> Passages:
    """Follow the packets of the records at `path` through the qdiscs of `where`, of kind `root`.

    `fifo`: whether these keep all packets in their order.

    `samples` are the counters of the port's qdiscs at each sample, `last` those that the run read
    at its end: packets that came later are left out. Raises `GuestFailure` where counters and
    records are not equal or a packet leaves that did not enter, `TrafficFailure` where none came.
    """
    name, flows = " ".join(where), Flows()
    passages = Passages()
    columns = ("time_ns", "packet", "ce", "row", "epoch")
    pending = pd.DataFrame({name: np.zeros(0, dtype=np.int64) for name in columns})
    pending["packet"] = pending["packet"].astype(np.uint64)
    at_samples, tail = [], pd.DataFrame()
    counts, epoch, superpackets = np.zeros(3, dtype=np.int64), 0, False
    for records in chunks(path):
        event, table = records["event"], decode(records)
        # A packet that finds the queue empty is another than equal ones that entered before it.
        table["epoch"] = epoch + np.cumsum((event == ENTERED) & (records["packets"] == 0))
        epoch = int(table["epoch"].iloc[-1])
        table["packet"] = frames.hash_rows([table[key].to_numpy() for key in ("packet", "epoch")])
        enters = event == ENTERED
        if root in BYPASSED:
            expected = np.append(pending["packet"].to_numpy(), table.loc[enters, "packet"])
            enters = enters | (event == LEFT) & ~np.isin(table["packet"], expected)
        passages.passed_by.append(np.flatnonzero(enters & (event == LEFT)))
        superpackets |= bool((records["segment"][enters] > 0).any())
        table["row"] = len(passages.fate) + np.cumsum(enters) - 1
        passages.add(flows.of(table[enters]), table.loc[enters, "packet"].to_numpy())
        pending = pd.concat([pending, table.loc[enters, list(columns)]], ignore_index=True)
        marks = np.zeros(len(table), dtype=np.int64)
        for kind, twins in ((REFUSED, latest), (LEFT, in_order)):
            chosen = event == kind
            followed = follow_packets(pending, table[chosen], name, twins)
            marks[chosen] = leave(passages, followed, refused=kind == REFUSED)
            pending = followed.before[~followed.sent]
        steps = np.column_stack([enters, event == LEFT, marks]).astype(np.int64)
        so_far = counts + np.cumsum(steps, axis=0)
        counts = so_far[-1]
        state = pd.DataFrame(so_far, columns=["entered", "left", "marked"])
        state["time_ns"] = table["time_ns"]
        sampled = np.flatnonzero(event == SAMPLED)
        at_samples.append(state.iloc[sampled])
        tail = state.iloc[sampled[-1] :] if len(sampled) else pd.concat([tail, state])
        pending = pending[pending["epoch"] == epoch]
    if not len(passages.fate):
        what = "no packet came to this port while the probe recorded"
        raise TrafficFailure(what, name, "name a port that the traffic passes")
    states = pd.concat(at_samples, ignore_index=True)
    if len(states) != len(samples) or not samples:
        what = f"{len(samples)} samples of counters, {len(states)} in the records"
        raise GuestFailure(what, name)
    exact = root not in BYPASSED and not superpackets
    _check_samples(states[["entered", "left", "marked"]], samples, exact, name)
    end = _end(tail, samples[0], last, exact, name)
    _close(passages, pending["row"].to_numpy(), end, last.queued)
    _check_end(passages, end, samples[0], last, superpackets, name)
    if fifo:
        _put_in_order(passages)
    return passages


def _put_in_order(passages: Passages) -> None:
    """Correct which of equal packets left a queue that keeps their order, as no other can have.

    Of equal packets the first is taken for the one that left. Where it was dropped from the head of
    the queue, and an equal one came later (a SYN-ACK again), packets that came between the two left
    before: it was the later one.
    """
    out_ns = np.where(passages.fate < DROPPED, passages.out_ns, np.iinfo(np.int64).max)
    next_ns = np.minimum.accumulate(out_ns[::-1])[::-1]  # the first of this packet and later ones
    lost = (passages.fate == DROPPED) & (passages.out_ns < 0)
    for row in np.flatnonzero((passages.fate < DROPPED) & (out_ns > next_ns))[::-1]:
        fits = lost[row:] & (passages.packet[row:] == passages.packet[row])
        later = row + np.flatnonzero(fits & (next_ns[row:] >= out_ns[row]))
        if len(later):
            for values, emptied in ((passages.out_ns, -1), (passages.fate, DROPPED)):
                values[later[0]], values[row] = values[row], emptied
            passages.tos[later[0]] = passages.tos[row]
            lost[later[0]], lost[row] = False, True


def leave(passages: Passages, followed: Followed, *, refused: bool) -> Ints:
    """Note where the packets of `followed` went; return which of those that left were marked."""
    marked = np.zeros(len(followed.behind), dtype=np.int64)
    out = followed.sent
    rows, place = followed.before["row"].to_numpy()[out], followed.place[out]
    passages.out_ns[rows] = followed.behind["time_ns"].to_numpy()[place]
    passages.tos[rows] = followed.behind["tos"].to_numpy()[place]
    if not refused:
        marked[place] = followed.marked[out]
        passages.fate[rows] = np.where(followed.marked[out], MARKED, SENT)
    return marked


def _check_samples(
    states: pd.DataFrame, samples: Sequence[Totals], exact: bool, where: str
) -> None:
    """Raise `GuestFailure` unless the counters of each sample are what the records say.

    Packets may have been marked that are still in the queue. It is not `exact` where superpackets
    pass, each of which is dropped or marked once, and below a qdisc of BYPASSED: a packet that its
    device does not take is counted before it leaves.
    """
    first = samples[0]
    if first.queued:
        raise GuestFailure(f"{first.queued} packets were in the queue as the probe began", where)
    for (entered, left, marked), sample in zip(states.to_numpy(), samples, strict=True):
        counted = sample.since(first)
        recorded = {}
        if exact:
            recorded = {"packets": left, "drops": entered - left - sample.queued}
        elif not 0 <= counted.packets - left <= sample.queued:
            recorded = {"packets": left}
        least = marked if exact else min(1, marked)
        if counted.marks is not None and not least <= counted.marks <= marked + sample.queued:
            recorded["marks"] = marked
        _compare(counted, recorded, where)


def _compare(counted: Totals, recorded: Mapping[str, int], where: str) -> None:
    pairs = ((name, getattr(counted, name), value) for name, value in recorded.items())
    differ = [f"{of} {name}, {value} were recorded" for name, of, value in pairs if of != value]
    if differ:
        raise GuestFailure(f"the qdisc counted {'; '.join(differ)}", where)


def _end(tail: pd.DataFrame, first: Totals, last: Totals, exact: bool, where: str) -> pd.Series:
    """Return the state of the records, after the last sample, at which the run read `last`."""
    counted = last.since(first)
    dropped = tail["entered"] - tail["left"] - last.queued
    fits = (tail["left"] == counted.packets) & ((dropped == counted.drops) | (not exact))
    if not fits.any():
        recorded = {"packets": int(tail.iloc[-1]["left"]), "drops": int(dropped.iloc[-1])}
        _compare(counted, recorded, where)
        raise GuestFailure(f"the qdisc counted {counted}, at no moment of the records", where)
    return tail[fits].iloc[-1]


def _close(passages: Passages, pending: Ints, end: pd.Series, queued: int) -> None:
    """Leave out what came after `end`, and say which packets were `queued` then."""
    passages.cut(int(end["entered"]))
    later = np.flatnonzero(passages.out_ns > end["time_ns"])
    inside = np.setdiff1d(pending[pending < len(passages.fate)], later)
    waiting = np.append(inside[max(0, len(inside) + len(later) - queued) :], later)
    passages.fate[waiting] = QUEUED
    passages.out_ns[waiting] = -1


def _check_end(
    passages: Passages, end: pd.Series, first: Totals, last: Totals, superpackets: bool, where: str
) -> None:
    """Raise `GuestFailure` unless the table has as many packets, drops and marks as `last`."""
    counted = last.since(first)
    rows = np.bincount(passages.fate, minlength=len(FATES))
    recorded = {"packets": int(rows[SENT] + rows[MARKED]), "drops": int(rows[DROPPED])}
    if counted.marks is not None:
        marked = int(end["marked"])
        within = marked <= counted.marks <= marked + last.queued
        recorded["marks"] = counted.marks if within else marked
    if superpackets:  # each was dropped or marked once
        for name in ("drops", "marks"):
            number, most = getattr(counted, name), recorded.get(name, 0)
            if number is not None and min(1, most) <= number <= most:
                recorded[name] = number
    _compare(counted, recorded, where)


def chunks(path: Path) -> Iterator[NDArray[Any]]:
    """Yield the records at `path`, some at a time; superpackets of TCP as their segments."""
    size = path.stat().st_size
    if not size or size % RECORD.itemsize:
        raise GuestFailure(f"has {size} bytes, which is not a number of records", path.name)
    with path.open("rb") as file:
        while len(records := np.fromfile(file, RECORD, _CHUNK)):
            yield _segments(records)


def _segments(records: NDArray[Any]) -> NDArray[Any]:
    """Return `records` with the segments that make up each superpacket of TCP in its place."""
    field = frames.fields(records["content"])
    header = 4 * (field["header"].astype(np.int64) >> 4)
    payload = field["total"].astype(np.int64) - 20 - header
    split = (records["segment"] > 0) & (field["protocol"] == frames.TCP)
    size = np.where(split, np.maximum(records["segment"], 1), np.maximum(payload, 1)).astype(int)
    count = np.where(split, -(-payload // size), 1)
    if (count == 1).all():
        return records
    number = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    of_packets = (split, size, header, payload)
    split, size, header, payload = (np.repeat(each, count) for each in of_packets)
    records = np.repeat(records, count)
    content = np.ascontiguousarray(records["content"])
    field = frames.fields(content)[split]
    number, size, header, payload = (each[split] for each in (number, size, header, payload))
    is_last = (number + 1) * size >= payload
    bytes_ = np.where(is_last, payload - number * size, size)
    field["total"] = 20 + header + bytes_
    field["id"] = field["id"] + number
    field["seq"] = field["seq"] + number * size
    field["flags"] &= np.where(is_last, 0xFF, 0xFF & ~(frames.FIN | _PSH)).astype(np.uint8)
    field["flags"] &= np.where(number == 0, 0xFF, 0xFF & ~_CWR).astype(np.uint8)
    frames.fields(content)[split] = field
    records["content"] = content
    records["length"][split] = 34 + header + bytes_
    records["packets"][split] += number.astype(np.uint32)
    return records


def decode(records: NDArray[Any]) -> pd.DataFrame:
    """Return the columns of `frames.decode` for `records`, and `tos` of the IPv4 header.

    `packet` has TCP's options in it: their timestamp tells a SYN-ACK that was sent again.
    """
    content = np.ascontiguousarray(records["content"][:, : frames.LOOKED_AT])
    times, lengths = (records[name].astype(np.int64) for name in ("time_ns", "length"))
    table = frames.decode(frames.Frames(times, lengths, content))
    field = frames.fields(records["content"])
    options = np.zeros((len(records), 24), dtype=np.uint8)
    options[:, : HEAD - _OPTIONS] = records["content"][:, _OPTIONS:]
    end = np.where(table["protocol"] == frames.TCP, 4 * (field["header"] >> 4).astype(int) - 20, 0)
    options[np.arange(24) >= end[:, None]] = 0
    packet = frames.hash_rows([table["packet"].to_numpy(), *options.view(np.uint64).T])
    tos = np.where(table["protocol"] > 0, field["tos"], 0).astype(np.uint8)
    return table.assign(tos=tos, packet=packet)


def answers(path: Path) -> pd.DataFrame:
    """Return the TCP packets that came to the port from the other side, as `frames.decode` does."""
    parts = []
    for records in chunks(path):
        table = decode(records[records["event"] == CAME])
        parts.append(table[table["protocol"] == frames.TCP])
    return pd.concat(parts, ignore_index=True)


def write(
    path: Path, passages: Passages, root: str, target: Path, about: dict[str, str] | None = None
) -> None:
    """Write the table of the records at `path` to `target`; `about` becomes its metadata."""
    decided_ns = _decided(passages, root)
    schema, start = SCHEMA.with_metadata(about or {}), 0
    with pq.ParquetWriter(target, schema, compression="zstd", store_schema=True) as file:
        for records, passed_by in zip(chunks(path), passages.passed_by, strict=True):
            enters = records["event"] == ENTERED
            enters[passed_by] = True
            records = records[enters][: len(passages.fate) - start]
            part = slice(start, start + len(records))
            start = part.stop
            columns = _columns(decode(records), records, passages, part, decided_ns[part])
            arrays = [
                value if isinstance(value, pa.Array) else pa.array(value, kind, from_pandas=True)
                for value, kind in ((columns[name], kind) for name, kind in _TYPES.items())
            ]
            file.write_table(pa.Table.from_arrays(arrays, schema=schema))


def _columns(
    table: pd.DataFrame, records: NDArray[Any], passages: Passages, part: slice, decided_ns: Ints
) -> dict[str, Any]:
    """Return the columns of the rows `part` of the table, of these packets."""
    fate, in_ns = passages.fate[part], table["time_ns"].to_numpy()
    left = (fate == SENT) | (fate == MARKED)
    out_ns = np.where(passages.out_ns[part] >= 0, passages.out_ns[part], decided_ns)
    out_ns = np.where(out_ns >= 0, np.maximum(out_ns, in_ns), -1)
    table.loc[table["protocol"] == 0, ["source", "target", "seq", "payload"]] = 0
    names = ("protocol", "source_port", "target_port", "length", "seq", "payload", "flags")
    return {name: table[name] for name in names} | {
        "in_ns": in_ns,
        "out_ns": _where(out_ns, out_ns >= 0),
        "sojourn_ns": _where(out_ns - in_ns, left),
        "fate": pa.DictionaryArray.from_arrays(fate.astype(np.int32), list(FATES)),
        "flow": passages.flow[part],
        **{name: _dotted(table[name].to_numpy()) for name in ("source", "target")},
        "ecn_in": table["tos"].to_numpy() & 3,
        "ecn_out": _where(passages.tos[part] & 3, left),
        "dscp": table["tos"].to_numpy() >> 2,
        "queued_packets": np.where(records["event"] == ENTERED, records["packets"], 0),
        "queued_bytes": np.where(records["event"] == ENTERED, records["bytes"], 0),
    }


def _where(values: Any, present: Bools) -> pa.Array:
    return pa.array(np.asarray(values), mask=~present)


def _dotted(addresses: Ints) -> pa.DictionaryArray:
    names, which = np.unique(addresses, return_inverse=True)
    dotted = [str(IPv4Address(int(name))) if name else "" for name in names]
    return pa.DictionaryArray.from_arrays(which.astype(np.int32), dotted)


def _decided(passages: Passages, root: str) -> Ints:
    """Return when packets were dropped that had entered; -1 of others, and where that is not known.

    A qdisc drops such a packet as it looks for the next one of the flow: below a token bucket as
    the packet before that one leaves, else as that one does.
    """
    decided = np.full(len(passages.fate), -1, dtype=np.int64)
    dropped = (passages.fate == DROPPED) & (passages.out_ns < 0)
    if not root or not dropped.any():
        return decided
    left_ns = np.where(passages.fate < DROPPED, passages.out_ns, -1)
    order = np.argsort(passages.flow, kind="stable")
    place = np.where(left_ns[order] >= 0, np.arange(len(order)), len(order))
    following = np.minimum.accumulate(place[::-1])[::-1][dropped[order]]
    rows = order[dropped[order]]
    rows, following = rows[following < len(order)], following[following < len(order)]
    same = passages.flow[rows] == passages.flow[order[following]]
    decided[rows[same]] = left_ns[order[following[same]]]
    if root == PEEKS:
        departures = np.sort(left_ns[left_ns >= 0])
        before = np.searchsorted(departures, decided[rows[same]]) - 1
        decided[rows[same]] = np.where(before >= 0, departures[before], decided[rows[same]])
    return decided


def read(path: Path) -> pd.DataFrame:
    """Return the table at `path`, whose metadata are its `attrs`.

    Raises `DamagedData` where the file is not such a table.
    """
    todo = "make it again: emulate run … --probe packets"
    try:
        with open(path, "rb", opener=datafile.regular) as stream, pq.ParquetFile(stream) as file:
            if not file.schema_arrow.equals(SCHEMA) or file.metadata.num_rows > MOST_ROWS:
                raise DamagedData("is not a table of the probe 'packets'", str(path), todo)
            # whole numbers also where there is none: floating point resolves times to 256 ns
            whole = {pa.int64(): pd.Int64Dtype(), pa.uint8(): pd.Int64Dtype()}
            table: pd.DataFrame = file.read().to_pandas(types_mapper=whole.get)
            about = file.schema_arrow.metadata or {}
    except (pa.ArrowException, OSError) as error:
        raise DamagedData(f"cannot be read: {error}", str(path), todo) from error
    table.attrs = {key.decode(): value.decode() for key, value in about.items()}
    return table
