"""Bulk flows through a wired bottleneck: the table of packets in its queue, and their counts."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from emulation.captures import flows, frames
from emulation.captures.flent import About
from emulation.captures.flows import Reduced
from emulation.captures.table import TICK_NS, summary
from emulation.model.topology import Topology
from emulation.model.units import Duration


def reduce(
    out: Path, topology: Topology, about: About, number: int, base_rtt: Duration, pinged: bool
) -> Reduced:
    """Reduce what a guest left in `out` of a `number` of flows; raises as `flows.read`."""
    found = flows.read(out, topology, about, number, pinged)
    queued, sojourn_ns = found.queued, found.sojourn_ns
    elsewhere_ns = queued["rtt_ns"] - sojourn_ns - base_rtt.nanoseconds
    packets = pd.DataFrame(
        {
            "arrived_100us": (queued["time_ns"] - found.began_ns) // TICK_NS,
            "left_100us": (queued["time_ns_then"] - found.began_ns) // TICK_NS,
            "flow": queued["flow"],
            "length": queued["length"],
            "fate": found.fates,
            "elsewhere_100us": (elsewhere_ns / TICK_NS).round(),
        }
    )
    chosen = found.loaded(about) & (queued["port"] != frames.PING)
    counts = found.counts()
    counts["sojourn_us"] = summary(sojourn_ns[chosen].to_numpy(dtype=float))
    counts["rtt_us"] = summary(queued.loc[chosen, "rtt_ns"].to_numpy(dtype=float))
    if pinged:
        answered = int(found.pings["answer_ms"].notna().sum())
        counts |= {"pings": len(found.pings), "pings_answered": answered}
    return Reduced(packets, found.delivered, counts, found.sampled, found.pings, found.began_ns)
