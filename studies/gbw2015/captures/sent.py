"""What a port's queue was sent, from the table of its packets and from what came back."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import asdict, fields
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

from emulation.captures import packets
from emulation.kinds.traffic.flent import Flent
from emulation.model.run import Run
from emulation.model.units import Duration

from . import drops
from .drops import Rtts, Sent


def rtts(run: Run) -> Rtts:
    """Return the round trip of the empty path to each address, as far as the rig tells it."""
    topology, traffic = run.topology, run.traffic
    if isinstance(traffic, Flent) and run.base_rtts:
        return dict(zip(topology.port(traffic.server).ips, run.base_rtts, strict=True))
    ends = traffic.ends(topology)
    pairs = topology.pairs or ((ends,) if ends else ())
    by_address: dict[str, Duration] = {}
    for pair in pairs:
        try:
            rtt = topology.base_rtt(*pair)
        except ValueError:  # of a tree, which delays some packets
            continue
        by_address |= dict.fromkeys((ip for host in pair for ip in topology.port(host).ips), rtt)
    return by_address


def sent(run: Run, path: Path) -> Sent:
    """Return the IPv4 packets of the table at `path`, and what came from the other side."""
    table = packets.read(path)
    answers = packets.answers(path.with_suffix("").with_suffix(".queue"))
    for name in ("source", "target"):
        dotted = {number: str(IPv4Address(int(number))) for number in answers[name].unique()}
        answers = answers.assign(**{name: answers[name].map(dotted)})
    table = table[table["protocol"] > 0].reset_index(drop=True)
    left = table["fate"].isin(("sent", "marked"))
    texts = {name: table[name].astype(str) for name in ("source", "target")}
    numbers = {name: table[name].astype("int64") for name in ("protocol", "flags")}
    return drops.of_flows(
        table.assign(
            time_ns=table["in_ns"].astype("int64"),
            left_ns=table["out_ns"].where(left).fillna(-1).astype("int64"),
            **texts,
            **numbers,
        ),
        answers,
        rtts(run),
    )


def write_rows(form: Any, rows: Iterable[Any], table: Path) -> None:
    """Write `rows`, dataclasses of the type `form`, as CSV."""
    with table.open("w", newline="", encoding="utf-8") as file:
        names = [field.name for field in fields(form)]
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)
