"""Tables of what a run's sender sends through the queue under test on its way.

Every packet is followed from the sender's port to the queue's (`emulation.captures.drops`).
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from emulation.captures import drops, startup
from emulation.captures.drops import Rtts, Sent
from emulation.captures.places import Place
from emulation.errors import ConfigError
from emulation.model.run import Run
from emulation.model.units import Duration
from emulation.traffic import Flent

#: Decides on a packet as its turn comes; the other qdiscs decide as it arrives.
AT_HEAD = "codel"


def places(run: Run) -> tuple[Place, Place]:
    """The sender's port, and that of the first queue under test on the way to the receiver.

    Raises `ConfigError` where there are no two such ports.
    """
    traffic, topology = run.traffic, run.topology
    if not isinstance(traffic, Flent) or not run.base_rtts:
        what = "packets are followed where flent sends over a path whose base RTT is known"
        raise ConfigError(what, run.id, "leave this probe out, or record 'capture'")
    sender = (traffic.client, topology.port(traffic.client).interface)
    tested = {(port.node, port.interface) for port in topology.queues()}
    path = [(port.node, port.interface) for port in topology.path(traffic.client, traffic.server)]
    queue = next((place for place in path if place in tested), sender)
    if queue == sender:
        what = f"no queue under test behind the port of {traffic.client}"
        raise ConfigError(what, run.id, "leave this probe out, or record 'capture'")
    return sender, queue


def check(kind: str, run: Run) -> None:
    """Raise `ConfigError` where `run` cannot have the table `kind`."""
    places(run)
    if kind == "startup":
        _target(run)


def write(kind: str, run: Run, out: Path, captures: tuple[Path, Path], table: Path) -> None:
    """Write the table `kind` of TABLES of what a guest left in `out`: its counters, and `captures`
    at `places`.

    Raises `GuestFailure` where captures and counters do not agree.
    """
    _, queue = places(run)
    told = json.loads((out / "qdiscs.json").read_text())[" ".join(queue)]
    counted = told["qdiscs"][-1]
    sent = drops.read(captures, counted, queue, _sender(run), _rtts(run))
    row, rows = TABLES[kind]
    with table.open("w", newline="", encoding="utf-8") as file:
        names = [field.name for field in fields(row)]
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(found) for found in rows(run, sent))


def _drops(run: Run, sent: Sent) -> Iterable[drops.Row]:
    return drops.rows(sent, _rtts(run))


def _startup(run: Run, sent: Sent) -> Iterable[startup.Row]:
    return startup.rows(sent, _target(run), run.point.up.kind == AT_HEAD, run.length)


#: Probe -> what a row of its table is, and what makes the rows.
TABLES: Mapping[str, tuple[Any, Callable[[Run, Sent], Iterable[Any]]]] = {
    "drops": (drops.Row, _drops),
    "startup": (startup.Row, _startup),
}


def _target(run: Run) -> Duration:
    target = dict(run.point.up.options).get("target")
    if not isinstance(target, Duration):
        what = f"'{run.qdisc}' has no target that its start could be compared with"
        raise ConfigError(what, run.id, "choose codel or pie, or the probe 'drops'")
    return target


def _sender(run: Run) -> str:
    assert isinstance(run.traffic, Flent)
    return run.topology.port(run.traffic.client).ips[0]


def _rtts(run: Run) -> Rtts:
    """The round trip of the empty path to each of the receiver's addresses."""
    assert isinstance(run.traffic, Flent)
    return dict(zip(run.topology.port(run.traffic.server).ips, run.base_rtts, strict=True))
