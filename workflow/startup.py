"""How the upload's queue starts: what CoDel and PIE drop and how long packets wait.

`python -m workflow.startup --output data/captures/gbw2015-startup.csv` does the runs that the table
lacks, as `workflow.drops` does: RRUL, the paper's in all but its captures and its length, of which
the second half says what the steady state is; and with CoDel, whose queue RRUL's flows soon empty,
a flow that answers no loss.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean

from emulation.config import experiment, select
from emulation.model import Run
from emulation.units import Duration
from workflow.drops import CC, ERA, Followed, OfRun, Sent, base_rtts, grow, kinds, of_run

#: experiment -> qdiscs, in the order in which they are run
QDISCS = {
    "rrul": ("codel", "pie"),
    **dict.fromkeys(("flood_10_1", "flood_10_10", "flood_100_100"), ("codel",)),
}
#: What the load is, of the kinds of packets of `workflow.drops`.
LOADS = ("upload", "flood")

#: Fig. 7 of gbw2015 shows 25 s of the test, and control takes "more than 20 s" at most: the second
#: half begins after both.
LENGTH = Duration.parse("60 s")

STEP_MS = 100  # CoDel's interval: with its first drop a queue is a step old
STEPS = 300  # 30 s

#: Drops a packet as it is its turn, where the others decide as it comes.
AT_HEAD = "codel"


@dataclass(frozen=True)
class Row(OfRun):
    """A step of a run; the last one is the second half of the load."""

    target_ms: float  # of the qdisc
    from_s: float  # since the first packet of the load
    to_s: float
    packets: int  # that the qdisc decided on
    dropped: int
    wait_ms: float | None  # in the queue and on the link, mean of those that left in the step
    shortest_ms: float | None  # wait until the qdisc decided, of those that it decided on


def decided(packets: list[Sent], left: list[int | None], at_head: bool) -> list[int]:
    """When the queue decided on each packet whether to drop it, in ns.

    A token bucket takes a packet out (`peek`) when the one before it has left: then CoDel decides,
    `at_head`. PIE decides as a packet comes.
    """
    found, last = [], 0
    for packet, when in zip(packets, left, strict=True):
        found.append(max(packet.time_ns, last) if at_head else packet.time_ns)
        last = last if when is None else when
    return found


def bounds_ms(length: Duration) -> list[tuple[int, int]]:
    """The steps, and the second half of the load."""
    whole = round(length.ms)
    steps = [(STEP_MS * number, STEP_MS * (number + 1)) for number in range(STEPS)]
    return [*steps, (whole // 2, whole)]


def rows(run: Run, found: Followed) -> Iterator[Row]:
    """The steps of a run."""
    kind_of = kinds(found.packets, {address: str(rtt) for address, rtt in base_rtts(run).items()})
    start_ns = min(one.time_ns for one in found.packets if kind_of[one.flow] in LOADS)
    at_ns = decided(found.packets, found.left, run.cell.qdisc == AT_HEAD)
    decisions = sorted(
        (at - start_ns, at - packet.time_ns, when is None)
        for packet, when, at in zip(found.packets, found.left, at_ns, strict=True)
    )
    departures = sorted(
        (when - start_ns, when - packet.time_ns)
        for packet, when in zip(found.packets, found.left, strict=True)
        if when is not None
    )
    cell = run.cell
    (target,) = (value for name, value in cell.up.options if name == "target")
    if not isinstance(target, Duration):
        raise TypeError(f"{cell.qdisc} has the target {target!r}")
    for begin_ms, end_ms in bounds_ms(run.length):
        here, there = (begin_ms * 1_000_000,), (end_ms * 1_000_000,)
        chosen = decisions[bisect_left(decisions, here) : bisect_left(decisions, there)]
        gone = departures[bisect_left(departures, here) : bisect_left(departures, there)]
        yield Row(
            *of_run(run),
            target_ms=target.ms,
            from_s=begin_ms / 1000,
            to_s=end_ms / 1000,
            packets=len(chosen),
            dropped=sum(lost for *_, lost in chosen),
            wait_ms=round(1e-6 * fmean(wait for _, wait in gone), 3) if gone else None,
            shortest_ms=round(1e-6 * min(wait for _, wait, _ in chosen), 3) if chosen else None,
        )


def wanted(seeds: list[int]) -> Iterator[Run]:
    """Each experiment on all its links, the slow ones first, which cost least."""
    for name, qdiscs in QDISCS.items():
        about = experiment(f"gbw2015/{name}")
        runs = select(about, qdisc=qdiscs, cc=CC, seed=seeds, length=LENGTH, era=ERA)
        yield from sorted(
            runs, key=lambda run: (run.cell.link.up.bits_per_second, qdiscs.index(run.cell.qdisc))
        )


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    return grow("workflow.startup", __doc__, Row, wanted, rows, arguments)


if __name__ == "__main__":
    sys.exit(main())
