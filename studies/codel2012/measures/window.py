"""One TCP connection with a fixed window: where its packets are (codel2012, Figs 1 to 4).

A run has for each packet when it was sent, came to the bottleneck's queue, left it and was
received, for each acknowledgment when it was sent and arrived, in ms since the connection began:
the probe `packets` at the ports that they pass.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.measures import packets as packets_probe
from qdisclab.analysis.measures.registry import Measure, Metric
from qdisclab.analysis.runs.axes import axes
from qdisclab.analysis.runs.dataset import RunFile, read_record, usable
from qdisclab.analysis.runs.flentfile import RERUN, Floats
from qdisclab.emulation.captures.frames import SYN, TCP

WAY: Final = ("servers.eth0", "left.left-right", "right.right-5")  # of packets
BACK: Final = ("clients.eth0", "left.left-5")  # of acknowledgments


METRICS: Final = {
    "second_waits_ms": Metric("how long the second packet waits", "ms"),
    "third_waits_ms": Metric("how long the third packet waits", "ms"),
    "pipe_packets": Metric("packets that fill the pipe", "packets"),
    "excess_packets": Metric("packets more than fill the pipe", "packets"),
    "queue_least_packets": Metric("least standing queue", "packets"),
    "queue_most_packets": Metric("greatest standing queue", "packets"),
    "queue_mean_packets": Metric("mean standing queue", "packets"),
    "arrivals_by_departures": Metric("arrivals by departures of the queue", ""),
    "busy_percent": Metric("time that the bottleneck sends", "%"),
    "empty_percent": Metric("time that the queue is empty", "%"),
}


@dataclass(frozen=True)
class Connection:
    """One run. Times are ms since the connection began."""

    window: int  # packets
    packets: pd.DataFrame  # sent, queued, left, received, bytes: a row per packet in sequence
    acks: pd.DataFrame  # sent, received and `packets`: how many are acknowledged by then
    length_ms: float

    @property
    def packet_ms(self) -> float:
        """How long the bottleneck takes for a packet: what is between two that leave in a queue."""
        return float(np.median(np.diff(self.packets["left"].to_numpy()[: self.window])))

    @property
    def edge_ms(self) -> float:
        """How long the sender's link takes for one: what is between two of the first burst."""
        return float(np.median(np.diff(self.packets["sent"].to_numpy()[: self.window])))

    @property
    def began_ms(self) -> float:
        """When the first packet was sent: the connection itself takes a round trip."""
        return float(self.packets["sent"].iloc[0])

    @property
    def base_rtt_ms(self) -> float:
        """From the first packet, which waits for nothing, to an acknowledgment of its arrival."""
        first = self.packets.iloc[0]
        back = self.acks["received"].to_numpy() - self.acks["sent"].to_numpy()
        return float(first["received"] - first["sent"] + np.median(back))

    @property
    def pipe(self) -> float:
        """Packets in flight that fill the pipe: the empty path's round trip by `packet_ms`."""
        return self.base_rtt_ms / self.packet_ms

    def allowed(self) -> Floats:
        """Return when the window let each packet be sent, ms: at the start, or by an
        acknowledgment."""
        number = np.arange(len(self.packets)) - self.window + 1
        place = np.searchsorted(self.acks["packets"].to_numpy(), np.maximum(number, 1))
        received = np.append(self.acks["received"].to_numpy(), np.inf)
        return np.where(number <= 0, self.began_ms, received[place])

    def waiting(self, at_ms: Floats | Sequence[float]) -> Floats:
        """Count the packets that wait in the queue at each moment, without the one that is on the
        link."""
        moments = np.asarray(at_ms, dtype=float)
        came = np.searchsorted(np.sort(self.packets["queued"]), moments, side="right")
        gone = np.searchsorted(np.sort(self.packets["left"]), moments, side="right")
        return np.asarray(came - gone, dtype=float)

    def changes(self) -> tuple[Floats, Floats]:
        """Return the queue as steps: moments in ms, packets that wait from each on."""
        moments = np.unique(np.concatenate([self.packets["queued"], self.packets["left"]]))
        moments = moments[moments <= self.length_ms]
        return moments, self.waiting(moments)

    def busy(self, since_ms: float, until_ms: float) -> float:
        """Return the share of the time from `since_ms` to `until_ms` that the bottleneck sends."""
        start = self.packets["left"].to_numpy()
        end = np.minimum(start + self.packet_ms, until_ms)
        sends = np.clip(end - np.maximum(start, since_ms), 0, None).sum()
        return min(1.0, float(sends) / (until_ms - since_ms))


def least(moments: Floats, waiting: Floats, span_ms: float) -> Floats:
    """Return the least that waited at each of `moments` since `span_ms` before; 0 before the first
    one."""
    first = np.searchsorted(moments, moments - span_ms, side="right") - 1
    return np.array(
        [
            0.0 if start < 0 else waiting[start : index + 1].min()
            for index, start in enumerate(first)
        ]
    )


def read_connection(run: RunFile) -> Connection:
    """Read a run's tables of packets; raises DataError where a packet was lost or there is none."""
    with usable(run):
        length_ms = 1000 * float(read_record(run)["length_s"])
        window = int(axes(run)["window"])
    sent, queue, last = (_segments(run, port) for port in WAY)
    began_ns = int(_table(run, WAY[0])["in_ns"].iloc[0])  # the connection's first packet
    inside = sent["out_ns"] - began_ns < 1e6 * length_ms
    times = {
        "sent": sent["out_ns"],
        "queued": queue["in_ns"],
        "left": queue["out_ns"],
        "received": last["out_ns"],
    }
    packets = pd.DataFrame(times)[inside].sub(began_ns).astype(float) / 1e6
    if packets.empty or packets.isna().any(axis=None):
        raise DataError.of(run.provenance, "a packet was lost, or none was sent", RERUN)
    packets["bytes"] = sent["length"]
    packets = packets.reset_index(drop=True)
    acks = _acknowledgments(run, packets, began_ns)
    return Connection(window, packets, acks, length_ms)


def _table(run: RunFile, port: str) -> pd.DataFrame:
    table = packets_probe.read(run.provenance.with_suffix(f".{port}.packets.parquet"))
    return table[table["protocol"] == TCP]


def _segments(run: RunFile, port: str) -> pd.DataFrame:
    """Return the segments with data that came to a port, by their sequence numbers."""
    table = _table(run, port)
    return table[table["payload"] > 0].drop_duplicates("seq").set_index("seq").sort_index()


def _acknowledgments(run: RunFile, packets: pd.DataFrame, began_ns: int) -> pd.DataFrame:
    """Return when acknowledgments were sent and received, and how many packets had come by then."""
    sent, received = (
        table[(table["payload"] == 0) & (table["flags"] & SYN == 0)].reset_index(drop=True)
        for table in (_table(run, port) for port in BACK)
    )
    times = pd.DataFrame({"sent": sent["in_ns"], "received": received["out_ns"]})
    acks = times.dropna().sub(began_ns).astype(float) / 1e6
    came = np.sort(packets["received"].to_numpy())
    acks["packets"] = np.searchsorted(came, acks["sent"].to_numpy(), side="right")
    return acks[acks["packets"] > 0].drop_duplicates("packets").reset_index(drop=True)


def measure(run: RunFile) -> dict[str, float]:
    """Return the measurements of one run, by names of METRICS.

    The standing queue is measured after two round trips, when the initial burst has passed.
    """
    flow = read_connection(run)
    waits = (flow.packets["left"] - flow.packets["queued"]).to_numpy()
    since = flow.began_ms + 2 * flow.base_rtt_ms + flow.window * flow.packet_ms
    moments, queue = flow.changes()
    until = np.append(moments[1:], flow.length_ms)
    spans = np.clip(until - np.maximum(moments, since), 0, None)  # what is after `since`
    standing = queue[spans > 0]
    rates = [
        float(1 / np.mean(np.diff(times[(times >= since) & (times < flow.length_ms)])))
        for times in (flow.packets["queued"].to_numpy(), flow.packets["left"].to_numpy())
    ]
    return {
        "second_waits_ms": float(waits[1]),
        "third_waits_ms": float(waits[2]),
        "pipe_packets": flow.pipe,
        "excess_packets": flow.window - flow.pipe,
        "queue_least_packets": float(standing.min()),
        "queue_most_packets": float(standing.max()),
        "queue_mean_packets": float(np.average(queue, weights=spans)),
        "arrivals_by_departures": rates[0] / rates[1],
        "busy_percent": 100 * flow.busy(since, flow.length_ms),
        "empty_percent": 100 * float(spans[queue == 0].sum()) / (flow.length_ms - since),
    }  # fmt: skip


def described(measured: pd.DataFrame) -> pd.DataFrame:
    """Return the results of `measure` with units: one row per quantity, one column per
    connection."""
    names = [f"{METRICS[name].title}, {METRICS[name].unit}".rstrip(", ") for name in measured.index]
    return measured.reset_index(drop=True).assign(quantity=names)[["quantity", *measured.columns]]


MEASURES: Final = {"window": Measure(measure, traffic="programs")}
