"""Bulk flows through a wired bottleneck: the table of packets in its queue and their counts."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from emulation.captures import frames
from emulation.captures.flent import About
from emulation.model.topology import Topology
from emulation.model.units import Duration

from . import flows
from .flows import Reduced
from .table import TICK_NS, summary


def reduce(
    out: Path, topology: Topology, about: About, number: int, base_rtt: Duration, pinged: bool
) -> Reduced:
    """Reduce what a guest left in `out` after `number` flows; raises what `flows.read` raises."""
    run = flows.read(out, topology, about, number, pinged)
    queued, sojourn_ns = run.queued, run.sojourn_ns
    elsewhere_ns = queued["rtt_ns"] - sojourn_ns - base_rtt.nanoseconds
    packets = pd.DataFrame(
        {
            "arrived_100us": (queued["time_ns"] - run.began_ns) // TICK_NS,
            "left_100us": (queued["time_ns_then"] - run.began_ns) // TICK_NS,
            "flow": queued["flow"],
            "length": queued["length"],
            "fate": run.fates,
            "elsewhere_100us": (elsewhere_ns / TICK_NS).round(),
        }
    )
    loaded = run.loaded(about) & (queued["port"] != frames.PING)
    counts = run.counts()
    counts["sojourn_us"] = summary(sojourn_ns[loaded].to_numpy(dtype=float))
    counts["rtt_us"] = summary(queued.loc[loaded, "rtt_ns"].to_numpy(dtype=float))
    if pinged:
        answered = int(run.pings["answer_ms"].notna().sum())
        counts |= {"pings": len(run.pings), "pings_answered": answered}
    return Reduced(packets, run.delivered, counts, run.sampled, run.pings, run.began_ns)
