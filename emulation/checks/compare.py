"""Where two runs differ first: a packet, a sample, a counter, or what they were made of."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

from emulation import datafile
from emulation.captures import pcap, places
from emulation.errors import ConfigError, DamagedData
from emulation.machine import trace

_ABSENT = "(absent)"


@dataclass(frozen=True)
class Side:
    """One of two runs. What it does not have is empty or None."""

    name: str  # as the user gave it
    data: Path  # the flent file, or the table
    provenance: dict[str, Any] | None
    qdiscs: dict[str, Any]
    captures: dict[str, Path]  # by node
    trace: Path | None = None  # of simulated time

    def sha256(self) -> str:
        """Of the data file."""
        return hashlib.sha256(self.data.read_bytes()).hexdigest()


@dataclass(frozen=True)
class Difference:
    """Two values that should be equal. `where`: a path of keys, a place or a series."""

    where: str
    left: Any
    right: Any
    time_s: float | None = None  # of the run, where the values have a time
    time_ns: int | None = None  # since 1970, for packets

    def __str__(self) -> str:
        time = "" if self.time_s is None else f"at {self.time_s:g} s, "
        if self.time_ns is not None:
            time = f"at {self.time_ns} ns, "
        return f"{time}{self.where}: {self.left} against {self.right}"


@dataclass
class Comparison:
    """What `compare` found. `packet` is None where one side has no captures, too."""

    same_bytes: bool
    packets_compared: bool = False
    packet: Difference | None = None
    parting: trace.Parting | None = None
    sample: Difference | None = None
    metadata: Difference | None = None
    counters: list[Difference] = field(default_factory=list)
    identity: list[Difference] = field(default_factory=list)

    @property
    def equal(self) -> bool:
        """Whether the runs gave the same: bytes of data, counters and packets."""
        return self.same_bytes and not self.counters and self.packet is None

    def as_json(self) -> dict[str, Any]:
        """For `emulate diff --json`."""

        def one(found: Difference | None) -> dict[str, Any] | None:
            return None if found is None else dict(vars(found))

        return {
            "equal": self.equal,
            "same_bytes": self.same_bytes,
            "packets_compared": self.packets_compared,
            "packet": one(self.packet),
            "parting": None if self.parting is None else asdict(self.parting),
            "sample": one(self.sample),
            "metadata": one(self.metadata),
            "counters": [one(found) for found in self.counters],
            "identity": [one(found) for found in self.identity],
        }


def load(path: Path) -> Side:
    """The run at `path`: its data, with or without the ending, or a kept scratch folder.

    Raises `ConfigError` where there is none.
    """
    if path.is_dir():
        out = next(
            (one for one in (path / "job" / "out", path / "out", path) if _scratch_data(one)), None
        )
        if out is None:
            raise ConfigError("holds no data.flent.gz", str(path), "name a run or a kept folder")
        packets = sorted(out.glob(f"*{places.PCAP}"))
        captures = {one.name.removesuffix(places.PCAP): one for one in packets}
        return Side(
            str(path),
            out / "data.flent.gz",
            None,
            _json(out / "qdiscs.json") or {},
            captures,
            _there(out / "trace"),
        )
    stem = path.name
    for end in (datafile.FLENT, datafile.ROWS, ".json"):
        stem = stem.removesuffix(end)
    data = datafile.beside(path.with_name(f"{stem}.json"))
    if not data.exists():
        raise ConfigError("no such run", str(path), "name it as .../seed-001, or its .flent.gz")
    record = _json(path.with_name(f"{stem}.json"))
    captures = {
        one.name.removeprefix(f"{stem}.").removesuffix(places.PCAP): one
        for one in sorted(path.parent.glob(f"{stem}.*{places.PCAP}"))
    }
    history = _there(path.with_name(f"{stem}{trace.SUFFIX}"))
    return Side(str(path), data, record, (record or {}).get("qdiscs", {}), captures, history)


def _there(path: Path) -> Path | None:
    return path if path.exists() else None


def _scratch_data(folder: Path) -> bool:
    return (folder / "data.flent.gz").exists()


def _json(path: Path) -> dict[str, Any] | None:
    return datafile.read_json(path) if path.exists() else None


def compare(left: Side, right: Side) -> Comparison:
    """Everything in which the two runs differ, the first of each kind."""
    result = Comparison(same_bytes=left.sha256() == right.sha256())
    nodes = sorted(left.captures.keys() & right.captures.keys())
    result.packets_compared = bool(nodes)
    result.packet = first_packet(left.captures, right.captures, nodes)
    if left.trace and right.trace:
        result.parting = trace.parting(left.trace, right.trace)
    if not result.same_bytes:
        a, b = _flent(left.data), _flent(right.data)
        result.sample = first_sample(a, b)
        result.metadata = next(differences(a.get("metadata"), b.get("metadata"), "metadata"), None)
    if left.qdiscs and right.qdiscs:
        result.counters = list(differences(left.qdiscs, right.qdiscs))
    if left.provenance and right.provenance:
        result.identity = list(
            differences(left.provenance.get("identity"), right.provenance.get("identity"))
        )
    return result


def first_packet(
    left: dict[str, Path], right: dict[str, Path], nodes: list[str]
) -> Difference | None:
    """The earliest packet, over all `nodes`, that one capture has and the other has not."""
    found = []
    for node in nodes:
        pairs = zip_longest(pcap.read(left[node]), pcap.read(right[node]))
        for number, (a, b) in enumerate(pairs, start=1):
            if a != b:
                time = min(packet.time_ns for packet in (a, b) if packet is not None)
                one, other = (_packet(packet, time) for packet in (a, b))
                if one == other:  # they differ behind what `decode` shows
                    one, other = (packet.content.hex() if packet else "" for packet in (a, b))
                place = f"{node}, packet {number}"
                found.append(Difference(place, one, other, time_ns=time))
                break
    return min(found, key=lambda one: one.time_ns or 0, default=None)


def _packet(packet: pcap.Packet | None, time_ns: int) -> str:
    if packet is None:
        return "(no more packets)"
    late = packet.time_ns - time_ns
    return f"{packet} ({late} ns later)" if late else str(packet)


def first_sample(left: dict[str, Any], right: dict[str, Any]) -> Difference | None:
    """The earliest step of the flent series at which a value differs."""
    found = []
    series = [content.get("results", {}) for content in (left, right)]
    steps = [content.get("x_values", []) for content in (left, right)]
    for name in sorted(series[0].keys() | series[1].keys()):
        values = [one.get(name, []) for one in series]
        for index, (a, b) in enumerate(zip_longest(*values, fillvalue=_ABSENT)):
            if a != b:
                longer = max(steps, key=len)
                time = float(longer[index]) if index < len(longer) else float(index)
                found.append(Difference(name, a, b, time_s=time))
                break
    return min(found, key=lambda one: one.time_s or 0.0, default=None)


def differences(left: Any, right: Any, path: str = "") -> Iterator[Difference]:
    """Each value of two JSON documents that differs, with the path of keys to it."""
    if isinstance(left, dict) and isinstance(right, dict):
        for key in sorted(left.keys() | right.keys()):
            below = f"{path}.{key}" if path else str(key)
            yield from differences(left.get(key, _ABSENT), right.get(key, _ABSENT), below)
    elif isinstance(left, list) and isinstance(right, list):
        for index, pair in enumerate(zip_longest(left, right, fillvalue=_ABSENT)):
            yield from differences(*pair, f"{path}[{index}]")
    elif left != right:
        yield Difference(path, left, right)


def _flent(path: Path) -> dict[str, Any]:
    """The content of a data file; the rows of a table are taken for metadata."""
    if path.name.endswith(datafile.ROWS):
        return {"metadata": {"rows": datafile.read_rows(path)}}
    found = datafile.read_json(path)
    series = found.get("results", {})
    lists = [found.get("x_values", []), *(series.values() if isinstance(series, dict) else [None])]
    times = lists[0] if isinstance(lists[0], list) else [None]
    numbers = all(isinstance(time, int | float) for time in times)
    if not numbers or not all(isinstance(values, list) for values in lists):
        raise DamagedData("is no flent data file", str(path), "do the run again")
    return found
