"""Captures around a queue under test, reduced to how long its packets waited and which it dropped.

The queues under test here send packets in the order in which they came, so a packet is told from
others by its addresses, ports, identification and numbers alone. Because observing takes no virtual
time, a delay is exact.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emulation import packets_frames as frames
from emulation.errors import GuestFailure, RigMismatch
from emulation.load import Change, ports_of, queues
from emulation.model import Run
from emulation.packets import latest
from emulation.units import Rate

VERSION = 4  # of flent's data format
FLENT = "2.1.1"  # the release whose form this is

QUANTILES = (0, 5, 25, 50, 75, 90, 95, 99, 100)  # of the delay, percent
AT_ONCE_NS = 10_000  # how far off a change of the rate may be: a tenth of a packet at 100 Mbit/s

BULK_PORT, WEB_PORT, UPLOAD_PORT, CBR_PORT = 5001, 80, 9, 4000
_TCP, _UDP = 6, 17
_PREFIX = {"forward": 0x0A01, "reverse": 0x0A02}  # 10.1/16 and 10.2/16: who sends

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Passage:
    """What came to a queue during a run, in the order of arrival; arrays of one length."""

    arrived_ns: Ints  # since the load began
    delay_ns: Ints  # in the queue; -1 of a dropped packet
    length: Ints  # of the Ethernet frame, bytes
    source: NDArray[np.object_]  # what sent it: `bulk 0`, `web`, `cbr 1`, `upload 0`, `other`


def reduce(run: Run, out: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """A flent data file's content and what else is told of a run, from what a guest left in `out`.

    Raises `GuestFailure` where captures and the counters of a queue are not exactly equal,
    `RigMismatch` where a change of the rate was late.
    """
    told = json.loads((out / "mix.json").read_text())
    began_ns = int(told["began_ns"])
    counters = json.loads((out / "counters.json").read_text())
    results: dict[str, list[float | None]] = {}
    summary = {}
    for direction, queue in queues(run.load).items():
        passage = follow(run, out, direction, began_ns)
        check_counters(counters, " ".join(queue), passage)
        step_ns = run.experiment.traffic.step.nanoseconds
        for name, values in series(passage, run.length.nanoseconds, step_ns).items():
            results[f"{name}::{direction}"] = values
        rates = _rates(run, direction)
        summary[direction] = summarise(passage, run.length.nanoseconds, rates)
    told["changes"] = [_told(change, began_ns) for change in told["changes"]]
    peers = {
        path.stem.removeprefix("mix-"): json.loads(path.read_text())
        for path in sorted(out.glob("mix-*.json"))
    }
    about = {"load": run.load.name, "queues": summary, "changes": told["changes"], "peers": peers}
    return _content(run, results), about


def follow(run: Run, out: Path, direction: str, began_ns: int) -> Passage:
    """Each packet of `direction` from its arrival at the gateway to its leaving the queue."""
    behind, *before = ports_of(queues(run.load)[direction], run.topology)
    came = pd.concat([_packets(out, place, direction) for place in before])
    came = came.sort_values("time_ns", kind="stable", ignore_index=True)
    left = _packets(out, behind, direction)
    place = _places(came, left)
    delay = np.full(len(came), -1, dtype=np.int64)
    delay[place] = left["time_ns"].to_numpy() - came["time_ns"].to_numpy()[place]
    if (delay[place] < 0).any():
        raise GuestFailure("packets leave before they arrive", " ".join(behind))
    return Passage(
        came["time_ns"].to_numpy() - began_ns,
        delay,
        came["length"].to_numpy(),
        came["source"].to_numpy(),
    )


def _places(came: pd.DataFrame, left: pd.DataFrame) -> Ints:
    """Of each packet that left its row in `came`; twins are the latest of their kind."""
    twin = came["key"].duplicated(keep=False).to_numpy()
    rows = np.flatnonzero(~twin)
    place = np.full(len(left), -1, dtype=np.int64)
    found = pd.Index(came["key"].to_numpy()[rows]).get_indexer(pd.Index(left["key"]))
    place[found >= 0] = rows[found[found >= 0]]
    for key in np.unique(came["key"].to_numpy()[twin]):
        into = np.flatnonzero((came["key"] == key).to_numpy())
        out_of = np.flatnonzero((left["key"] == key).to_numpy())
        times = came["time_ns"].to_numpy()[into], left["time_ns"].to_numpy()[out_of]
        for row, which in latest(*times):
            place[out_of[row]] = into[which] if which >= 0 else -1
    if (place < 0).any() or len(np.unique(place)) < len(place):
        raise GuestFailure("packets come out that did not go in", "the queue")
    return place


def _packets(out: Path, place: tuple[str, str], direction: str) -> pd.DataFrame:
    """time_ns, length, key and source of the packets of `direction` in a capture."""
    path = out / f"{place[0]}.{place[1]}{frames.SUFFIX}"
    header, packet = frames.read_frames(path)
    ours = frames.number(packet, 26, 2) == _PREFIX[direction]
    header, packet = header[ours], packet[ours]
    protocol = packet[:, 23]
    tcp, udp = protocol == _TCP, protocol == _UDP
    stray = (packet[:, 14] != 0x45) | ~(tcp | udp)  # IPv4 without options
    if stray.any():
        example = packet[np.flatnonzero(stray)[0], :54].tobytes().hex()
        what = f"{int(stray.sum())} packets are of no flow, the first is {example}"
        raise GuestFailure(what, path.name, "look at what else the guest sends")
    source, target = frames.number(packet, 26, 4), frames.number(packet, 30, 4)
    ports = frames.number(packet, 34, 2), frames.number(packet, 36, 2)
    parts = [
        source,
        target,
        *ports,
        frames.number(packet, 18, 2),  # identification
        frames.number(packet, 16, 2),  # length
        # Of UDP behind length and checksum: the number that mix_peer.py gives a packet.
        np.where(tcp, frames.number(packet, 38, 4), frames.number(packet, 42, 4)),
        np.where(tcp, frames.number(packet, 42, 4), 0),
        np.where(tcp, packet[:, 47].astype(np.int64), 0),
    ]
    return pd.DataFrame(
        {
            "time_ns": header["seconds"].astype(np.int64) * 10**9 + header["nanoseconds"],
            "length": header["length"].astype(np.int64),
            "key": _mixed(parts),
            "source": _sources(source, *ports, udp),
        }
    )


def _mixed(parts: list[Ints]) -> NDArray[np.uint64]:
    """A number of 64 bits of each row, another one of nearly every other row (FNV-1a, by words)."""
    mixed = np.full(len(parts[0]), 0xCBF29CE484222325, dtype=np.uint64)
    for part in parts:
        mixed = (mixed ^ part.astype(np.uint64)) * np.uint64(0x100000001B3)
        mixed ^= mixed >> np.uint64(29)
    return mixed


def _sources(
    address: Ints, port: Ints, target: Ints, udp: NDArray[np.bool_]
) -> NDArray[np.object_]:
    """What sent each packet, flow by flow; all web connections are one source."""
    names = np.full(len(port), "other", dtype=object)
    for flow in np.unique(np.stack([address, port])[:, (target == BULK_PORT) & ~udp], axis=1).T:
        names[(address == flow[0]) & (port == flow[1]) & ~udp] = f"bulk {flow[0]:x}:{flow[1]}"
    names[(port == WEB_PORT) & ~udp] = "web"
    names[(target == UPLOAD_PORT) & ~udp] = "upload"
    for number in np.unique(target[udp]):
        names[udp & (target == number)] = f"cbr {number - CBR_PORT}"
    return names


def check_counters(counters: list[dict[str, Any]], port: str, passage: Passage) -> None:
    """Raise `GuestFailure` unless the queue counted exactly what was captured."""
    first, last = (
        next(one for one in sample["qdiscs"][port] if one["handle"] == "10:")
        for sample in (counters[0], counters[-1])
    )
    sent = passage.delay_ns >= 0
    captured = {
        "packets": int(sent.sum()),
        "bytes": int(passage.length[sent].sum()),
        "drops": int((~sent).sum()),
    }
    differ = [
        f"{last[name] - first[name]} {name}, captured {value}"
        for name, value in captured.items()
        if last[name] - first[name] != value
    ]
    if last["qlen"] or first["qlen"]:
        differ.append(f"{first['qlen']} packets before and {last['qlen']} afterwards in the queue")
    if differ:
        raise GuestFailure(f"{last['kind']} counted " + "; ".join(differ), port)


def series(passage: Passage, length_ns: int, step_ns: int) -> dict[str, list[float | None]]:
    """By step: least, median and longest delay (ms), Mbit/s and packets dropped; the first is None.

    A packet belongs to the step in which it left, a dropped one to that in which it came.
    """
    steps = -(-length_ns // step_ns)
    sent = passage.delay_ns >= 0
    left_ns = passage.arrived_ns + np.maximum(passage.delay_ns, 0)
    step = left_ns // step_ns
    inside = sent & (step >= 0) & (step < steps)
    delays = pd.Series(passage.delay_ns[inside] / 1e6).groupby(step[inside])
    bits = np.bincount(step[inside], 8 * passage.length[inside], minlength=steps)
    lost = ~sent & (step >= 0) & (step < steps)
    values = {
        "Queue delay (ms) least": delays.min().reindex(range(steps)),
        "Queue delay (ms) median": delays.median().reindex(range(steps)),
        "Queue delay (ms) longest": delays.max().reindex(range(steps)),
        "Sent (Mbit/s)": pd.Series(bits / (step_ns / 1e3)),
        "Dropped (packets)": pd.Series(np.bincount(step[lost], minlength=steps)),
    }
    return {name: [None, *_rounded(found)] for name, found in values.items()}


def summarise(passage: Passage, length_ns: int, rates: list[tuple[int, int]]) -> dict[str, Any]:
    """What a run's figures need of one queue; `rates` are (from when in ns, bit/s)."""
    sent = passage.delay_ns >= 0
    left_ns = passage.arrived_ns + np.maximum(passage.delay_ns, 0)
    inside = (left_ns >= 0) & (left_ns < length_ns)
    ends = [at for at, _ in rates[1:]] + [length_ns]
    could = sum(rate * (end - at) for (at, rate), end in zip(rates, ends, strict=True)) / 1e9
    delay_ms = passage.delay_ns[inside & sent] / 1e6
    size = passage.length[inside & sent]
    sources = {}
    for name in sorted(set(passage.source[inside])):
        of_it = inside & (passage.source == name)
        dropped = of_it & ~sent
        sources[name] = {"packets": int(of_it.sum()), "dropped": int(dropped.sum())}
    at = [float(value) for value in np.percentile(delay_ms, QUANTILES)] if delay_ms.size else []
    return {
        "sent": int(delay_ms.size),
        "dropped": int((inside & ~sent).sum()),
        "bytes": int(size.sum()),
        "utilisation": round(8 * float(size.sum()) / could, 6),
        "delay_ms": {f"p{q}": round(value, 4) for q, value in zip(QUANTILES, at, strict=False)},
        "mean_delay_ms": round(float(delay_ms.mean()), 4) if delay_ms.size else None,
        "sources": sources,
    }


def _rates(run: Run, direction: str) -> list[tuple[int, int]]:
    link = run.cell.link
    first: Rate = link.up if direction == "forward" else link.down
    schedule: tuple[Change, ...] = run.experiment.rig.schedule
    changes = [(change.at.nanoseconds, change.rate.bits_per_second) for change in schedule]
    return [
        (0, first.bits_per_second),
        *(one for one in changes if one[0] < run.length.nanoseconds),
    ]


def _told(change: dict[str, Any], began_ns: int) -> dict[str, Any]:
    """A change of the rate and how late it was; `RigMismatch` where that is not at once."""
    late = [
        change[name] - began_ns - round(1e9 * change["at_s"]) for name in ("since_ns", "until_ns")
    ]
    where = f"{change['node']} {change['interface']}"
    if any(abs(one) > AT_ONCE_NS for one in late):
        what = f"the rate changed {late[0]} to {late[1]} ns after {change['at_s']:g} s"
        raise RigMismatch(what, where, "the guest was busy: see what it does at that moment")
    return {"at_s": change["at_s"], "port": where, "rate_bit_s": change["rate_bit_s"],
            "late_ns": late}  # fmt: skip


def _content(run: Run, results: dict[str, list[float | None]]) -> dict[str, Any]:
    """flent's form of `results`, series by step."""
    step_s = run.experiment.traffic.step.seconds
    count = len(next(iter(results.values())))
    return {
        "version": VERSION,
        "x_values": [round(step_s * number, 6) for number in range(count)],
        "results": results,
        "raw_values": {},
        "metadata": {
            "NAME": run.experiment.traffic.test,
            "TITLE": run.id,
            "DATA_FILENAME": f"{run.id.replace('/', '_')}.flent.gz",
            "FLENT_VERSION": FLENT,
            "LENGTH": run.length.seconds,
            "TOTAL_LENGTH": run.length.seconds,
            "STEP_SIZE": step_s,
            "TEST_PARAMETERS": {"load": run.load.name},
            "SERIES_META": {},
        },
    }


def write(content: dict[str, Any], path: Path) -> None:
    """Write a flent file to `path`; equal content gives equal bytes."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    with path.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(text.encode())


def _rounded(values: pd.Series) -> list[float | None]:
    return [None if np.isnan(value) else round(float(value), 3) for value in values]
