"""Bulk flows through a bottleneck: the table of packets in its queue and their counts.

Over WiFi flows may go both ways. The packets that come to the queue under test, on their way to the
stations, are then data of the downlink and acknowledgments of the uplink; the round trip of an
acknowledgment is that of the synthetic packet pair that it ends.
"""

from pathlib import Path

import pandas as pd

from qdisclab.emulation.captures.flent import About
from qdisclab.emulation.model.topology import Topology
from qdisclab.emulation.model.units import Duration

from . import flows, rings
from .table import TICK_NS, summary

#: Times of a run over WiFi are whole milliseconds: it has a third of a million packets.
WIFI_TICKS = 10


def reduce(
    out: Path,
    topology: Topology,
    about: About,
    number: int,
    base_rtt: Duration,
    *,
    both_ways: bool = False,
    pinged: bool = False,
) -> flows.Reduced:
    """Reduce what a guest left in `out` after `number` flows and, `both_ways`, as many back.

    Raises what `flows.read` raises.
    """
    wireless = bool(topology.media)
    run = flows.read(out, topology, about, number * (1 + both_ways), pinged)
    queued, sojourn_ns, step = run.queued, run.sojourn_ns, WIFI_TICKS if wireless else 1

    def ticks(time_ns: pd.Series) -> pd.Series:
        return time_ns // (step * TICK_NS) * step

    def delays(chosen: pd.Series) -> dict[str, dict[str, int]]:
        of = {"sojourn_us": sojourn_ns, "rtt_us": queued["rtt_ns"]}
        return {name: summary(ns[chosen].to_numpy(dtype=float)) for name, ns in of.items()}

    elsewhere_ns = queued["rtt_ns"] - sojourn_ns - base_rtt.nanoseconds
    packets = pd.DataFrame(
        {
            "arrived_100us": ticks(queued["time_ns"] - run.began_ns),
            "left_100us": ticks(queued["time_ns_then"] - run.began_ns),
            "flow": queued["flow"],
            "length": queued["length"],
            "fate": run.fates,
            "elsewhere_100us": (
                ticks(elsewhere_ns) if wireless else (elsewhere_ns / TICK_NS).round()
            ),
        }
    )
    counts, loaded = run.counts(), run.loaded(about)
    if wireless:
        down = queued["flow"] < number
        for name, way in (("down", down), ("up", ~down))[: 1 + both_ways]:
            sent = run.queue.sent[way]
            of = {"sent": int(sent.sum()), "dropped": int((~sent).sum())}
            counts[name] = {**of, **delays(loaded & way)}
        counts |= {name: counts["down"][name] for name in ("sojourn_us", "rtt_us")}
    else:
        counts |= delays(loaded & (queued["port"] != rings.PING))
    if pinged:
        answered = int(run.pings["answer_ms"].notna().sum())
        counts |= {"pings": len(run.pings), "pings_answered": answered}
    return flows.Reduced(packets, run.delivered, counts, run.sampled, run.pings, run.began_ns)
