"""Captures of a run, reduced to a table with a row a packet that came to the queue under test.

Packets are told apart by flow, IP identification, sequence and acknowledgment numbers, so that each
is followed from its sender through the queue to its receiver. Because observing takes no virtual
time, a sojourn time is exact.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emulation import packets_frames as frames
from emulation.errors import GuestFailure, TrafficFailure
from emulation.model import Run
from emulation.packets_flight import flights
from emulation.packets_pings import read_pings
from emulation.packets_table import FATES, TICK_NS, summary, write

__all__ = ["Reduced", "pcap", "reduce", "write"]

SERVICE = 5001  # iperf's port
HANDLE = "10:"  # of the qdisc under test


@dataclass(frozen=True)
class Reduced:
    """What a run's captures come to."""

    packets: pd.DataFrame  # of packets_table.COLUMNS
    delivered: NDArray[np.int64]  # [flow, step]: payload bytes new to the receiver
    counts: dict[str, Any]  # packets by fate, and what else was counted
    believed: list[dict[str, Any]]  # counters of the qdisc under test once a second, `time_s` added
    pings: pd.DataFrame  # sent_ns (since the load began) and answer_ms, as ping printed it, or NaN
    began_ns: int  # when the load began, since 1970


def reduce(run: Run, out: Path) -> Reduced:
    """Reduce what the guest left in `out`.

    Raises `GuestFailure` where the captures and the counters of the qdisc, or the captures and
    what iperf counted, are not exactly equal.
    """
    topology = run.topology
    (before, behind), hosts = topology.observed[:2], topology.observed[2:]
    pinged = run.experiment.traffic.ping_interval is not None
    tables = {
        place: frames.read(out / f"{place[0]}.{place[1]}{frames.SUFFIX}", SERVICE, pinged)
        for place in topology.observed
    }
    senders = [host for host in hosts if host[0] in {pair[0] for pair in topology.pairs}]
    receivers = [host for host in hosts if host not in senders]
    told = json.loads((out / "iperf.json").read_text())
    counters = read_counters(out, " ".join(behind))

    offered = _directed(tables[before], forward=True)
    offered["flow"] = flow_numbers(offered)
    left = _directed(tables[behind], forward=True)
    queued = follow(offered, left, "the queue")
    sent = queued["time_ns_then"].notna()
    marked = sent & ~queued["ce"] & queued["ce_then"].fillna(False).astype(bool)
    check_counters(counters, left, dropped=int((~sent).sum()), marked=int(marked.sum()))

    began = int(told["began_ns"])
    data = pd.concat([_directed(tables[host], forward=True) for host in senders])
    data = follow(
        data, pd.concat([_directed(tables[host], forward=True) for host in receivers]), ""
    )
    back = pd.concat([_directed(tables[host], forward=False) for host in receivers])
    back = follow(back, pd.concat([_directed(tables[host], forward=False) for host in senders]), "")
    pairs = round_trips(data, back)
    keyed = queued[list(frames.KEY)].merge(pairs, on=list(frames.KEY), how="left")
    sojourn_ns = queued["time_ns_then"] - queued["time_ns"]
    elsewhere_ns = keyed["rtt_ns"] - sojourn_ns - run.experiment.rig.base_rtt.nanoseconds
    table = pd.DataFrame(
        {
            "arrived_100us": (queued["time_ns"] - began) // TICK_NS,
            "left_100us": (queued["time_ns_then"] - began) // TICK_NS,
            "flow": queued["flow"],
            "length": queued["length"],
            "fate": np.where(sent, np.where(marked, 1, 0), 2),
            "elsewhere_100us": (elsewhere_ns / TICK_NS).round(),
        }
    )
    steps = -(-run.length.nanoseconds // run.experiment.traffic.step.nanoseconds)
    of_flows = data["port"] != frames.PING
    delivered, totals = delivered_bytes(
        data[of_flows],
        offered[offered["port"] != frames.PING],
        began,
        run.experiment.traffic.step.nanoseconds,
        steps,
    )
    check_iperf(out, totals, ended_flows(data[of_flows], totals))
    counts: dict[str, Any] = {
        name: int((table["fate"] == index).sum()) for index, name in enumerate(FATES)
    }
    counts |= {
        "pairs": len(pairs),
        "flows": len(totals),
        "payload_bytes": int(sum(totals.values())),
        "flight_bytes": flights(data[of_flows], back[back["port"] != frames.PING]),
    }
    if len(delivered) != run.experiment.traffic.flows or not delivered.any():
        what = f"{len(delivered)} flows came to the queue, not {run.experiment.traffic.flows}"
        raise TrafficFailure(what, "captures", "look at iperf-*.log")
    loaded = queued["time_ns"].sub(began).between(0, run.length.nanoseconds, inclusive="left")
    loaded &= queued["port"] != frames.PING
    counts["sojourn_us"] = summary(sojourn_ns[loaded].to_numpy(dtype=float))
    counts["rtt_us"] = summary(keyed.loc[loaded, "rtt_ns"].to_numpy(dtype=float))
    pings = read_pings(out, data[~of_flows], began)
    if pinged:
        counts |= {"pings": len(pings), "pings_answered": int(pings["answer_ms"].notna().sum())}
    return Reduced(table, delivered, counts, qdisc_believed(counters, began), pings, began)


def pcap(out: Path, name: str) -> bytes:
    """The capture `name` of what a guest left in `out`, as a gzipped pcap file."""
    return frames.to_pcap(out / f"{name}{frames.SUFFIX}")


def round_trips(data: pd.DataFrame, back: pd.DataFrame) -> pd.DataFrame:
    """Round trips by synthetic packet pairs (Zander and Armitage, LCN 2013).

    `data` and `back` have a packet a row, with `time_ns` where it was sent and `time_ns_then` where
    it arrived, NaN where it did not. What a receiver sends is paired with the last packet of its
    flow that had arrived by then, and each packet begins at most one pair, the first; the time
    between the two at the receiver is not part of the round trip. Returns `KEY` of the packet that
    begins the pair, rtt_ns, and `ends`, the label in `back` of the packet that ends it.
    """
    there = data.dropna(subset="time_ns_then").astype({"time_ns_then": "int64"})
    there = there.sort_values("time_ns_then", kind="stable").reset_index(drop=True)
    here = back.dropna(subset="time_ns_then").astype({"time_ns_then": "int64"})
    here = here.sort_values("time_ns", kind="stable")
    here["ends"] = here.index
    matched = pd.merge_asof(
        here[["sender", "port", "time_ns", "time_ns_then", "ends"]],
        there[["sender", "port", "time_ns_then"]]
        .rename(columns={"time_ns_then": "arrived_ns"})
        .assign(row=there.index),
        left_on="time_ns",
        right_on="arrived_ns",
        by=["sender", "port"],
    ).dropna(subset="row")
    matched = matched.drop_duplicates("row", keep="first").astype({"row": "int64"})
    first = there.loc[matched["row"]].reset_index(drop=True)
    returned = (matched["time_ns_then"] - matched["time_ns"]).to_numpy()
    pairs = first[list(frames.KEY)].copy()
    pairs["rtt_ns"] = (first["time_ns_then"] - first["time_ns"]).to_numpy() + returned
    pairs["ends"] = matched["ends"].to_numpy()
    return pairs


def new_bytes(start: NDArray[np.int64], size: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many bytes of each segment had not arrived before.

    `start` is the offset of its first byte in the stream, `size` its bytes, in the order of
    arrival.
    """
    new = np.zeros(len(start), dtype=np.int64)
    top, holes = 0, []  # what begins at `top`, or lies in a hole, has not arrived
    for row, (first, end) in enumerate(zip(start.tolist(), (start + size).tolist(), strict=True)):
        if end > top:
            if first > top:
                holes.append((top, first))
            new[row] = end - max(first, top)
            top = end
        if first < top and holes:
            filled = [(max(a, first), min(b, end)) for a, b in holes if a < end and first < b]
            if filled:
                new[row] += sum(b - a for a, b in filled)
                holes = [
                    piece
                    for a, b in holes
                    for piece in ((a, min(b, first)), (max(a, end), b))
                    if piece[0] < piece[1]
                ]
    return new


def _directed(table: pd.DataFrame, *, forward: bool) -> pd.DataFrame:
    return table[table["forward"] == forward].reset_index(drop=True)


def flow_numbers(table: pd.DataFrame) -> NDArray[np.int64]:
    """The number of each packet's flow, by address and port of its sender; pings are the last."""
    last = (table["port"] == frames.PING).rename("last")
    flows = table.groupby([last, "sender", "port"], sort=True).ngroup()
    return np.asarray(flows, dtype=np.int64)


def follow(seen: pd.DataFrame, then: pd.DataFrame, where: str) -> pd.DataFrame:
    """`seen` with time_ns_then and ce_then of the same packets in `then`, else NaN.

    Packets without an identification (those of no socket, such as a second SYN-ACK) can be equal in
    all of `KEY`: each that comes out is then taken for the latest equal one that went in before.
    Raises `GuestFailure` where packets come out of `where` that did not go in.
    """
    key = list(frames.KEY)
    first = seen.assign(twin=seen.groupby(key).cumcount())
    second = then.assign(twin=0).reset_index(drop=True)
    twins = first[first.duplicated(key, keep=False)]
    for values, group in twins.groupby(key):
        out = second[(second[key] == list(values)).all(axis=1)].sort_values("time_ns")
        for row, place in latest(group["time_ns"].to_numpy(), out["time_ns"].to_numpy()):
            second.loc[out.index[row], "twin"] = group["twin"].iloc[place]
    key = [*key, "twin"]
    both = first.merge(second[[*key, "time_ns", "ce"]], on=key, how="left", suffixes=("", "_then"))
    if both["time_ns_then"].notna().sum() != len(then) or len(both) != len(seen):
        raise GuestFailure("packets come out that did not go in", where)
    return both.drop(columns="twin")


def latest(went_in: NDArray[np.int64], came_out: NDArray[np.int64]) -> list[tuple[int, int]]:
    """(index in `came_out`, index in `went_in`): to each the latest that no later one has taken."""
    pairs, free = [], len(went_in)
    for index in range(len(came_out) - 1, -1, -1):
        free = min(free, int(np.searchsorted(went_in, came_out[index], side="right"))) - 1
        pairs.append((index, free))
    return pairs


def read_counters(out: Path, port: str) -> list[dict[str, Any]]:
    """The counters of the qdisc under test, with `time_ns`: before, once a second, afterwards."""
    found = []
    for sample in json.loads((out / "counters.json").read_text()):
        (qdisc,) = [one for one in sample["qdiscs"][port] if one["handle"] == HANDLE]
        found.append({**qdisc, "time_ns": sample["time_ns"]})
    return found


def marks(qdisc: dict[str, Any]) -> int:
    """How many packets a qdisc has marked: red's name for it is another one."""
    return int(qdisc.get("ecn_mark", qdisc.get("marked", 0)))


def check_counters(
    counters: list[dict[str, Any]], left: pd.DataFrame, dropped: int, marked: int
) -> None:
    """Raise `GuestFailure` unless the qdisc counted exactly what was captured."""
    first, last = counters[0], counters[-1]
    captured = {
        "packets": len(left),
        "bytes": int(left["length"].sum()),
        "drops": dropped,
        "marks": marked,
    }
    counted = {name: last[name] - first[name] for name in ("packets", "bytes", "drops")}
    counted["marks"] = marks(last) - marks(first)
    differ = [
        f"{counted[name]} {name}, captured {value}"
        for name, value in captured.items()
        if counted[name] != value
    ]
    if last["qlen"] or first["qlen"]:
        differ.append(f"{first['qlen']} packets before and {last['qlen']} afterwards in the queue")
    if differ:
        raise GuestFailure(f"{last['kind']} counted " + "; ".join(differ), "captures")


def delivered_bytes(
    data: pd.DataFrame, offered: pd.DataFrame, began_ns: int, step_ns: int, steps: int
) -> tuple[NDArray[np.int64], dict[tuple[int, int], int]]:
    """New payload bytes by flow and step, and the total of each flow that ever reached its
    receiver, by address and port."""
    named = offered.drop_duplicates("flow")
    numbers = {
        (int(sender), int(port)): int(flow)
        for sender, port, flow in named[["sender", "port", "flow"]].to_numpy()
    }
    delivered = np.zeros((len(numbers), steps), dtype=np.int64)
    totals: dict[tuple[int, int], int] = {}
    arrived = data.dropna(subset="time_ns_then").sort_values("time_ns_then", kind="stable")
    for (sender, port), number in numbers.items():
        packets = arrived[(arrived["sender"] == sender) & (arrived["port"] == port)]
        begin = packets.loc[(packets["flags"] & frames.SYN) != 0, "seq"]
        if begin.empty and packets.empty:
            continue  # the queue dropped each of its SYNs
        if begin.empty:
            raise TrafficFailure(f"flow {number} has no SYN", "captures", "look at iperf-*.log")
        with_data = packets[packets["payload"] > 0]
        offset = ((with_data["seq"] - begin.iloc[0] - 1) % 2**32).to_numpy()
        new = new_bytes(offset, with_data["payload"].to_numpy())
        step = ((with_data["time_ns_then"].to_numpy() - began_ns) // step_ns).astype(int)
        inside = step < steps
        np.add.at(delivered[number], step[inside], new[inside])
        totals[sender, port] = int(new.sum())
    return delivered, totals


def ended_flows(data: pd.DataFrame, totals: dict[tuple[int, int], int]) -> set[tuple[int, int]]:
    """Those of the flows of `totals` whose end, a FIN behind all their bytes, has arrived."""
    arrived = data.dropna(subset="time_ns_then")
    found = set()
    for flow, total in totals.items():
        packets = arrived[(arrived["sender"] == flow[0]) & (arrived["port"] == flow[1])]
        begin = packets.loc[(packets["flags"] & frames.SYN) != 0, "seq"]
        last = packets[(packets["flags"] & frames.FIN) != 0]
        if begin.empty or last.empty:
            continue
        bytes_before = (last["seq"] + last["payload"] - begin.iloc[0] - 1) % 2**32
        if (bytes_before == total).any():
            found.add(flow)
    return found


def check_iperf(out: Path, totals: dict[tuple[int, int], int], ended: set[tuple[int, int]]) -> None:
    """Raise `GuestFailure` unless iperf's servers have read exactly what was delivered.

    `totals` has the bytes by address of the sender, as a number, and its port. A server reports a
    flow at its end, so that it need not have reported one that is none of those that have `ended`:
    where even a FIN is lost again and again, the run is over before.
    """
    read = {}
    for path in sorted(out.glob("iperf-*.csv")):
        for line in path.read_text().splitlines():
            words = line.split(",")
            if len(words) < 8:  # what it says when no further flow comes
                continue
            address = int.from_bytes(bytes(map(int, words[1].split("."))), "big")
            read[address, int(words[2])] = int(words[7])
    differ = [
        f"{totals.get(flow)} and {read.get(flow)}"
        for flow in sorted(totals | read)
        if totals.get(flow) != read.get(flow) and (flow in read or flow in ended)
    ]
    if differ:
        raise GuestFailure(
            "bytes delivered and read by iperf differ: " + "; ".join(differ), "iperf"
        )


def qdisc_believed(counters: list[dict[str, Any]], began_ns: int) -> list[dict[str, Any]]:
    """What the qdisc said of itself during the load, without what says how it is set."""
    left_out = ("time_ns", "handle", "parent", "kind", "options", "refcnt")
    return [
        {
            "time_s": round((one["time_ns"] - began_ns) / 1e9, 6),
            **{name: value for name, value in one.items() if name not in left_out},
        }
        for one in counters[1:-1]
    ]
