"""Tables of the packets that a run's sender sends through the queue under test on their way.

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
from emulation.kinds.traffic.flent import Flent
from emulation.model.run import Run
from emulation.model.units import Duration

#: The qdisc that decides on a packet when its turn comes; the others decide when it arrives.
AT_HEAD = "codel"


def places(run: Run) -> tuple[Place, Place]:
    """Return the sender's port, and the first port under test on the way to the receiver.

    Raises `ConfigError` if the run does not have two such ports.
    """
    traffic, topology = run.traffic, run.topology
    if not isinstance(traffic, Flent) or not run.base_rtts:
        what = "packets can be followed only if flent sends over a path whose base RTT is known"
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
    """Raise `ConfigError` if the table `kind` cannot be made for `run`."""
    places(run)
    if kind == "startup":
        _target(run)


def write(kind: str, run: Run, out: Path, captures: tuple[Path, Path], table: Path) -> None:
    """Write the table of a kind in TABLES, from `captures` at `places` and the counters in `out`.

    Raises `GuestFailure` if captures and counters do not agree.
    """
    _, queue = places(run)
    at_queue = json.loads((out / "qdiscs.json").read_text())[" ".join(queue)]
    counted = at_queue["qdiscs"][-1]
    sent = drops.read(captures, counted, queue, _sender(run), _rtts(run))
    row_type, rows = TABLES[kind]
    with table.open("w", newline="", encoding="utf-8") as file:
        names = [field.name for field in fields(row_type)]
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows(run, sent))


def _drops(run: Run, sent: Sent) -> Iterable[drops.Row]:
    return drops.rows(sent, _rtts(run))


def _startup(run: Run, sent: Sent) -> Iterable[startup.Row]:
    return startup.rows(sent, _target(run), run.point.up.kind == AT_HEAD, run.length)


#: Kind of probe -> the type of its table's rows, and the function that makes them.
TABLES: Mapping[str, tuple[Any, Callable[[Run, Sent], Iterable[Any]]]] = {
    "drops": (drops.Row, _drops),
    "startup": (startup.Row, _startup),
}


def _target(run: Run) -> Duration:
    target = dict(run.point.up.options).get("target")
    if not isinstance(target, Duration):
        what = f"'{run.qdisc}' has no target with which its start could be compared"
        raise ConfigError(what, run.id, "choose codel or pie, or the probe 'drops'")
    return target


def _sender(run: Run) -> str:
    assert isinstance(run.traffic, Flent)
    return run.topology.port(run.traffic.client).ips[0]


def _rtts(run: Run) -> Rtts:
    """Return the round trip of the empty path to each of the receiver's addresses."""
    assert isinstance(run.traffic, Flent)
    return dict(zip(run.topology.port(run.traffic.server).ips, run.base_rtts, strict=True))
