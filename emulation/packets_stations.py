"""Captures of wired hosts and WiFi stations, reduced to a table with a row a packet in the queue.

As `emulation.packets`, whose parts these are, with flows in both directions. What comes to the
queue under test on its way to the stations is data of the downlink and acknowledgments of the
uplink; of the latter a row's round trip is that of the synthetic packet pair that it ends.
"""

from __future__ import annotations

import json
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from emulation import packets_frames as frames
from emulation.errors import TrafficFailure
from emulation.model import Run
from emulation.packets import (
    SERVICE,
    Reduced,
    check_counters,
    check_iperf,
    delivered_bytes,
    ended_flows,
    flow_numbers,
    follow,
    qdisc_believed,
    read_counters,
    round_trips,
)
from emulation.packets_flight import flights
from emulation.packets_pings import read_pings
from emulation.packets_table import FATES, TICK_NS, summary

#: Times in the table are whole milliseconds: a run over WiFi has a third of a million packets.
ROUND_NS = 10 * TICK_NS

#: Of the counts, what goes to the stations and what comes from them.
DIRECTIONS = ("down", "up")


def reduce(run: Run, out: Path) -> Reduced:
    """Reduce what the guest left in `out`; raises as `packets.reduce`."""
    topology, traffic = run.topology, run.experiment.traffic
    (before, behind), hosts = topology.observed[:2], topology.observed[2:]
    tables = {
        place: frames.read(out / f"{place[0]}.{place[1]}{frames.SUFFIX}", SERVICE)
        for place in topology.observed
    }
    wired = {_address(run, sender) for sender, _ in topology.pairs}
    told = json.loads((out / "iperf.json").read_text())
    counters = read_counters(out, " ".join(behind))

    offered, left = (_to_stations(tables[place], wired) for place in (before, behind))
    offered["flow"] = flow_numbers(offered)
    queued = follow(offered, left, "the queue")
    sent = queued["time_ns_then"].notna()
    marked = sent & ~queued["ce"] & queued["ce_then"].fillna(False).astype(bool)
    check_counters(counters, left, dropped=int((~sent).sum()), marked=int(marked.sum()))

    began = int(told["began_ns"])
    data = follow(*_ends(run, tables, hosts, forward=True), "")
    back = follow(*_ends(run, tables, hosts, forward=False), "")
    pairs = round_trips(data, back)
    down = pairs[pairs["sender"].isin(wired)]
    up = back.loc[pairs["ends"], list(frames.KEY)].assign(rtt_ns=pairs["rtt_ns"].to_numpy())
    up = up[~up["sender"].isin(wired)]
    passed = pd.concat([down[[*frames.KEY, "rtt_ns"]], up])
    # Packets of no socket can be equal, and then it is open which of them had the round trip.
    passed = passed.drop_duplicates(list(frames.KEY), keep=False)
    keyed = queued[list(frames.KEY)].merge(passed, on=list(frames.KEY), how="left")
    keyed.loc[queued.duplicated(list(frames.KEY), keep=False).to_numpy(), "rtt_ns"] = np.nan
    sojourn_ns = queued["time_ns_then"] - queued["time_ns"]
    elsewhere_ns = keyed["rtt_ns"] - sojourn_ns - run.experiment.rig.base_rtt.nanoseconds
    table = pd.DataFrame(
        {
            "arrived_100us": _rounded(queued["time_ns"] - began),
            "left_100us": _rounded(queued["time_ns_then"] - began),
            "flow": queued["flow"],
            "length": queued["length"],
            "fate": np.where(sent, np.where(marked, 1, 0), 2),
            "elsewhere_100us": _rounded(elsewhere_ns),
        }
    )
    step_ns = traffic.step.nanoseconds
    steps = -(-run.length.nanoseconds // step_ns)
    delivered, totals = delivered_bytes(data, offered, began, step_ns, steps)
    check_iperf(out, totals, ended_flows(data, totals))
    assert traffic.flows is not None
    flows = traffic.flows * (2 if traffic.both_ways else 1)
    if len(delivered) != flows or not delivered.any():
        what = f"{len(delivered)} flows came to the queue, not {flows}"
        raise TrafficFailure(what, "captures", "look at iperf-*.log")
    loaded = queued["time_ns"].sub(began).between(0, run.length.nanoseconds, inclusive="left")
    downward = queued["flow"] < traffic.flows
    counts: dict[str, Any] = {
        name: int((table["fate"] == index).sum()) for index, name in enumerate(FATES)
    }
    counts |= {
        "pairs": len(passed),
        "flows": len(totals),
        "payload_bytes": int(sum(totals.values())),
        "flight_bytes": flights(*(one[one["sender"].isin(wired)] for one in (data, back))),
    }
    for name, chosen in zip(DIRECTIONS, (downward, ~downward), strict=True):
        if not chosen.any():
            continue
        inside = loaded & chosen
        counts[name] = {
            "sent": int((sent & chosen).sum()),
            "dropped": int((~sent & chosen).sum()),
            "sojourn_us": summary(sojourn_ns[inside].to_numpy(dtype=float)),
            "rtt_us": summary(keyed.loc[inside, "rtt_ns"].to_numpy(dtype=float)),
        }
    counts |= {name: counts["down"][name] for name in ("sojourn_us", "rtt_us")}
    no_pings = read_pings(out, data.iloc[:0], began)
    return Reduced(table, delivered, counts, qdisc_believed(counters, began), no_pings, began)


def _address(run: Run, host: str) -> int:
    """The IPv4 address of `host` as a number, as tables have it."""
    return int(IPv4Address(run.topology.port(host).ip))


def _to_stations(table: pd.DataFrame, wired: set[int]) -> pd.DataFrame:
    """What goes from the `wired` hosts to the stations: data, and acknowledgments of theirs."""
    return table[table["forward"] == table["sender"].isin(wired)].reset_index(drop=True)


def _ends(
    run: Run,
    tables: dict[tuple[str, str], pd.DataFrame],
    hosts: tuple[tuple[str, str], ...],
    *,
    forward: bool,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """What all hosts sent of one direction of their flows, and what all hosts received of it."""
    sent, received = [], []
    for host in hosts:
        table = tables[host]
        table = table[table["forward"] == forward]
        own = table["sender"] == _address(run, host[0])
        sent.append(table[own == forward])
        received.append(table[own != forward])
    return tuple(pd.concat(parts, ignore_index=True) for parts in (sent, received))  # type: ignore[return-value]


def _rounded(time_ns: pd.Series) -> pd.Series:
    """In ticks of the table, rounded down to `ROUND_NS`."""
    return time_ns // ROUND_NS * (ROUND_NS // TICK_NS)
