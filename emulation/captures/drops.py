"""What is sent through a queue: drops and waiting times, by kind of packet."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, pairwise
from math import ceil
from statistics import fmean, median
from typing import Any

import pandas as pd

from qdisclab.emulation.captures import frames
from qdisclab.emulation.model.units import Duration

#: Bytes of payload above which a flow is an upload; other flows acknowledge or control.
UPLOAD_BYTES = 100_000
#: Number of packets above which a flow that is no upload acknowledges a download.
MANY = 100
#: A packet is answered at once, as computing takes no virtual time: a retransmission before which
#: no packet of its flow arrived for so long was set off by a timer.
AT_ONCE_NS = 1_000_000
#: The retransmission timer waits for a round trip and at least this long on top (TCP_RTO_MIN).
RTO_MIN_NS = 200_000_000

#: Bytes of payload that a full TCP packet has at least.
FULL_BYTES = 1400
#: Round trips without a drop after which a flow of 1 Mbit/s has regained its window: for 40 packets
#: CUBIC needs cbrt(0.3 x 40 / 0.4) = 3.1 s, and with a full queue a round trip takes 1 s.
RECOVERY = 4
#: Kinds of which a flow sends few packets.
SPARSE = ("probe", "voip")

HTTP, DNS, DITG, IPERF = 80, 53, 9001, 5001
_UDP_KINDS = {DNS: "name", DITG: "voip", IPERF: "flood"}  # by port of the server

#: Columns that identify a flow.
FLOW = ["protocol", "source", "target", "source_port", "target_port"]

Rtts = Mapping[str, Duration]  # address -> round trip of the empty path to it


@dataclass(frozen=True)
class DropsRow:
    """Figures of one kind of packet; those that do not apply to a kind are 0."""

    kind: str  # `upload, 10 ms`, `acknowledgment`, `syn`, `web`, `name`, `voip`, `flood`, `probe`,
    # `control`
    flows: int
    packets: int
    dropped: int
    bursts: int  # runs of consecutive packets of one flow that were dropped
    longest_burst: int
    events: int  # drops of one flow within a base round trip count once
    wait_ms: float  # in the queue and on the link, mean over the packets that left
    longest_wait_ms: float  # mean of the flow whose mean is largest
    timeouts: int  # of the retransmission timer
    timeouts_in_a_row: int  # largest number without an acknowledgment between them
    connections: int  # of `syn`: connections that were tried
    late_connections: int  # of `syn`: connections whose first SYN was dropped
    behind_packets: float  # full packets of other flows that leave while a packet waits: 99th
    # percentile of a flow's packets, median of the flows
    first_series: int  # congestion events in the first series, of the flow with most


@dataclass(frozen=True)
class Sent:
    """What was sent through a queue, and what came back.

    `packets` has one row per packet, in order, with the columns of `packets.SCHEMA`, `time_ns` and
    `left_ns` (when it entered and left the queue; -1 if it was dropped) and `kind`. `answers` maps
    a flow's number to (time in ns, acknowledgment number) of each TCP packet that came back.
    """

    packets: pd.DataFrame
    answers: dict[Any, list[tuple[int, int]]]


def of_flows(packets: pd.DataFrame, answers: pd.DataFrame, rtts: Rtts) -> Sent:
    """Add flows and kinds to `packets`, and sort `answers`, TCP packets that came back, by flow."""
    packets = packets.assign(flow=packets.groupby(FLOW, sort=False).ngroup())
    packets["kind"] = packets["flow"].map(kinds(packets, rtts))
    ends = ["protocol", "target", "source", "target_port", "source_port"]  # from the other side
    flows = packets[[*FLOW, "flow"]].drop_duplicates("flow")
    named = answers[[*ends, "time_ns", "ack"]].set_axis([*FLOW, "time_ns", "ack"], axis=1)
    by_flow = named.merge(flows, on=FLOW).groupby("flow")
    return Sent(packets, {flow: _tuples(came, "time_ns", "ack") for flow, came in by_flow})


def kinds(packets: pd.DataFrame, rtts: Rtts) -> dict[int, str]:
    """Return the kind of each flow, by its number."""
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
        return "upload" if len(set(rtts.values())) < 2 else f"upload, {rtts.get(flow.target)}"
    return "acknowledgment" if flow.count > MANY else "control"


def timeouts(
    sent: Sequence[tuple[int, int, int]], answered: Sequence[tuple[int, int]], base_rtt_ns: int
) -> tuple[int, int]:
    """Count the timeouts of one flow, and the most in a row without an acknowledgment between.

    `sent` has (time in ns, sequence number, payload) of each packet, `answered` (time in ns,
    acknowledgment number). After a timeout the oldest segment is sent again, at least TCP_RTO_MIN
    and a round trip after something new was acknowledged or the same timer fired. RACK's timer is
    faster: it marks segments lost that were sent 1.25 round trips before one that arrived.
    """
    count = row = longest = place = 0
    top = oldest = None
    came_ns = since_ns = sent[0][0] if sent else 0
    least_ns = RTO_MIN_NS + base_rtt_ns
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
        elif seq == oldest and time_ns - came_ns > AT_ONCE_NS and time_ns - since_ns >= least_ns:
            count, row, since_ns = count + 1, row + 1, time_ns
            longest = max(longest, row)
    return count, longest


def _before(a: int, b: int) -> bool:
    """Return whether the sequence number `a` comes before `b` (RFC 9293, 3.4)."""
    return a != b and (b - a) % 2**32 < 2**31


def events(dropped_ns: list[int], round_trip_ns: float) -> int:
    """Count the groups of drops, each no longer than a round trip."""
    count, first = 0, None
    for time_ns in dropped_ns:
        if first is None or time_ns - first > round_trip_ns:
            count, first = count + 1, time_ns
    return count


def first_series(dropped_ns: list[int], round_trip_ns: float) -> int:
    """Count the `events` from the first drop until RECOVERY round trips pass without one."""
    pauses = (later - earlier for earlier, later in pairwise(dropped_ns))
    ends = (at for at, pause in enumerate(pauses, 1) if pause > RECOVERY * round_trip_ns)
    return events(dropped_ns[: next(ends, None)], round_trip_ns)


def behind(waits: list[tuple[int, int]], full_ns: list[int]) -> float:
    """Return how many full packets left while one of the sparse packets waited: 99th percentile.

    `full_ns` has when each full packet left, in order; `waits` when each sparse one came and left.
    """
    if not waits:
        return 0.0
    places = ((bisect_left(full_ns, left), bisect_right(full_ns, came)) for came, left in waits)
    counts = sorted(left - came for left, came in places)
    return float(counts[ceil(0.99 * len(counts)) - 1])


def rows(sent: Sent, rtts: Rtts) -> Iterator[DropsRow]:
    """Yield one row per kind of packet."""
    packets = sent.packets
    syn = (packets["kind"] == "web") & ((packets["flags"] & frames.SYN) != 0)
    left = packets[packets["left_ns"] >= 0].sort_values("left_ns", kind="stable")
    full = left[left["kind"].str.startswith("upload") & (left["payload"] > FULL_BYTES)]
    for kind, of_kind in packets.groupby(packets["kind"].mask(syn, "syn")):
        flows = [_Flow(number, group, rtts) for number, group in of_kind.groupby("flow")]
        fired = [flow.timeouts(sent.answers.get(flow.number, [])) for flow in flows]
        bursts = [len(list(group)) for flow in flows for lost, group in groupby(flow.lost) if lost]
        is_syn = kind == "syn"
        behinds = [
            behind(flow.stays, full.loc[full["flow"] != flow.number, "left_ns"].tolist())
            for flow in (flows if kind in SPARSE else ())
        ]
        series = [
            first_series(flow.dropped_ns, flow.base_rtt_ns + 1e6 * _mean(flow.waits_ms))
            for flow in (flows if kind.startswith("upload") else ())
        ]
        yield DropsRow(
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
            behind_packets=median(behinds or [0.0]),
            first_series=max(series, default=0),
        )


class _Flow:
    """The packets of one flow that are of one kind."""

    def __init__(self, number: Any, packets: pd.DataFrame, rtts: Rtts) -> None:
        lost = packets["left_ns"] < 0
        self.number, self._packets = number, packets
        self.lost: list[bool] = lost.tolist()
        self.dropped_ns: list[int] = packets.loc[lost, "time_ns"].tolist()
        self.stays = _tuples(packets[~lost], "time_ns", "left_ns")
        self.waits_ms = [1e-6 * (left - came) for came, left in self.stays]
        self.base_rtt_ns = rtts.get(packets["target"].iloc[0], Duration(0)).nanoseconds

    def timeouts(self, answers: list[tuple[int, int]]) -> tuple[int, int]:
        """Count as the function `timeouts` does; only TCP has the timer."""
        if self._packets["protocol"].iloc[0] != frames.TCP:
            return 0, 0
        sent = _tuples(self._packets, "time_ns", "seq", "payload")
        return timeouts(sent, answers, self.base_rtt_ns)


def _tuples(table: pd.DataFrame, *columns: str) -> list[Any]:
    """Return the rows of `columns` as tuples of Python's numbers."""
    return list(zip(*(table[name].tolist() for name in columns), strict=True))


def _mean(values: Iterable[float]) -> float:
    return fmean(list(values) or [0.0])
