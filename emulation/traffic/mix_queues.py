"""Queues between gateways: how long packets waited in them, and which were dropped."""

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
from emulation.model.topology import Link, Topology
from emulation.rigs.gateways import Change
from emulation.traffic.mix import Load, ports_of, queues

QUANTILES = (0, 5, 25, 50, 75, 90, 95, 99, 100)  # of the delay, percent
AT_ONCE_NS = 10_000  # how far off a change of the rate may be: a tenth of a packet at 100 Mbit/s

BULK_PORT, WEB_PORT, UPLOAD_PORT, CBR_PORT = 5001, 80, 9, 4000
_PREFIX = {"forward": 0x0A01, "reverse": 0x0A02}  # 10.1/16 and 10.2/16: who sends


@dataclass(frozen=True)
class Passage:
    """What came to a queue during a run, in the order of arrival; arrays of one length."""

    arrived_ns: Ints  # since the load began
    delay_ns: Ints  # in the queue; -1 of a dropped packet
    length: Ints  # of the Ethernet frame, bytes
    source: NDArray[np.object_]  # what sent it: `bulk 0`, `web`, `cbr 1`, `upload 0`, `other`


def reduce(
    out: Path,
    topology: Topology,
    about: About,
    load: Load,
    link: Link,
    schedule: Iterable[Change] = (),
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A flent data file's content and what else is told of a run, from what a guest left in `out`.

    Raises `GuestFailure` where captures and the counters of a queue are not exactly equal,
    `RigMismatch` where a change of the rate was late.
    """
    told = json.loads((out / "mix.json").read_text())
    began_ns = int(told["began_ns"])
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
        rates += [(one.at.nanoseconds, one.rate.bits_per_second) for one in schedule]
        summary[direction] = summarise(
            passage, length_ns, [(at, rate) for at, rate in rates if at < length_ns]
        )
    peers = {
        path.stem.removeprefix("mix-"): json.loads(path.read_text())
        for path in sorted(out.glob("mix-*.json"))
    }
    changes = [change_told(change, began_ns) for change in told["changes"]]
    kept = {"load": load.name, "queues": summary, "changes": changes, "peers": peers}
    return flent.content(about, results, {"load": load.name}), kept


def followed(out: Path, topology: Topology, port: places.Place, direction: str) -> Followed:
    """Each packet of `direction` from its arrival at the gateway to its leaving the queue at
    `port`."""
    behind, *before = ports_of(port, topology)
    came = pd.concat([_packets(out, place, direction) for place in before])
    came = came.sort_values("time_ns", kind="stable", ignore_index=True)
    return follow(came, _packets(out, behind, direction), " ".join(behind))


def passed(queue: Followed, began_ns: int) -> Passage:
    """What came to a queue, since the load began."""
    came = queue.before
    return Passage(
        came["time_ns"].to_numpy() - began_ns,
        queue.delay_ns,
        came["length"].to_numpy(),
        _sources(came),
    )


def _packets(out: Path, place: places.Place, direction: str) -> pd.DataFrame:
    """The packets of `direction` in a capture, as `frames.decode` has them."""
    captured = frames.read(places.frames(out, place))
    table = frames.decode(captured)
    ours = table["source"] // 2**16 == _PREFIX[direction]
    captured.refuse((ours & ~table["protocol"].isin((frames.TCP, frames.UDP))).to_numpy())
    found: pd.DataFrame = table[ours]
    return found


def _sources(table: pd.DataFrame) -> NDArray[np.object_]:
    """What sent each packet, flow by flow; all web connections are one source."""
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
    return {name: [None, *rounded(found)] for name, found in values.items()}


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


def change_told(change: dict[str, Any], began_ns: int) -> dict[str, Any]:
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
