"""How a queue starts: what it drops and how long packets wait, in steps since a load began."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean

import numpy as np
import pandas as pd

from emulation.captures.drops import Sent
from emulation.captures.frames import Ints
from emulation.model.units import Duration

#: What the load is, of the kinds of packets of `emulation.captures.drops`.
LOADS = ("upload", "flood")

STEP_MS = 100  # CoDel's interval: with its first drop a queue is a step old
STEPS = 300  # 30 s


@dataclass(frozen=True)
class Row:
    """A step; the last one is the second half of the load."""

    target_ms: float  # of the qdisc
    from_s: float  # since the first packet of the load
    to_s: float
    packets: int  # that the qdisc decided on
    dropped: int
    wait_ms: float | None  # in the queue and on the link, mean of those that left in the step
    shortest_ms: float | None  # wait until the qdisc decided, of those that it decided on


def decided(packets: pd.DataFrame, at_head: bool) -> Ints:
    """When the queue decided on each packet whether to drop it, in ns.

    A token bucket takes a packet out (`peek`) when the one before it has left: then CoDel decides,
    `at_head`. PIE decides as a packet comes.
    """
    came: Ints = packets["time_ns"].to_numpy()
    left: Ints = packets["left_ns"].to_numpy()
    if not at_head:
        return came
    last = np.maximum.accumulate(np.where(left >= 0, np.arange(len(left)), -1))[:-1]
    free: Ints = np.concatenate([[0], np.where(last >= 0, left[last], 0)])
    return np.maximum(came, free)


def bounds_ms(length: Duration) -> list[tuple[int, int]]:
    """The steps, and the second half of the load."""
    whole = round(length.ms)
    steps = [(STEP_MS * number, STEP_MS * (number + 1)) for number in range(STEPS)]
    return [*steps, (whole // 2, whole)]


def rows(sent: Sent, target: Duration, at_head: bool, length: Duration) -> Iterator[Row]:
    """The steps of a load of `length`; the qdisc has the `target`, and drops `at_head` or not."""
    packets = sent.packets
    start_ns = packets.loc[packets["kind"].isin(LOADS), "time_ns"].min()
    packets = packets.assign(decided_ns=decided(packets, at_head))
    decisions = packets.sort_values("decided_ns", kind="stable")
    departures = packets[packets["left_ns"] >= 0].sort_values("left_ns", kind="stable")
    for begin_ms, end_ms in bounds_ms(length):
        between = [start_ns + 1_000_000 * at for at in (begin_ms, end_ms)]
        chosen = decisions[slice(*decisions["decided_ns"].searchsorted(between))]
        gone = departures[slice(*departures["left_ns"].searchsorted(between))]
        waits_ns = (gone["left_ns"] - gone["time_ns"]).tolist()
        shortest_ns = (chosen["decided_ns"] - chosen["time_ns"]).min()
        yield Row(
            target_ms=target.ms,
            from_s=begin_ms / 1000,
            to_s=end_ms / 1000,
            packets=len(chosen),
            dropped=int((chosen["left_ns"] < 0).sum()),
            wait_ms=round(1e-6 * fmean(waits_ns), 3) if waits_ns else None,
            shortest_ms=round(1e-6 * int(shortest_ns), 3) if len(chosen) else None,
        )
