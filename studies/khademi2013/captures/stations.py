"""Bulk flows between wired hosts and WiFi stations: the table of the packets in the queue.

Like `bulk`, with flows in both directions. The packets that come to the queue
under test, on their way to the stations, are data of the downlink and acknowledgments of the
uplink; the round trip of an acknowledgment is that of the synthetic packet pair that it ends.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from emulation.captures.flent import About
from emulation.model.topology import Topology
from emulation.model.units import Duration

from . import flows
from .flows import Reduced
from .table import TICK_NS, summary

#: Times in the table are whole milliseconds: a run over WiFi has a third of a million packets.
ROUND_NS = 10 * TICK_NS

#: Directions of flows in the counts: to the stations and from them.
DIRECTIONS = ("down", "up")


def reduce(
    out: Path, topology: Topology, about: About, downloads: int, both_ways: bool, base_rtt: Duration
) -> Reduced:
    """Reduce what a guest left in `out` after `downloads` and, with `both_ways`, as many uploads.

    Raises what `flows.read` raises.
    """
    run = flows.read(out, topology, about, downloads * (2 if both_ways else 1))
    queued, sojourn_ns = run.queued, run.sojourn_ns
    packets = pd.DataFrame(
        {
            "arrived_100us": _rounded(queued["time_ns"] - run.began_ns),
            "left_100us": _rounded(queued["time_ns_then"] - run.began_ns),
            "flow": queued["flow"],
            "length": queued["length"],
            "fate": run.fates,
            "elsewhere_100us": _rounded(queued["rtt_ns"] - sojourn_ns - base_rtt.nanoseconds),
        }
    )
    loaded, sent = run.loaded(about), run.queue.sent
    downward = (queued["flow"] < downloads).to_numpy()
    counts = run.counts()
    for name, direction in zip(DIRECTIONS, (downward, ~downward), strict=True):
        if not direction.any():
            continue
        inside = loaded & direction
        counts[name] = {
            "sent": int((sent & direction).sum()),
            "dropped": int((~sent & direction).sum()),
            "sojourn_us": summary(sojourn_ns[inside].to_numpy(dtype=float)),
            "rtt_us": summary(queued.loc[inside, "rtt_ns"].to_numpy(dtype=float)),
        }
    counts |= {name: counts["down"][name] for name in ("sojourn_us", "rtt_us")}
    return Reduced(packets, run.delivered, counts, run.sampled, run.pings, run.began_ns)


def _rounded(time_ns: pd.Series) -> pd.Series:
    """Return times in ticks of the table, rounded down to `ROUND_NS`."""
    return time_ns // ROUND_NS * (ROUND_NS // TICK_NS)
