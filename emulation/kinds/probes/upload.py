"""The packets that a run's sender sends through the queue under test on their way.

Every packet is followed from the sender's port to the queue's (`emulation.captures.drops`).
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emulation.errors import ConfigError
from emulation.kinds.probes.base import Where
from emulation.kinds.traffic.flent import Flent
from emulation.model.run import Run

if TYPE_CHECKING:
    from emulation.captures.drops import Rtts, Sent


def places(run: Run) -> list[Where]:
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
    return [sender, queue]


def sent(run: Run, out: Path, captures: Mapping[Where, Path]) -> Sent:
    """Return what the sender sent, from captures at `places` and the counters in `out`.

    Raises `GuestFailure` if the two do not agree.
    """
    from emulation.captures import drops  # pandas takes a second to import

    assert isinstance(run.traffic, Flent)
    at_sender, (node, interface) = places(run)
    assert interface is not None
    queue = (node, interface)
    at_queue = json.loads((out / "qdiscs.json").read_text())[" ".join(queue)]
    both = captures[at_sender], captures[queue]
    address = run.topology.port(run.traffic.client).ips[0]
    return drops.read(both, at_queue["qdiscs"][-1], queue, address, rtts(run))


def rtts(run: Run) -> Rtts:
    """Return the round trip of the empty path to each of the receiver's addresses."""
    assert isinstance(run.traffic, Flent)
    return dict(zip(run.topology.port(run.traffic.server).ips, run.base_rtts, strict=True))


def write(form: Any, rows: Iterable[Any], table: Path) -> None:
    """Write `rows`, dataclasses of the type `form`, as CSV."""
    with table.open("w", newline="", encoding="utf-8") as file:
        names = [field.name for field in fields(form)]
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)
