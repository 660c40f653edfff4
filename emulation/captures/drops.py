"""What a host sends through a queue, by kind of packets: which are dropped and how long they wait.

A packet that the host sends and that does not leave the bottleneck was dropped in its queue:
nothing else on the way drops any.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from itertools import chain, groupby
from math import ceil
from pathlib import Path
from statistics import fmean, median
from typing import Any

import pandas as pd

from emulation.captures import counters, frames
from emulation.captures.follow import follow, in_order
from emulation.captures.places import Place
from emulation.model.units import Duration

#: Payload of a flow in bytes above which it is an upload; the others acknowledge or control.
UPLOAD_BYTES = 100_000
#: Packets without payload above which a flow acknowledges a download.
MANY = 100
#: What a packet sets off is sent at once, as computing takes no time: a retransmission with no
#: packet of its flow so long before was set off by a timer.
AT_ONCE_NS = 1_000_000
#: The retransmission timer waits for a round trip and at least so long besides (TCP_RTO_MIN).
RTO_MIN_NS = 200_000_000

#: Of what the qdisc drops, at most so much is the router's own: it asks for the next one's address.
ARP_PART = 0.005

#: Payload of a full packet of TCP, at least.
FULL_BYTES = 1400
#: Round trips without a drop after which a flow of 1 Mbit/s has its window back: CUBIC needs
#: cbrt(0.3 x 40 / 0.4) = 3.1 s for one of 40 packets; a round trip takes 1 s, with a full queue.
RECOVERY = 4
#: Kinds of packets of which a flow sends few.
SPARSE = ("probe", "voip")

HTTP, DNS, DITG, IPERF = 80, 53, 9001, 5001
_UDP_KINDS = {DNS: "name", DITG: "voip", IPERF: "flood"}  # by port of the server
LOOPBACK = 127

#: What tells a flow from the host's others.
FLOW = ["protocol", "target", "source_port", "target_port"]

Rtts = Mapping[str, Duration]  # address -> round trip of the empty path to it


@dataclass(frozen=True)
class Row:
    """One kind of packets; what a kind does not have is 0."""

    kind: str  # `upload, 10 ms`, `acknowledgment`, `syn`, `web`, `name`, `voip`, `flood`, `probe`,
    # `control`
    flows: int
    packets: int
    dropped: int
    bursts: int  # runs of packets of one flow dropped one after the other
    longest_burst: int
    events: int  # drops of one flow within a base round trip are one
    wait_ms: float  # in the queue and on the link, mean of the packets that left
    longest_wait_ms: float  # the flow's with the largest mean
    timeouts: int  # of the retransmission timer
    timeouts_in_a_row: int  # at most, without anything acknowledged between
    connections: int  # syn: that were tried
    late_connections: int  # syn: whose first SYN was dropped
    behind_packets: float  # full packets of other flows that leave while one of a flow waits: 99th
    # percentile, median of the flows
    first_series: int  # congestion events in a row, from the first on, of the flow with most


@dataclass(frozen=True)
class Sent:
    """What a host sent through a queue, and what came back.

    `packets`: one row per packet in its order, of `frames.decode`, with `left_ns` (when it left the
    queue; -1: it was dropped), `flow` (its number) and `kind`; `answers`: of a flow's number, when
    each packet of TCP came that answers it, and its acknowledgment number.
    """

    packets: pd.DataFrame
    answers: dict[Any, list[tuple[int, int]]]


def read(
    captures: tuple[Path, Path], counted: dict[str, Any], queue: Place, address: str, rtts: Rtts
) -> Sent:
    """What the host at `address` sent, from `captures` at its port and behind the `queue`, whose
    qdisc `counted` this. `rtts` has the addresses that it sends to.

    Raises `GuestFailure` where the captures and the counters do not agree.
    """
    ours, behind = (frames.decode(frames.read(path)) for path in captures)
    number = int(IPv4Address(address))
    before, left = (_sent_by(table, number) for table in (ours, behind))
    followed = follow(before, left, "the queue", in_order)
    counters.check_drops(counted, followed, queue, ARP_PART)
    packets = followed.before.assign(left_ns=followed.left_ns)
    return of_flows(packets, _answers(ours, number), rtts)


def of_flows(packets: pd.DataFrame, answers: pd.DataFrame, rtts: Rtts) -> Sent:
    """`packets` with their flows and kinds, and the `answers` of each flow: packets of TCP that
    came back."""
    packets = packets.assign(flow=packets.groupby(FLOW, sort=False).ngroup())
    packets["kind"] = packets["flow"].map(kinds(packets, rtts))
    ends = ["protocol", "source", "target_port", "source_port"]  # as `FLOW`, from the other side
    flows = packets[[*FLOW, "flow"]].drop_duplicates("flow")
    known = answers[[*ends, "time_ns", "ack"]].set_axis([*FLOW, "time_ns", "ack"], axis=1)
    by_flow = known.merge(flows, on=FLOW).groupby("flow")
    return Sent(packets, {flow: _listed(found, "time_ns", "ack") for flow, found in by_flow})


def kinds(packets: pd.DataFrame, rtts: Rtts) -> dict[int, str]:
    """What each flow is, by its number."""
    by_flow = packets.groupby("flow").agg(
        protocol=("protocol", "first"),
        target=("target", "first"),
        port=("target_port", "first"),
        payload=("payload", "sum"),
        count=("payload", "size"),
    )
    kinds = [_kind(flow, rtts) for flow in by_flow.itertuples()]
    return dict(zip(by_flow.index.tolist(), kinds, strict=True))


def _kind(flow: Any, rtts: Rtts) -> str:
    if flow.protocol == frames.UDP:
        return _UDP_KINDS.get(flow.port, "probe")
    if flow.protocol != frames.TCP:
        return "probe"
    if flow.port == HTTP:
        return "web"
    if flow.payload > UPLOAD_BYTES:
        return "upload" if len(rtts) == 1 else f"upload, {rtts.get(_dotted(flow.target))}"
    return "acknowledgment" if flow.count > MANY else "control"


def timeouts(
    sent: Sequence[tuple[int, int, int]], answered: Sequence[tuple[int, int]], base_rtt_ns: int
) -> tuple[int, int]:
    """Timeouts of one flow, and the most of them in a row without an acknowledgment between.

    `sent` has (time, sequence number, payload) of each packet, `answered` (time, acknowledgment
    number). After a timeout the oldest segment is sent again, at least TCP_RTO_MIN and a round trip
    after something new was acknowledged or the same timer went off. RACK's timer, which marks
    segments lost that were sent a round trip and a quarter before one that arrived, is faster.
    """
    found = row = longest = place = 0
    top = oldest = None
    came_ns = since_ns = sent[0][0] if sent else 0
    for time_ns, seq, payload in sent:
        while place < len(answered) and answered[place][0] <= time_ns:
            came_ns, number = answered[place]
            place += 1
            if oldest is None or _before(oldest, number):
                oldest, since_ns, row = number, came_ns, 0
        if not payload:
            continue
        end = seq + payload
        if top is None or _before(top, end):
            top = end
        elif (
            seq == oldest
            and time_ns - came_ns > AT_ONCE_NS
            and time_ns - since_ns >= RTO_MIN_NS + base_rtt_ns
        ):
            found, row, since_ns = found + 1, row + 1, time_ns
            longest = max(longest, row)
    return found, longest


def _before(a: int, b: int) -> bool:
    """Whether the sequence number `a` comes before `b` (RFC 9293, 3.4)."""
    return a != b and (b - a) % 2**32 < 2**31


def events(dropped_ns: list[int], base_rtt_ns: int) -> int:
    """How many groups of drops there are, each no longer than a base round trip."""
    found, first = 0, None
    for time_ns in dropped_ns:
        if first is None or time_ns - first > base_rtt_ns:
            found, first = found + 1, time_ns
    return found


def first_series(dropped_ns: list[int], round_trip_ns: float) -> int:
    """How many congestion events there are from the first drop on until the flow has RECOVERY round
    trips without one; drops within a round trip are one event."""
    found, first, last = 0, 0, None
    for time_ns in dropped_ns:
        if last is not None and time_ns - last > RECOVERY * round_trip_ns:
            break
        if last is None or time_ns - first > round_trip_ns:
            found, first = found + 1, time_ns
        last = time_ns
    return found


def behind(waits: list[tuple[int, int]], full_ns: list[int]) -> float:
    """How many of the packets that left at `full_ns`, in order, left while a packet waited, which
    came and left at `waits`: the 99th percentile."""
    if not waits:
        return 0.0
    counts = sorted(
        bisect_left(full_ns, left) - bisect_right(full_ns, came) for came, left in waits
    )
    return float(counts[ceil(0.99 * len(counts)) - 1])


def rows(sent: Sent, rtts: Rtts) -> Iterator[Row]:
    """One row per kind of packets."""
    packets = sent.packets
    syn = (packets["kind"] == "web") & ((packets["flags"] & frames.SYN) != 0)
    left = packets[packets["left_ns"] >= 0].sort_values("left_ns", kind="stable")
    full = left[left["kind"].str.startswith("upload") & (left["payload"] > FULL_BYTES)]
    for kind, of_kind in packets.groupby(packets["kind"].mask(syn, "syn")):
        flows = [_Flow(number, of_it, rtts) for number, of_it in of_kind.groupby("flow")]
        fired = [flow.timeouts(sent.answers.get(flow.number, [])) for flow in flows]
        bursts = [len(list(group)) for flow in flows for lost, group in groupby(flow.lost) if lost]
        is_syn = kind == "syn"
        yield Row(
            kind=kind,
            flows=len(flows),
            packets=len(of_kind),
            dropped=sum(bursts),
            bursts=len(bursts),
            longest_burst=max(bursts, default=0),
            events=sum(events(flow.dropped_ns, flow.base_rtt_ns) for flow in flows),
            wait_ms=round(_mean(chain.from_iterable(flow.waits_ms for flow in flows)), 3),
            longest_wait_ms=round(max(_mean(flow.waits_ms) for flow in flows), 3),
            timeouts=sum(count for count, _ in fired),
            timeouts_in_a_row=max(most for _, most in fired),
            connections=len(flows) if is_syn else 0,
            late_connections=sum(flow.lost[0] for flow in flows) if is_syn else 0,
            behind_packets=median(
                behind(flow.stays, full.loc[full["flow"] != flow.number, "left_ns"].tolist())
                for flow in flows
            )
            if kind in SPARSE
            else 0.0,
            first_series=max(
                first_series(flow.dropped_ns, flow.base_rtt_ns + 1e6 * _mean(flow.waits_ms))
                for flow in flows
            )
            if kind.startswith("upload")
            else 0,
        )


class _Flow:
    """The packets of one kind of a flow."""

    def __init__(self, number: Any, packets: pd.DataFrame, rtts: Rtts) -> None:
        lost = packets["left_ns"] < 0
        self.number, self._packets = number, packets
        self.lost: list[bool] = lost.tolist()
        self.dropped_ns: list[int] = packets.loc[lost, "time_ns"].tolist()
        self.stays = _listed(packets[~lost], "time_ns", "left_ns")
        self.waits_ms = [1e-6 * (left - came) for came, left in self.stays]
        self.base_rtt_ns = rtts[_dotted(packets["target"].iloc[0])].nanoseconds

    def timeouts(self, answers: list[tuple[int, int]]) -> tuple[int, int]:
        """As the function of that name, of TCP; others have no timer."""
        if self._packets["protocol"].iloc[0] != frames.TCP:
            return 0, 0
        return timeouts(
            _listed(self._packets, "time_ns", "seq", "payload"), answers, self.base_rtt_ns
        )


def _listed(table: pd.DataFrame, *columns: str) -> list[Any]:
    """The rows of some columns, as Python's numbers."""
    return list(zip(*(table[name].tolist() for name in columns), strict=True))


def _mean(values: Iterable[float]) -> float:
    return fmean(list(values) or [0.0])


def _sent_by(table: pd.DataFrame, address: int) -> pd.DataFrame:
    """The IPv4 packets of a capture that `address` sent to others."""
    elsewhere = table["target"] // 2**24 != LOOPBACK
    return table[(table["source"] == address) & (table["protocol"] != 0) & elsewhere]


def _answers(table: pd.DataFrame, address: int) -> pd.DataFrame:
    """The packets of TCP of a capture that came to `address`."""
    return table[(table["target"] == address) & (table["protocol"] == frames.TCP)]


def _dotted(address: int) -> str:
    return str(IPv4Address(int(address)))
