"""Bulk flows between wired hosts and WiFi stations: the table of the packets in the queue.

As `emulation.captures.bulk`, with flows in both directions. What comes to the queue under test on
its way to the stations is data of the downlink and acknowledgments of the uplink; of the latter a
row's round trip is that of the synthetic packet pair that it ends.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from emulation.captures import flows
from emulation.captures.flent import About
from emulation.captures.flows import Reduced
from emulation.captures.table import TICK_NS, summary
from emulation.model.topology import Topology
from emulation.model.units import Duration

#: Times in the table are whole milliseconds: a run over WiFi has a third of a million packets.
ROUND_NS = 10 * TICK_NS

#: Of the counts, what goes to the stations and what comes from them.
DIRECTIONS = ("down", "up")


def reduce(
    out: Path, topology: Topology, about: About, downloads: int, both_ways: bool, base_rtt: Duration
) -> Reduced:
    """Reduce what a guest left in `out` of so many `downloads` and, with `both_ways`, as many
    uploads; raises as `flows.read`."""
    found = flows.read(out, topology, about, downloads * (2 if both_ways else 1))
    queued, sojourn_ns = found.queued, found.sojourn_ns
    packets = pd.DataFrame(
        {
            "arrived_100us": _rounded(queued["time_ns"] - found.began_ns),
            "left_100us": _rounded(queued["time_ns_then"] - found.began_ns),
            "flow": queued["flow"],
            "length": queued["length"],
            "fate": found.fates,
            "elsewhere_100us": _rounded(queued["rtt_ns"] - sojourn_ns - base_rtt.nanoseconds),
        }
    )
    loaded, sent = found.loaded(about), found.queue.sent
    downward = (queued["flow"] < downloads).to_numpy()
    counts = found.counts()
    for name, chosen in zip(DIRECTIONS, (downward, ~downward), strict=True):
        if not chosen.any():
            continue
        inside = loaded & chosen
        counts[name] = {
            "sent": int((sent & chosen).sum()),
            "dropped": int((~sent & chosen).sum()),
            "sojourn_us": summary(sojourn_ns[inside].to_numpy(dtype=float)),
            "rtt_us": summary(queued.loc[inside, "rtt_ns"].to_numpy(dtype=float)),
        }
    counts |= {name: counts["down"][name] for name in ("sojourn_us", "rtt_us")}
    return Reduced(packets, found.delivered, counts, found.sampled, found.pings, found.began_ns)


def _rounded(time_ns: pd.Series) -> pd.Series:
    """In ticks of the table, rounded down to `ROUND_NS`."""
    return time_ns // ROUND_NS * (ROUND_NS // TICK_NS)
