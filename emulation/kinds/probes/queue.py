"""What is made of the records of a queue: the table of its packets, checked against counters."""

from __future__ import annotations

import csv
import json
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from ipaddress import IPv4Address
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from qdisclab.emulation.captures.places import Place
from qdisclab.emulation.errors import ConfigError
from qdisclab.emulation.kinds.probes import base, capture
from qdisclab.emulation.kinds.traffic.flent import Flent
from qdisclab.emulation.model.egress import Delay, Delays, Hierarchy, Shaper
from qdisclab.emulation.model.run import NO_LINK, Run
from qdisclab.emulation.model.topology import Port
from qdisclab.emulation.model.tree import Tree
from qdisclab.emulation.model.units import Duration

if TYPE_CHECKING:
    import pandas as pd

    from qdisclab.emulation.captures.counters import Totals
    from qdisclab.emulation.captures.drops import Rtts, Sent

#: Most packets of all places of a run, by its rates and length. A packet has two records, and the
#: one that answers it a third.
MOST_PACKETS, RECORDS_BYTES = 15_000_000, 3 * 96
FULL_BITS = 8 * 1514

#: Ends of the names of columns that count marks, in the series of qdiscs.
_MARKS = r"_(?:ecn_mark|ce_mark|marked|ecn_marked_packets)$"


def first_place(run: Run) -> list[base.Where]:
    """Return the first port under test on the way of the traffic's sender to its receiver."""
    tested, topology = capture.places(run), run.topology
    ends = run.traffic.ends(topology)
    way: list[base.Where] = [(of.node, of.interface) for of in topology.path(*ends)] if ends else []
    return next(([place] for place in way if place in tested), tested[:1])


def check_room(run: Run, places: Sequence[dict[str, Any]]) -> None:
    """Raise `ConfigError` if the packets of all queues among `places` would not fit."""
    ports = [port(run, (at["node"], at["interface"])) for at in places if at["kind"] == base.QUEUE]
    expected = sum(_expected_packets(run, each) for each in ports)
    most = min(MOST_PACKETS, shutil.disk_usage(tempfile.gettempdir()).free // RECORDS_BYTES)
    if expected > most:
        what = f"about {expected:,.0f} packets would pass, at most {most:,} can be recorded"
        raise ConfigError(what, run.id, "shorten the run (--length), or name fewer ports")


def _expected_packets(run: Run, at: Port) -> float:
    """Return how many full packets pass at most, by the rates of a port and of the bottleneck."""
    rates = [] if run.link is NO_LINK else [max(run.link.up, run.link.down)]
    match at.egress:
        case Shaper() | Hierarchy() | Delay() | Delays():
            rates.append(at.egress.rate)
        case Tree():
            rates.append(max(at.egress.rates()))
    slowest = min((rate.bits_per_second for rate in rates), default=0)
    return slowest * run.length.seconds / FULL_BITS


def port(run: Run, place: Place) -> Port:
    """Return the port at `place`, with what a run of this era does there."""
    ports = run.topology.ports()
    return next(each for each in ports if (each.node, each.interface) == place)


def write(run: Run, place: Place, records: Path, samples: pd.DataFrame) -> Path:
    """Write the table of the packets at `place`, beside their `records`, and return its path.

    `samples` are the counters of qdiscs that were sampled meanwhile. Raises `GuestFailure` if they,
    or those that the run read at its end, are not what the records say.
    """
    from qdisclab.emulation.captures import counters, packets

    at_end = json.loads((records.parent / "qdiscs.json").read_text())[" ".join(place)]["qdiscs"]
    here = port(run, place)
    (root,) = (each.qdisc.kind for each in here.egress.attached() if each.parent == "root")
    last = counters.totals(at_end)
    fifo = here.egress.attached()[-1].qdisc.about.drops_at_head
    passages = packets.follow(records, _totals(samples, place), last, root, place, fifo=fifo)
    rate = getattr(here.egress, "rate", None)
    about = {"node": here.node, "interface": here.interface}
    about |= {"rate_bit_s": str(rate.bits_per_second)} if rate is not None else {}
    table = records.with_suffix(".packets.parquet")
    packets.write(records, passages, root, table, about)
    return table


def _totals(table: pd.DataFrame, place: Place) -> list[Totals]:
    """Return the counters of the port at each sample."""
    from qdisclab.emulation.captures.counters import totals

    here = table[(table["node"] == place[0]) & (table["interface"] == place[1])]
    qdiscs = here.assign(
        packets=here["sent_packets"],
        qlen=here["backlog_packets"],
        marks=here.filter(regex=_MARKS).sum(axis=1).astype(int),
    )[["time_ns", "kind", "handle", "parent", "packets", "drops", "qlen", "marks"]]
    rows = cast("list[dict[str, Any]]", qdiscs.to_dict("records"))
    return [totals([*sample]) for _, sample in groupby(rows, itemgetter("time_ns"))]


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
    from qdisclab.emulation.captures import drops, packets

    table = packets.read(path)
    answers = packets.answers(path.with_suffix("").with_suffix(".queue"))
    for name in ("source", "target"):
        dotted = {number: str(IPv4Address(int(number))) for number in answers[name].unique()}
        answers = answers.assign(**{name: answers[name].map(dotted)})
    table = table[table["protocol"] > 0].reset_index(drop=True)
    left = table["fate"].isin(("sent", "marked"))
    table = table.assign(time_ns=table["in_ns"], left_ns=table["out_ns"].where(left).fillna(-1))
    numbers = dict.fromkeys(("time_ns", "left_ns", "protocol", "flags"), "int64")
    table = table.astype({**numbers, **dict.fromkeys(("source", "target"), str)})
    return drops.of_flows(table, answers, rtts(run))


def write_rows(form: Any, rows: Iterable[Any], table: Path) -> None:
    """Write `rows`, dataclasses of the type `form`, as CSV."""
    with table.open("w", newline="", encoding="utf-8") as file:
        names = [field.name for field in fields(form)]
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)
