"""Queues of gateways: how long packets waited in them, and which were dropped."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emulation.captures import counters, flent, frames, places
from emulation.captures.flent import About, Series, rounded
from emulation.captures.follow import Followed, follow
from emulation.captures.frames import Ints
from emulation.errors import RigMismatch
from emulation.kinds.rigs.gateways import Change
from emulation.kinds.traffic.mix_load import Load, ports_of, queues
from emulation.model.topology import Link, Topology

QUANTILES = (0, 5, 25, 50, 75, 90, 95, 99, 100)  # of the delay, percent
AT_ONCE_NS = 10_000  # most delay of a change of rate: a tenth of a packet at 100 Mbit/s

BULK_PORT, WEB_PORT, UPLOAD_PORT, CBR_PORT = 5001, 80, 9, 4000
_PREFIX = {"forward": 0x0A01, "reverse": 0x0A02}  # 10.1/16 and 10.2/16: of the sender


@dataclass(frozen=True)
class Passage:
    """The packets that came to a queue in a run, in order of arrival; arrays of equal length."""

    arrived_ns: Ints  # since the load began
    delay_ns: Ints  # in the queue; -1 of a dropped packet
    length: Ints  # of the Ethernet frame, bytes
    source: NDArray[np.object_]  # of the packet: `bulk 0`, `web`, `cbr 1`, `upload 0`, `other`


def reduce(
    out: Path,
    topology: Topology,
    about: About,
    load: Load,
    link: Link,
    schedule: Iterable[Change] = (),
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the content of a flent data file and the record of the queues, from files in `out`.

    Raises `GuestFailure` where captures and the counters of a queue are not exactly equal,
    `RigMismatch` where a change of the rate was late.
    """
    report = json.loads((out / "mix.json").read_text())
    began_ns = int(report["began_ns"])
    results: dict[str, Series] = {}
    summary = {}
    for direction, port in queues(load).items():
        queue = followed(out, topology, port, direction)
        counters.check(counters.read(out, port), queue, port)
        passage = passed(queue, began_ns)
        length_ns = about.length.nanoseconds
        for name, values in series(passage, length_ns, about.step.nanoseconds).items():
            results[f"{name}::{direction}"] = values
        first = link.up if direction == "forward" else link.down
        rates = [(0, first.bits_per_second)]
        rates += [(change.at.nanoseconds, change.rate.bits_per_second) for change in schedule]
        summary[direction] = summarise(
            passage, length_ns, [(at, rate) for at, rate in rates if at < length_ns]
        )
    peers = {
        path.stem.removeprefix("mix-"): json.loads(path.read_text())
        for path in sorted(out.glob("mix-*.json"))
    }
    changes = [checked_change(change, began_ns) for change in report["changes"]]
    record = {"load": load.name, "queues": summary, "changes": changes, "peers": peers}
    return flent.content(about, results, {"load": load.name}), record


def followed(out: Path, topology: Topology, port: places.Place, direction: str) -> Followed:
    """Follow each packet of `direction` from its arrival at the gateway to the exit of `port`."""
    behind, *before = ports_of(port, topology)
    arrivals = pd.concat([_packets(out, place, direction) for place in before])
    arrivals = arrivals.sort_values("time_ns", kind="stable", ignore_index=True)
    return follow(arrivals, _packets(out, behind, direction), " ".join(behind))


def passed(queue: Followed, began_ns: int) -> Passage:
    """Return the packets that came to a queue, with times since the load began."""
    arrivals = queue.before
    return Passage(
        arrivals["time_ns"].to_numpy() - began_ns,
        queue.delay_ns,
        arrivals["length"].to_numpy(),
        _sources(arrivals),
    )


def _packets(out: Path, place: places.Place, direction: str) -> pd.DataFrame:
    """Return the packets of `direction` in a capture, in the columns of `frames.decode`."""
    captured = frames.read(places.frames(out, place))
    table = frames.decode(captured)
    ours = table["source"] // 2**16 == _PREFIX[direction]
    captured.refuse((ours & ~table["protocol"].isin((frames.TCP, frames.UDP))).to_numpy())
    packets: pd.DataFrame = table[ours]
    return packets


def _sources(table: pd.DataFrame) -> NDArray[np.object_]:
    """Return the name of each packet's source: its flow; all web connections are one source."""
    names = np.full(len(table), "other", dtype=object)
    tcp, udp = table["protocol"] == frames.TCP, table["protocol"] == frames.UDP
    address, port, target = table["source"], table["source_port"], table["target_port"]
    flows = table.loc[tcp & (target == BULK_PORT), ["source", "source_port"]].drop_duplicates()
    for sender, number in flows.to_numpy():
        names[tcp & (address == sender) & (port == number)] = f"bulk {sender:x}:{number}"
    names[tcp & (port == WEB_PORT)] = "web"
    names[tcp & (target == UPLOAD_PORT)] = "upload"
    for number in target[udp].unique():
        names[udp & (target == number)] = f"cbr {number - CBR_PORT}"
    return names


def series(passage: Passage, length_ns: int, step_ns: int) -> dict[str, Series]:
    """Return least, median and longest delay (ms), Mbit/s and drops by step; None comes first.

    A packet belongs to the step in which it left, a dropped packet to that in which it arrived.
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
    return {name: [None, *rounded(samples)] for name, samples in values.items()}


def summarise(passage: Passage, length_ns: int, rates: list[tuple[int, int]]) -> dict[str, Any]:
    """Return what figures need of one queue; `rates` are pairs of start (ns) and rate (bit/s)."""
    sent = passage.delay_ns >= 0
    left_ns = passage.arrived_ns + np.maximum(passage.delay_ns, 0)
    inside = (left_ns >= 0) & (left_ns < length_ns)
    ends = [at for at, _ in rates[1:]] + [length_ns]
    capacity = sum(rate * (end - at) for (at, rate), end in zip(rates, ends, strict=True)) / 1e9
    delay_ms = passage.delay_ns[inside & sent] / 1e6
    size = passage.length[inside & sent]
    sources = {}
    for name in sorted(set(passage.source[inside])):
        packets = inside & (passage.source == name)
        dropped = packets & ~sent
        sources[name] = {"packets": int(packets.sum()), "dropped": int(dropped.sum())}
    at = [float(value) for value in np.percentile(delay_ms, QUANTILES)] if delay_ms.size else []
    return {
        "sent": int(delay_ms.size),
        "dropped": int((inside & ~sent).sum()),
        "bytes": int(size.sum()),
        "utilisation": round(8 * float(size.sum()) / capacity, 6),
        "delay_ms": {f"p{q}": round(value, 4) for q, value in zip(QUANTILES, at, strict=False)},
        "mean_delay_ms": round(float(delay_ms.mean()), 4) if delay_ms.size else None,
        "sources": sources,
    }


def checked_change(change: dict[str, Any], began_ns: int) -> dict[str, Any]:
    """Return a change of the rate and how late it was; `RigMismatch` where it was too late."""
    late = [
        change[name] - began_ns - round(1e9 * change["at_s"]) for name in ("since_ns", "until_ns")
    ]
    where = f"{change['node']} {change['interface']}"
    if any(abs(late_ns) > AT_ONCE_NS for late_ns in late):
        what = f"the rate changed {late[0]} to {late[1]} ns after {change['at_s']:g} s"
        raise RigMismatch(what, where, "the guest was busy: see what it does at that moment")
    return {"at_s": change["at_s"], "port": where, "rate_bit_s": change["rate_bit_s"],
            "late_ns": late}  # fmt: skip
