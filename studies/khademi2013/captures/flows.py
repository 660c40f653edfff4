"""TCP flows: each packet followed from its sender through the queue under test to its receiver."""

import json
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from qdisclab.emulation.captures.counters import Counters
from qdisclab.emulation.captures.flent import About
from qdisclab.emulation.captures.follow import Followed, follow
from qdisclab.emulation.errors import TrafficFailure
from qdisclab.emulation.model.topology import Topology

from . import rings
from .delivery import check_iperf, delivered_bytes, ended_flows
from .flight import flights
from .pings import read_pings
from .roundtrips import round_trips
from .table import FATES

SERVICE = 5001  # iperf's port


@dataclass(frozen=True)
class Reduced:
    """What is left of a run's captures after reduction."""

    packets: pd.DataFrame  # of table.COLUMNS
    delivered: NDArray[np.int64]  # [flow, step]: payload bytes new to the receiver
    counts: dict[str, Any]  # packets by fate, and what else was counted
    sampled: list[dict[str, Any]]  # counters of the qdisc under test once a second, `time_s` added
    pings: pd.DataFrame  # sent_ns (since the load began) and answer_ms (as ping printed it, or NaN)
    began_ns: int  # when the load began, since 1970


@dataclass(frozen=True)
class FlowPackets:
    """The packets of all flows, and what became of them.

    `queued` has one row per packet that came to the queue under test, with `flow` and, if it
    belongs to a synthetic packet pair, `rtt_ns`; `queue` has where each of them went.
    """

    queue: Followed
    queued: pd.DataFrame
    pairs: int
    delivered: NDArray[np.int64]
    totals: dict[tuple[int, int], int]  # payload bytes delivered, by address and port of the sender
    flight_bytes: dict[str, int]
    sampled: list[dict[str, Any]]
    pings: pd.DataFrame
    began_ns: int

    @property
    def sojourn_ns(self) -> pd.Series:
        """How long each packet was in the queue; NaN if it was dropped."""
        return self.queued["time_ns_then"] - self.queued["time_ns"]

    @property
    def fates(self) -> NDArray[np.int64]:
        """What became of each packet, an index of `table.FATES`."""
        return np.where(self.queue.sent, np.where(self.queue.marked, 1, 0), 2)

    def loaded(self, about: About) -> pd.Series:
        """Return which packets came during the load."""
        since_ns = self.queued["time_ns"].sub(self.began_ns)
        return since_ns.between(0, about.length.nanoseconds, inclusive="left")

    def counts(self) -> dict[str, Any]:
        """Return the numbers of packets by fate, and what was counted at the hosts."""
        by_fate = np.bincount(self.fates, minlength=len(FATES)).tolist()
        return {
            **dict(zip(FATES, by_fate, strict=True)),
            "pairs": self.pairs,
            "flows": len(self.totals),
            "payload_bytes": sum(self.totals.values()),
            "flight_bytes": self.flight_bytes,
        }


def read(
    out: Path, topology: Topology, about: About, flows: int, pinged: bool = False
) -> FlowPackets:
    """Follow the packets of `flows` flows, and of pings if it `pinged`, that a guest left in `out`.

    Each flow has a wired end, a sender of the pairs of `topology`; packets that go away from that
    end are followed through the queue. Raises `GuestFailure` where the captures and the counters of
    the qdisc, or the captures and what iperf counted, are not exactly equal.
    """
    (before, behind), hosts = topology.observed[:2], topology.observed[2:]
    tables = {
        place: rings.read_flows(rings.ring(out, place), SERVICE, pinged)
        for place in topology.observed
    }
    began_ns = int(json.loads((out / "iperf.json").read_text())["began_ns"])
    wired = {_address(topology, sender) for sender, _ in topology.pairs}
    offered, left = (_outward(tables[place], wired) for place in (before, behind))
    offered["flow"] = flow_numbers(offered)
    queue = follow(offered, left, "the queue")
    samples = rings.counters(out, behind)
    rings.check(samples, queue, behind)

    ends = {_address(topology, host): tables[host, interface] for host, interface in hosts}
    data, back = (
        with_exits(follow(*_at_ends(ends, forward=way), "the path")) for way in (True, False)
    )
    pairs = round_trips(data, back)
    rtt_ns = _rtt_by_queued_packet(pairs, data, back, wired)
    twin = offered["packet"].duplicated(keep=False)
    queued = with_exits(queue).assign(
        rtt_ns=rtt_ns.reindex(offered["packet"]).reset_index(drop=True).mask(twin)
    )
    of_tcp, offered_tcp = (table[table["port"] != rings.PING] for table in (data, offered))
    step_ns = about.step.nanoseconds
    delivered, totals = delivered_bytes(of_tcp, offered_tcp, began_ns, step_ns, about.steps)
    check_iperf(out, totals, ended_flows(of_tcp, totals))
    if len(delivered) != flows or not delivered.any():
        what = f"{len(delivered)} flows came to the queue, not {flows}"
        raise TrafficFailure(what, "captures", "look at iperf-*.log")
    outward = (
        table[table["sender"].isin(wired) & (table["port"] != rings.PING)] for table in (data, back)
    )
    return FlowPackets(
        queue,
        queued,
        len(rtt_ns),
        delivered,
        totals,
        flights(*outward),
        during(samples, began_ns),
        read_pings(out, data[data["port"] == rings.PING], began_ns),
        began_ns,
    )


def with_exits(followed: Followed) -> pd.DataFrame:
    """Return `before` with a column `time_ns_then`: `left_ns` with NaN in place of -1.

    If any is NaN, the column is floating point, which resolves such times to 128 ns.
    """
    left, sent = pd.Series(followed.left_ns), followed.sent
    return followed.before.assign(time_ns_then=left if sent.all() else left.where(sent))


def during(samples: list[Counters], began_ns: int) -> list[dict[str, Any]]:
    """Return the counters sampled during the load, without the qdisc's settings.

    `time_s` is the time since the load began.
    """
    left_out = ("time_ns", "handle", "parent", "kind", "options", "refcnt")
    return [
        {"time_s": round((sample["time_ns"] - began_ns) / 1e9, 6)}
        | {name: value for name, value in sample.items() if name not in left_out}
        for sample in samples[1:-1]
    ]


def flow_numbers(table: pd.DataFrame) -> NDArray[np.int64]:
    """Return each packet's flow, numbered by its sender's address and port; pings are last."""
    last = (table["port"] == rings.PING).rename("last")
    flows = table.groupby([last, "sender", "port"], sort=True).ngroup()
    return np.asarray(flows, dtype=np.int64)


def _address(topology: Topology, host: str) -> int:
    """Return the IPv4 address of `host` as a number, as tables have it."""
    return int(IPv4Address(topology.port(host).ip))


def _outward(table: pd.DataFrame, wired: set[int]) -> pd.DataFrame:
    """Return the packets from the `wired` hosts to the others: data and acknowledgments."""
    return table[table["forward"] == table["sender"].isin(wired)].reset_index(drop=True)


def _at_ends(
    tables: dict[int, pd.DataFrame], *, forward: bool
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return what all hosts sent and what all received in one direction of their flows.

    `tables` has the packets seen at each host, by its address.
    """
    sent, received = [], []
    for address, table in tables.items():
        table = table[table["forward"] == forward]
        own = table["sender"] == address
        sent.append(table[own == forward])
        received.append(table[own != forward])
    return pd.concat(sent, ignore_index=True), pd.concat(received, ignore_index=True)


def _rtt_by_queued_packet(
    pairs: pd.DataFrame, data: pd.DataFrame, back: pd.DataFrame, wired: set[int]
) -> pd.Series:
    """Return the round trip of each pair, indexed by its `packet` that goes through the queue.

    That packet begins the pair or, where the flow comes to a wired host, ends it. Packets of no
    socket can be equal, and then it is open which of them had the round trip.
    """
    outward = data["sender"].isin(wired)[pairs["begins"]].to_numpy()
    begins = data["packet"][pairs["begins"]].to_numpy()
    ends = back["packet"][pairs["ends"]].to_numpy()
    rtt_ns = pairs["rtt_ns"].set_axis(np.where(outward, begins, ends))
    return rtt_ns[~rtt_ns.index.duplicated(keep=False)]
