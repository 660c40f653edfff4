"""Probes: what is recorded beside what the programs print, and where.

A module of the guest's kernel (`qdisc/src/probe`) records it, which changes nothing of a run
(docs/probes.md).
"""

from __future__ import annotations

import difflib
import gzip
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from emulation.errors import ConfigError, GuestFailure
from emulation.model.run import Run
from emulation.model.topology import Topology
from emulation.model.units import Duration, UnitError

QDISC, SOCKETS, CAPTURE = "qdisc", "sockets", "capture"

#: Kind -> how it is written.
FORMS = {
    QDISC: "qdisc[:INTERVAL][:NODE INTERFACE]",
    SOCKETS: "sockets[:INTERVAL][:NODE]",
    CAPTURE: "capture[:NODE INTERFACE]",
    "drops": "drops",
    "startup": "startup",
}
#: Those that are tables of what was captured on the way of the sender's packets.
FOLLOWED = ("drops", "startup")
#: What records: a folder of `qdisc/src`, and what loads it in the guest.
MODULE, LIBRARY = "probe", "/job/modules/preload_probe.so"
#: What the module reads and writes, below the folder of the job and its `out`.
PLACES, SAMPLES, PACKETS = "probe.places", "probe.samples", "probe.{}.pcap"
DEFAULT_INTERVAL = Duration(10_000_000)
#: Ports and nodes that a guest has room for (qdisc/src/probe).
MOST_PLACES = 128

_PLACE = struct.Struct("<QII16s")  # struct place of qdisc/src/probe


@dataclass(frozen=True)
class Probe:
    """What is recorded; without a place at the queues under test, or at the hosts that send."""

    kind: str  # a key of FORMS
    interval: Duration | None = None  # between two samples; a capture has none
    node: str | None = None
    interface: str | None = None

    @classmethod
    def parse(cls, text: str) -> Probe:
        """Read `qdisc:10ms:router_up r1-delay`; raise `ConfigError` where it is not as in FORMS."""
        kind, *rest = (part.strip() for part in text.split(":"))
        if kind not in FORMS:
            close = difflib.get_close_matches(kind, FORMS, n=1)
            hint = f", did you mean '{close[0]}'?" if close else ""
            raise ConfigError(f"unknown kind '{kind}'{hint}", _where(text), _forms())
        interval = DEFAULT_INTERVAL if kind in (QDISC, SOCKETS) else None
        if rest and interval and rest[0][:1].isdigit():
            interval = _interval(rest.pop(0), text)
        place = rest.pop(0).split() if rest else []
        sizes = {SOCKETS: (0, 1)}.get(kind, (0,) if kind in FOLLOWED else (0, 2))
        if rest or len(place) not in sizes:
            raise ConfigError(f"'{text}' is not of its form", _where(text), f"write {FORMS[kind]}")
        node, interface = (*place, None, None)[:2]
        return cls(kind, interval, node, interface)

    def __str__(self) -> str:
        place = " ".join(part for part in (self.node, self.interface) if part)
        interval = str(self.interval).replace(" ", "") if self.interval else ""
        return ":".join(part for part in (self.kind, interval, place) if part)

    def places(self, run: Run) -> list[dict[str, Any]]:
        """Where it is in the rig of `run`, as a job has it; `ConfigError` where there is none
        such."""
        topology = run.topology
        if self.kind in FOLLOWED:
            found: list[tuple[str, str | None]] = [*_followed(run)]
        elif self.node is None:
            found = _hosts(topology) if self.kind == SOCKETS else _queues(topology)
        else:
            _check(topology, str(self), self.node, self.interface)
            found = [(self.node, self.interface)]
        interval = {"interval_ns": self.interval.nanoseconds} if self.interval else {}
        kind = CAPTURE if self.kind in FOLLOWED else self.kind
        return [
            {"kind": kind, **interval, "node": node}
            | ({"interface": interface} if interface else {})
            for node, interface in found
        ]


def check(probes: tuple[Probe, ...], run: Run) -> None:
    """Raise `ConfigError` where `probes` have no place in `run`, or no moment to begin at."""
    if not probes:
        return
    if not run.topology.nodes:
        raise ConfigError("has no rig", run.id, "leave --probe out")
    places(probes, run)
    for probe in probes:
        if probe.kind in FOLLOWED:
            from emulation.probes import upload

            upload.check(probe.kind, run)
        elif not probe.places(run):
            what = f"the rig '{run.topology.name}' has none of the places of this probe"
            raise ConfigError(what, _where(str(probe)), f"name one: {FORMS[probe.kind]}")


def places(probes: tuple[Probe, ...], run: Run) -> list[dict[str, Any]]:
    """Where `probes` are; `ConfigError` where a place is unknown or named twice.

    What is followed is captured where nothing else captures.
    """
    named = [place for probe in _plain(probes) for place in probe.places(run)]
    seen = set()
    for place in named:
        if (key := _key(place)) in seen:
            where = " ".join(part for part in key[1:] if part)
            raise ConfigError(f"two probes of {key[0]} at {where}", "--probe", "name each once")
        seen.add(key)
    more = {_key(place): place for probe in probes for place in probe.places(run)}
    found = [*named, *(place for key, place in more.items() if key not in seen)]
    if len(found) > MOST_PLACES:
        what = f"{len(found)} places are recorded, the most are {MOST_PLACES}"
        raise ConfigError(what, "--probe", "name the places that matter")
    return found


def _plain(probes: tuple[Probe, ...]) -> list[Probe]:
    return [probe for probe in probes if probe.kind not in FOLLOWED]


def _key(place: dict[str, Any]) -> tuple[str, ...]:
    return place["kind"], place["node"], place.get("interface", "")


def files(probes: tuple[Probe, ...], run: Run) -> dict[str, str]:
    """Name of a file that `reduce` makes -> what follows the run's id in the data folder."""
    ends = [f".{probe.kind}.csv" for probe in probes if probe.kind in FOLLOWED]
    for place in (place for probe in _plain(probes) for place in probe.places(run)):
        if place["kind"] == CAPTURE:
            ends.append(f".{place['node']}.{place['interface']}.pcap.gz")
        else:
            ends.append(f".{place['kind']}.parquet")
    return {f"probe{end}": end for end in ends}


def check_there(probes: tuple[Probe, ...], run: Run, folder: Path) -> None:
    """Raise `ConfigError` where the data in `folder` have a series of `probes` that was sampled
    otherwise: at other places, or at other intervals."""
    for kind, found in _sampled(probes, run).items():
        path = folder / f"{run.id}.{kind}.parquet"
        if path.exists():
            import pandas as pd

            if (there := pd.read_parquet(path).attrs.get("places")) != found:
                told = " and ".join(_told(place) for place in there or ())
                what = f"the series that is there is of {told or 'places that it does not tell'}"
                raise ConfigError(what, str(path), "remove it, or choose another --output")


def _sampled(probes: tuple[Probe, ...], run: Run) -> dict[str, list[dict[str, Any]]]:
    """The places of each kind of series."""
    found: dict[str, list[dict[str, Any]]] = {}
    for place in places(probes, run):
        if place["kind"] != CAPTURE:
            found.setdefault(place["kind"], []).append(place)
    return found


def _told(place: dict[str, Any]) -> str:
    where = " ".join(place[key] for key in ("node", "interface") if key in place)
    return f"{place['kind']}:{Duration(place['interval_ns'])}:{where}"


def for_module(probes: tuple[Probe, ...], run: Run) -> bytes:
    """What the module is told: `struct place` of each place.

    Each node but a switch has a network namespace of its own, made in their order; the first is
    that of the guest's first process.
    """
    topology = run.topology
    numbers = dict.fromkeys((node.name for node in topology.nodes if node.switches), 0)
    own = (node.name for node in topology.nodes if not node.switches)
    numbers |= {name: number for number, name in enumerate(own, 1)}
    return b"".join(
        _PLACE.pack(
            place.get("interval_ns", 0),
            list(FORMS).index(place["kind"]),
            numbers[place["node"]],
            place.get("interface", "").encode(),
        )
        for place in places(probes, run)
    )


def reduce(probes: tuple[Probe, ...], run: Run, out: Path) -> None:
    """Make `files` of what the module left in the folder `out`; `GuestFailure` where it did not."""
    if not (out / SAMPLES).exists():
        what = "no probe could begin: the guest's first process never slept for long"
        raise GuestFailure(what, todo="leave --probe out")
    found = places(probes, run)
    captures = {}
    for number, place in enumerate(found):
        if place["kind"] == CAPTURE:
            raw = out / PACKETS.format(number)
            packed = out / f"probe.{place['node']}.{place['interface']}.pcap.gz"
            packed.write_bytes(gzip.compress(raw.read_bytes(), 6, mtime=0))
            raw.unlink()
            captures[place["node"], place["interface"]] = packed
    for probe in probes:
        if probe.kind in FOLLOWED:
            from emulation.probes import upload

            sender, queue = (captures[place] for place in upload.places(run))
            upload.write(probe.kind, run, out, (sender, queue), out / f"probe.{probe.kind}.csv")
    if sampled := _sampled(probes, run):
        from emulation.probes import netlink

        for kind, table in netlink.tables(found, (out / SAMPLES).read_bytes()).items():
            table.attrs["places"] = sampled[kind]
            table.to_parquet(out / f"probe.{kind}.parquet", index=False)


def _followed(run: Run) -> tuple[tuple[str, str], ...]:
    from emulation.probes import upload

    return upload.places(run)


def _interval(text: str, whole: str) -> Duration:
    try:
        interval = Duration.parse(text)
    except UnitError as error:
        raise ConfigError(str(error), _where(whole)) from error
    if not interval.nanoseconds:
        raise ConfigError("an interval of 0 never ends", _where(whole), "write e.g. '10 ms'")
    return interval


def _check(topology: Topology, text: str, node: str, interface: str | None) -> None:
    """Raise `ConfigError` unless there is such a node, and such a port of it."""
    nodes = [one.name for one in topology.nodes]
    if node not in nodes:
        raise ConfigError(f"no node '{node}'", _where(text), f"nodes: {', '.join(nodes)}")
    ports = [port.interface for port in topology.ports() if port.node == node]
    if interface is not None and interface not in ports:
        todo = f"interfaces of {node}: {', '.join(ports)}"
        raise ConfigError(f"no interface '{interface}'", _where(text), todo)


def _queues(topology: Topology) -> list[tuple[str, str | None]]:
    return [(port.node, port.interface) for port in topology.queues()]


def _hosts(topology: Topology) -> list[tuple[str, str | None]]:
    """The nodes that neither route nor switch: every one of them sends, if only acknowledgments."""
    return [(node.name, None) for node in topology.nodes if not (node.forwards or node.switches)]


def _where(text: str) -> str:
    return f"--probe {text}"


def _forms() -> str:
    return f"write {' or '.join(FORMS.values())}"
