"""Where two runs first differ: in what was asked for, a packet, a sample, a counter or their
identity."""

import json
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

from qdisclab.emulation import datafile
from qdisclab.emulation.captures import pcap, places
from qdisclab.emulation.config.job import job_of
from qdisclab.emulation.config.request import run_of
from qdisclab.emulation.errors import ConfigError, DamagedData, EmulationError
from qdisclab.emulation.host.digest import sha256
from qdisclab.emulation.kinds.probes.base import SOCKETS
from qdisclab.emulation.machine import provenance

_ABSENT = "(absent)"

#: Of TCP's `ca_state`, and its `ssthresh` before the first loss (linux/tcp.h, net/tcp.h).
_STATES = ("Open", "Disorder", "CWR", "Recovery", "Loss")
_NO_SSTHRESH = 0x7FFFFFFF

#: Keys of a provenance that say what was asked for, beside its axes.
_ASKED = ("paper", "experiment", "link", "qdisc", "cc", "seed", "era", "length_s")


@dataclass(frozen=True)
class Side:
    """One of two runs that are compared; what it lacks is empty or None."""

    name: str  # as the user gave it
    data: Path  # the flent file, or the table
    provenance: dict[str, Any] | None
    qdiscs: dict[str, Any]
    captures: dict[str, Path]  # by node
    sockets: Path | None = None  # of the probe


@dataclass(frozen=True)
class Difference:
    """Two values that should be equal; `where` is a path of keys, a place or a series."""

    where: str
    left: Any
    right: Any
    time_s: float | None = None  # since the run began, if the values have a time
    time_ns: int | None = None  # since 1970, for packets

    def __str__(self) -> str:
        time = "" if self.time_s is None else f"at {self.time_s:g} s, "
        if self.time_ns is not None:
            time = f"at {self.time_ns} ns, "
        return f"{time}{self.where}: {self.left} against {self.right}"


@dataclass
class Comparison:
    """The differences between two runs. `packet` is also None if one of them has no captures."""

    same_bytes: bool
    what: tuple[str, ...] = ()  # has been compared
    settings: list[Difference] = field(default_factory=list)
    job: list[Difference] = field(default_factory=list)  # of what the guest is told
    packets_compared: bool = False
    packet: Difference | None = None
    beyond_chance: Difference | None = None  # the first in more than ports and initial numbers
    segment: Difference | None = None  # the first of TCP's alone, whenever it was sent
    sockets: tuple[list[str], ...] = ()  # of its connection, left and right
    sample: Difference | None = None
    metadata: Difference | None = None
    counters: list[Difference] = field(default_factory=list)
    identity: list[Difference] = field(default_factory=list)
    set_qdiscs: list[str] = field(default_factory=list)  # as tc gets them, of two kernels' runs

    @property
    def equal(self) -> bool:
        """Whether the runs have the same bytes of data, counters and packets."""
        return self.same_bytes and not self.counters and self.packet is None

    def as_json(self) -> dict[str, Any]:
        """Return the comparison as `emulate diff --json` prints it."""
        fields = {"equal": self.equal, **asdict(self)}
        return {name: value for name, value in fields.items() if name != "what"}


def load(path: Path) -> Side:
    """Return the run at `path`, its data file with or without the suffix; `ConfigError` if none."""
    stem = path.name
    for end in (datafile.FLENT, datafile.ROWS, ".json"):
        stem = stem.removesuffix(end)
    data = datafile.beside(path.with_name(f"{stem}.json"))
    if not data.exists():
        raise ConfigError("no such run", str(path), "name it as .../seed-001, or its .flent.gz")
    provenance = path.with_name(f"{stem}.json")
    record = datafile.read_json(provenance) if provenance.exists() else None
    parts = ((record or {}).get(name, {}) for name in ("identity", "qdiscs"))
    if not all(isinstance(part, dict) for part in parts):
        raise DamagedData("is not the provenance of a run", str(provenance), "do the run again")
    files = sorted(path.parent.glob(f"{stem}.*{places.PCAP}"))
    captures = {of.name.removeprefix(f"{stem}.").removesuffix(places.PCAP): of for of in files}
    sockets = path.with_name(f"{stem}.{SOCKETS}.parquet")
    there = sockets if sockets.exists() else None
    return Side(str(path), data, record, (record or {}).get("qdiscs", {}), captures, there)


def compare(left: Side, right: Side) -> Comparison:
    """Compare two runs; of most kinds of difference the first is returned."""
    digest = sha256(left.data)
    result = Comparison(same_bytes=digest == sha256(right.data))
    nodes = sorted(left.captures.keys() & right.captures.keys())
    result.packets_compared = bool(nodes)
    result.packet = first_packet(left.captures, right.captures, nodes)
    if result.packet is not None:
        result.beyond_chance = first_packet(left.captures, right.captures, nodes, chance=False)
        result.segment = first_packet(left.captures, right.captures, nodes, tcp=True)
        cause = result.segment or result.beyond_chance or result.packet
        texts, time_ns = (str(cause.left), str(cause.right)), cause.time_ns or 0
        result.sockets = around(left, time_ns, texts), around(right, time_ns, texts[::-1])
    if not result.same_bytes:
        a, b = _flent(left.data), _flent(right.data)
        result.sample = first_sample(a, b)
        result.metadata = next(differences(a.get("metadata"), b.get("metadata"), "metadata"), None)
    result.what = (f"data (SHA-256 {digest[:16]})",)
    if left.qdiscs and right.qdiscs:
        result.what += (f"counters of {len(left.qdiscs)} interfaces",)
        result.counters = list(differences(left.qdiscs, right.qdiscs))
    if (mine := left.provenance) and (other := right.provenance):
        result.settings = list(differences(_asked(mine), _asked(other)))
        result.job = job_differences(mine, other)
        result.identity = list(differences(mine.get("identity"), other.get("identity")))
        if any(part.where == "kernel.digest" for part in result.identity):
            result.set_qdiscs = set_qdiscs(mine)
    return result


def _asked(record: dict[str, Any]) -> dict[str, Any]:
    axes = record.get("axes")
    asked = {key: record[key] for key in _ASKED if key in record}
    return {**axes, **asked} if isinstance(axes, dict) else asked


def job_differences(left: dict[str, Any], right: dict[str, Any]) -> list[Difference]:
    """Return the differences between the jobs of two provenances' guests, except the seed.

    Empty where the studies that this checkout knows do not make those jobs.
    """
    jobs: list[dict[str, Any]] = []
    for record in (left, right):
        try:
            job = job_of(run_of(record))
        except EmulationError:
            return []
        if record["identity"].get("job") != provenance.job_digest(job):
            return []
        jobs.append(_readable(json.loads(json.dumps(job))))
    return list(differences(jobs[0], jobs[1]))


def set_qdiscs(record: dict[str, Any]) -> list[str]:
    """Return the qdiscs of a run with the options that its study sets, which no default decides.

    Empty where the studies that this checkout knows do not have the run.
    """
    try:
        wires = job_of(run_of(record)).get("wires", ())
    except EmulationError:
        return []
    qdiscs = (qdisc for wire in wires for port in wire for qdisc in port["qdiscs"])
    return sorted({_tc(qdisc) for qdisc in qdiscs})


def _readable(job: dict[str, Any]) -> dict[str, Any]:
    """Return a job by port, with each qdisc as `tc` gets it, without what follows from it."""
    ports = {
        f"{port['node']} {port['interface']}": {**port, "qdiscs": [*map(_tc, port["qdiscs"])]}
        for port in (port for wire in job.pop("wires", ()) for port in wire)
    }
    job["traffic"] = {**job.get("traffic", {}), "title": None}
    return {**job, "seed": None, **ports}


def _tc(qdisc: dict[str, Any]) -> str:
    return " ".join((qdisc["kind"], *qdisc["arguments"]))


def first_packet(
    left: dict[str, Path],
    right: dict[str, Path],
    nodes: list[str],
    chance: bool = True,
    tcp: bool = False,
) -> Difference | None:
    """Return the earliest packet, over all `nodes`, that only one of two captures has.

    Without `chance`, the earliest that differs in more than what is random for each socket; for
    `tcp`, the earliest of TCP's segments whose headers do, whenever it was sent.
    """
    read = _segments if tcp else pcap.read
    differences = []
    for node in nodes:
        sides = pcap.Chance(), pcap.Chance()
        pairs = zip_longest(read(left[node]), read(right[node]))
        for number, (a, b) in enumerate(pairs, start=1):
            if (tcp or not chance) and a and b:
                plain = sides[0].without(a), sides[1].without(b)
                differ = plain[0] != plain[1]
                if differ and tcp:
                    differ = pcap.tcp_headers(plain[0]) != pcap.tcp_headers(plain[1])
            else:
                differ = a != b
            if differ:
                first_ns = min(packet.time_ns for packet in (a, b) if packet is not None)
                texts = [_packet(packet, first_ns) for packet in (a, b)]
                if texts[0] == texts[1] and a and b:  # they differ after what `decode` shows
                    texts = [f"{texts[0]}: {packet.content.hex()}" for packet in (a, b)]
                place = f"{node}, {'segment' if tcp else 'packet'} {number}"
                differences.append(Difference(place, texts[0], texts[1], time_ns=first_ns))
                break
    return min(differences, key=lambda difference: difference.time_ns or 0, default=None)


def _segments(path: Path) -> Iterator[pcap.Packet]:
    return filter(pcap.tcp_headers, pcap.read(path))


def _packet(packet: pcap.Packet | None, time_ns: int) -> str:
    if packet is None:
        return "(no more packets)"
    late = packet.time_ns - time_ns
    return f"{packet} ({late} ns later)" if late else str(packet)


def around(side: Side, time_ns: int, packets: tuple[str, ...]) -> list[str]:
    """Return the state of the first packet's connection at the samples next to a time."""
    texts = [text for text in packets if " > " in text]
    if side.sockets is None or not texts:
        return []
    from qdisclab.emulation.captures.samples import read_series  # pandas takes long to import

    source, _, target = texts[0].split()[:3]
    lines = []
    for place, samples in read_series(side.sockets).groupby(["node", "local", "remote"]):
        for ports, rows in samples.groupby(["local_port", "remote_port"]):
            ends = {f"{name}.{port}" for name, port in zip(place[1:], ports, strict=True)}
            if ends == {source, target}:
                before, after = rows[rows.time_ns < time_ns], rows[rows.time_ns >= time_ns]
                for row in (*before[-1:].itertuples(), *after[:1].itertuples()):
                    lines.append(f"{place[0]} {place[1]}.{ports[0]}, {_socket(row, time_ns)}")
    return lines


def _socket(row: Any, time_ns: int) -> str:
    late_ms = (row.time_ns - time_ns) / 1e6
    threshold = row.ssthresh_packets  # absent, too, before the first loss
    none = math.isnan(threshold) or threshold == _NO_SSTHRESH
    return (
        f"{abs(late_ms):.3f} ms {'later' if late_ms >= 0 else 'before'}: cwnd {row.cwnd_packets}, "
        f"ssthresh {'-' if none else int(threshold)}, "
        f"srtt {row.srtt_us / 1000:.3f} ms, {_STATES[row.ca_state]}"
    )


def first_sample(left: dict[str, Any], right: dict[str, Any]) -> Difference | None:
    """Return the earliest step of the flent series at which a value differs."""
    differences = []
    series = [content.get("results", {}) for content in (left, right)]
    steps = [content.get("x_values", []) for content in (left, right)]
    for name in sorted(series[0].keys() | series[1].keys()):
        values = [results.get(name, []) for results in series]
        for index, (a, b) in enumerate(zip_longest(*values, fillvalue=_ABSENT)):
            if a != b:
                longer = max(steps, key=len)
                time = float(longer[index]) if index < len(longer) else float(index)
                differences.append(Difference(name, a, b, time_s=time))
                break
    return min(differences, key=lambda difference: difference.time_s or 0.0, default=None)


def differences(left: Any, right: Any, path: str = "") -> Iterator[Difference]:
    """Yield each value that differs between two JSON documents, with the path of keys to it."""
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
    """Return the content of a data file; the rows of a table become metadata."""
    if path.name.endswith(datafile.ROWS):
        return {"metadata": {"rows": datafile.read_rows(path)}}
    content = datafile.read_json(path)
    series, times = content.get("results", {}), content.get("x_values", [])
    lists = [times, *(series.values() if isinstance(series, dict) else [None])]
    are_lists = all(isinstance(values, list) for values in lists)
    if not (are_lists and all(isinstance(time, int | float) for time in times)):
        raise DamagedData("is not a flent data file", str(path), "do the run again")
    return content
