"""How a queue starts: drops and waiting times, in steps since a load began."""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean

import numpy as np
import pandas as pd

from qdisclab.emulation.captures.drops import Sent
from qdisclab.emulation.captures.frames import Ints
from qdisclab.emulation.model.units import Duration

#: The kinds of packets (`emulation.captures.drops`) that are the load.
LOADS = ("upload", "flood")

STEP_MS = 100  # CoDel's interval: it drops for the first time when a queue is a step old
STEPS = 300  # 30 s, or the first half of a load that is shorter than a minute


@dataclass(frozen=True)
class StartupRow:
    """Figures of one step; the last row is for the second half of the load."""

    target_ms: float  # of the qdisc
    from_s: float  # since the first packet of the load
    to_s: float
    packets: int  # that the qdisc decided on
    dropped: int
    wait_ms: float | None  # in the queue and on the link, mean over packets that left in the step
    shortest_ms: float | None  # shortest wait of a packet until the qdisc decided on it


def decided(packets: pd.DataFrame, at_head: bool) -> Ints:
    """Return when the queue decided whether to drop each packet, in ns.

    A token bucket takes a packet out (`peek`) when the packet before it has left: CoDel decides
    then, `at_head`. PIE decides when a packet arrives.
    """
    came: Ints = packets["time_ns"].to_numpy()
    left: Ints = packets["left_ns"].to_numpy()
    if not at_head:
        return came
    last = np.maximum.accumulate(np.where(left >= 0, np.arange(len(left)), -1))[:-1]
    free: Ints = np.concatenate([[0], np.where(last >= 0, left[last], 0)])
    return np.maximum(came, free)


def bounds_ms(length: Duration) -> list[tuple[int, int]]:
    """Return begin and end of each step, and of the second half of the load."""
    whole = round(length.ms)
    steps = range(min(STEPS, whole // 2 // STEP_MS))
    return [*((STEP_MS * step, STEP_MS * (step + 1)) for step in steps), (whole // 2, whole)]


def rows(sent: Sent, target: Duration, at_head: bool, length: Duration) -> Iterator[StartupRow]:
    """Yield a row per step of a load of `length`; `target` and `at_head` are the qdisc's."""
    packets = sent.packets
    load = packets["kind"].str.startswith(LOADS)
    start_ns = packets.loc[load if load.any() else slice(None), "time_ns"].min()
    packets = packets.assign(decided_ns=decided(packets, at_head))
    decisions = packets.sort_values("decided_ns", kind="stable")
    departures = packets[packets["left_ns"] >= 0].sort_values("left_ns", kind="stable")
    for begin_ms, end_ms in bounds_ms(length):
        between = [start_ns + 1_000_000 * at for at in (begin_ms, end_ms)]
        decided_on = decisions[slice(*decisions["decided_ns"].searchsorted(between))]
        departed = departures[slice(*departures["left_ns"].searchsorted(between))]
        waits_ns = (departed["left_ns"] - departed["time_ns"]).tolist()
        shortest_ns = (decided_on["decided_ns"] - decided_on["time_ns"]).min()
        yield StartupRow(
            target_ms=target.ms,
            from_s=begin_ms / 1000,
            to_s=end_ms / 1000,
            packets=len(decided_on),
            dropped=int((decided_on["left_ns"] < 0).sum()),
            wait_ms=round(1e-6 * fmean(waits_ns), 3) if waits_ns else None,
            shortest_ms=round(1e-6 * int(shortest_ns), 3) if len(decided_on) else None,
        )
