"""Probes: what is recorded in addition to the programs' output, and where.

A module of the guest's kernel (`qdisc/src/probe`) records, which does not affect the run
(docs/probes.md).
"""

import difflib
import fnmatch
import glob
import gzip
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from qdisclab.emulation.errors import ConfigError, GuestFailure
from qdisclab.emulation.kinds.probes import KINDS, base
from qdisclab.emulation.model.run import Run
from qdisclab.emulation.model.units import Duration, UnitError

#: The module that records, a folder of `qdisc/src`, and the library that loads it in the guest.
MODULE, LIBRARY = "probe", "/job/modules/preload_probe.so"
#: Files that the module reads (in the folder of the job) and writes (in its `out`).
PLACES, SAMPLES = "probe.places", "probe.samples"
CAPTURED, RECORDS = "probe.{}.pcap", "probe.{}.queue"
#: The most ports and nodes that a guest records (qdisc/src/probe).
MOST_PLACES = 128

_PLACE = struct.Struct("<QII16s")  # struct place of qdisc/src/probe


@dataclass(frozen=True)
class Probe:
    """What is recorded; by default at the queues under test, of sockets at all hosts."""

    kind: str  # a key of KINDS
    interval: Duration | None = None  # between two samples; None for a capture
    node: str | None = None
    interface: str | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse e.g. `qdisc:10ms:router_up r1-delay`; raise `ConfigError` for no kind's form."""
        kind, *rest = (part.strip() for part in text.split(":"))
        if kind not in KINDS:
            close = difflib.get_close_matches(kind, KINDS, n=1)
            hint = f", did you mean '{close[0]}'?" if close else ""
            what = f"unknown kind '{kind}'{hint}"
            raise ConfigError(what, _where(text), f"write {forms(' or ')}")
        about = KINDS[kind]
        interval = about.interval
        if rest and interval and rest[0][:1].isdigit():
            interval = _interval(rest.pop(0), text)
        place = rest.pop(0).split() if rest else []
        if rest or len(place) > about.words or "".join(place)[:1].isdigit():
            what = f"'{text}' is not a probe of kind '{kind}'"
            raise ConfigError(what, _where(text), f"write {about.form}")
        node, interface = (*place, None, None)[:2]
        return cls(kind, interval, node, interface)

    def __str__(self) -> str:
        place = " ".join(part for part in (self.node, self.interface) if part)
        interval = str(self.interval).replace(" ", "") if self.interval else ""
        return ":".join(part for part in (self.kind, interval, place) if part)

    @property
    def about(self) -> base.ProbeKind:
        """Return what its kind is."""
        return KINDS[self.kind]

    def places(self, run: Run) -> list[dict[str, Any]]:
        """Return the probe's places in the rig of `run`, in the form of a job.

        Raises `ConfigError` if the rig has no such place.
        """
        about = self.about
        places = about.places(run) if self.node is None else self._named(run, self.node)
        interval = self.interval or (base.COMPARED if about.recording == base.QUEUE else None)
        sampled = {"interval_ns": interval.nanoseconds} if interval else {}
        form: dict[str, Any] = {"kind": about.recording, **sampled}
        return [form | {"node": node} | ({"interface": at} if at else {}) for node, at in places]

    def check(self, run: Run) -> None:
        """Raise `ConfigError` if the probe has no place in `run` or cannot be used with it."""
        if not run.topology.nodes:
            raise ConfigError("has no rig", run.id, "leave the probe out")
        where = [(place["node"], place.get("interface")) for place in self.places(run)]
        self.about.check(run, where)
        if not where:
            what = f"the rig '{run.topology.name}' has no default place for this probe"
            raise ConfigError(what, _where(str(self)), f"name a place: {self.about.form}")

    def _named(self, run: Run, node: str) -> list[base.Where]:
        """Return the place that the user names: of a node alone its queues under test."""
        where, topology = _where(str(self)), run.topology
        nodes = [each.name for each in topology.nodes]
        if node not in nodes:
            raise ConfigError(f"no node '{node}'", where, f"nodes: {', '.join(nodes)}")
        ports = [port.interface for port in topology.ports() if port.node == node]
        listed = ", ".join(ports)
        if self.interface is not None and self.interface not in ports:
            todo = f"interfaces of {node}: {listed}"
            raise ConfigError(f"no interface '{self.interface}'", where, todo)
        if self.interface is not None or self.about.words < 2:
            return [(node, self.interface)]
        if queues := [port for port in topology.queues() if port.node == node]:
            return [(port.node, port.interface) for port in queues]
        raise ConfigError(f"no queue under test at '{node}'", where, f"name an interface: {listed}")


def of_run(run: Run, more: Iterable[Probe] = ()) -> tuple[Probe, ...]:
    """Return what a run records: the probes of its experiment, and `more`."""
    return tuple(dict.fromkeys((*run.experiment.probes, *more)))


def check(probes: tuple[Probe, ...], run: Run) -> None:
    """Raise `ConfigError` if one of `probes` cannot be used with `run`, or they have no room."""
    for probe in probes:
        probe.check(run)
    if probes:
        from qdisclab.emulation.kinds.probes import queue

        queue.check_room(run, places(probes, run))


def places(probes: tuple[Probe, ...], run: Run) -> list[dict[str, Any]]:
    """Return the places of `probes`; raise `ConfigError` if one is unknown or has two intervals.

    What several ask for is recorded once.
    """
    by_key: dict[tuple[str, ...], dict[str, Any]] = {}
    for probe in probes:
        for place in probe.places(run):
            key = place["kind"], place["node"], place.get("interface", "")
            if by_key.setdefault(key, place) != place:
                where = " ".join(part for part in key[1:] if part)
                what = f"two intervals of {probe.kind} at {where}"
                raise ConfigError(what, "--probe", "choose one")
    if len(by_key) > MOST_PLACES:
        what = f"{len(by_key)} places would be recorded, at most {MOST_PLACES} can be"
        raise ConfigError(what, "--probe", "name the places that matter")
    return list(by_key.values())


def files(probes: tuple[Probe, ...], run: Run) -> dict[str, str]:
    """Return the files that `reduce` makes -> their suffixes after the run's id in the data."""
    pairs = ((probe, at) for probe in probes for at in probe.places(run))
    ends = (probe.about.end(f"{at['node']}.{at.get('interface')}") for probe, at in pairs)
    return {f"probe{end}": end for end in ends}


def recorded(record: Path) -> list[str]:
    """Return the kinds of probes whose files lie beside a run, by its provenance."""
    names = [path.name for path in record.parent.glob(f"{glob.escape(record.stem)}.*")]
    return [name for name, kind in KINDS.items() if fnmatch.filter(names, record.stem + kind.end())]


def check_there(probes: tuple[Probe, ...], run: Run, folder: Path) -> None:
    """Raise `ConfigError` if `folder` has a series sampled at other places or intervals."""
    for kind, wanted in _sampled_places(probes, run).items():
        path = folder / f"{run.id}.{kind}.parquet"
        if path.exists():
            from qdisclab.emulation.captures.samples import read_series  # imports pandas

            if (present := read_series(path).attrs.get("places")) != wanted:
                places = " and ".join(_describe(place) for place in present or ())
                what = f"the existing series is of {places or 'unknown places'}"
                raise ConfigError(what, str(path), "remove it, or choose another --output")


def _sampled_places(probes: tuple[Probe, ...], run: Run) -> dict[str, list[dict[str, Any]]]:
    """Return the places of each kind of series."""
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for place in places(probes, run):
        if place["kind"] not in (base.CAPTURE, base.QUEUE):
            by_kind.setdefault(place["kind"], []).append(place)
    return by_kind


def _describe(place: dict[str, Any]) -> str:
    where = " ".join(place[key] for key in ("node", "interface") if key in place)
    return f"{place['kind']}:{Duration(place['interval_ns'])}:{where}"


def for_module(probes: tuple[Probe, ...], run: Run) -> bytes:
    """Return what the module reads: `struct place` of each place.

    Each node but a switch has a network namespace, numbered in their order from 1; number 0 is that
    of the guest's first process.
    """
    topology = run.topology
    numbers = dict.fromkeys((node.name for node in topology.nodes if node.switches), 0)
    own = (node.name for node in topology.nodes if not node.switches)
    numbers |= {name: number for number, name in enumerate(own, 1)}
    return b"".join(
        _PLACE.pack(
            place.get("interval_ns", 0),
            base.RECORDINGS.index(place["kind"]),
            numbers[place["node"]],
            place.get("interface", "").encode(),
        )
        for place in places(probes, run)
    )


def reduce(probes: tuple[Probe, ...], run: Run, out: Path) -> None:
    """Make `files` of what the module left in `out`; raise `GuestFailure` if it left nothing."""
    if not (out / SAMPLES).exists():
        what = "no probe could start: the guest's first process never slept for long"
        raise GuestFailure(what, todo="leave --probe out")
    recorded = places(probes, run)
    for number, place in enumerate(recorded):
        if place["kind"] == base.CAPTURE:
            raw = out / CAPTURED.format(number)
            packed = out / f"probe.{place['node']}.{place['interface']}.pcap.gz"
            packed.write_bytes(gzip.compress(raw.read_bytes(), 6, mtime=0))
            raw.unlink()
    if all(place["kind"] == base.CAPTURE for place in recorded):
        return
    from qdisclab.emulation.captures import samples  # pandas takes a second to import
    from qdisclab.emulation.kinds.probes import queue

    series = samples.tables(recorded, sampled_kinds(recorded), (out / SAMPLES).read_bytes())
    for kind, sampled in _sampled_places(probes, run).items():
        series[kind].attrs["places"] = sampled
        series[kind].to_parquet(out / f"probe.{kind}.parquet", index=False)
    for number, place in enumerate(recorded):
        if place["kind"] == base.QUEUE:
            where = place["node"], place["interface"]
            records = out / f"probe.{'.'.join(where)}.queue"
            (out / RECORDS.format(number)).rename(records)
            table = queue.write(run, where, records, series[base.QUEUE])
            for probe in probes:
                if probe.about.write is not None and place in probe.places(run):
                    probe.about.write(run, where, table, out / f"probe{probe.about.end()}")
            records.unlink()


def sampled_kinds(recorded: list[dict[str, Any]]) -> dict[str, base.ProbeKind]:
    """Return the kinds of the samples at `places`; of a queue the counters of its qdiscs."""
    names = dict.fromkeys(place["kind"] for place in recorded)
    return {name: KINDS[base.QDISC if name == base.QUEUE else name] for name in names}


def _interval(text: str, whole: str) -> Duration:
    try:
        interval = Duration.parse(text, "10 ms")
    except UnitError as error:
        raise ConfigError(str(error), _where(whole)) from error
    if not interval.nanoseconds:
        raise ConfigError("an interval of 0 never ends", _where(whole), "write e.g. '10 ms'")
    return interval


def _where(text: str) -> str:
    return f"--probe {text}"


def forms(between: str = ", ") -> str:
    """Return the syntax of each kind of probe."""
    return between.join(kind.form for kind in KINDS.values())
