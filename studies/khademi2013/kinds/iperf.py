"""Bulk TCP flows of iperf 2 between the pairs of a rig; each of their packets is followed.

```yaml
traffic:
  kind: iperf
  test: tcp_nup                  # flent's test whose form the data have
  flows: 16                      # which take the pairs in turn
  both_ways: false               # as many flows from receivers to senders, over WiFi
  ping_interval: 100 ms          # also send pings from the first sender
  length: 60 s
  step: 1 s
  start_jitter: 1 s
```

The data are a file in flent's form and a table of packets.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from qdisclab.emulation.kinds.rigs.base import RigSection
from qdisclab.emulation.kinds.traffic.base import TrafficSection
from qdisclab.emulation.model.topology import Topology
from qdisclab.emulation.study.schema import Flaws, Span

if TYPE_CHECKING:
    from qdisclab.emulation.model.run import Run

KNOWN_NEIGHBOUR_MS = "36000000"  # no run is that long
GUEST = tuple(
    Path(__file__).parent / "guest" / name
    for name in ("iperf.py", "iperf_frames.py", "stations.py")
)
#: The table of packets, and the counts made from it.
TABLE, COUNTS = "run.packets.parquet", "packets.json"

MOST_FLOWS = 256  # each takes a process of the guest


class Iperf(TrafficSection):
    """Bulk flows."""

    tools = {"iperf": GUEST[:2], "stations": GUEST}

    kind: Literal["iperf"]
    flows: int = Field(ge=1, le=MOST_FLOWS, strict=True)
    both_ways: bool = Field(default=False, strict=True)
    ping_interval: Span | None = None

    def check(self, rig: RigSection, topology: Topology) -> None:
        """Raise `Flaws` without pairs, for both directions without WiFi, and for pings with it."""
        if not topology.pairs or not topology.observed:
            what = f"'{self.kind}' follows packets of pairs, '{topology.name}' names none"
            raise Flaws((("kind",), what, "write 'kind: flent', or choose the rig dumbbell"))
        if self.both_ways and not topology.media:
            what = "is for a rig with a WiFi link: only there are both directions followed"
            raise Flaws((("both_ways",), what, "remove it"))
        if self.ping_interval and topology.media:
            raise Flaws((("ping_interval",), "is for a rig without a WiFi link", "remove it"))

    def job(self, run: Run, topology: Topology) -> dict[str, Any]:
        """Return the flows, their pairs, and the places where packets are captured."""
        interval = self.ping_interval
        tool: dict[str, Any] = {"tool": "iperf"}
        places = [{"node": node, "interface": name} for node, name in topology.observed]
        pairs, flows = list(topology.pairs), self.flows
        if topology.media:
            tool = {"tool": "stations", "servers": ["iperf"], "counted": places[1:2]}
        if self.both_ways:  # flows take the pairs in turn
            pairs += [(receiver, sender) for sender, receiver in topology.pairs]
            flows *= 2
        return {
            **tool,
            "flows": flows,
            "length_s": run.length.seconds,
            "start_jitter_us": round(self.start_jitter.us),
            "base_rtt_ms": run.base_rtts[0].ms,
            **({"ping_interval_s": interval.seconds} if interval else {}),
            "pairs": [
                {"sender": sender, "receiver": receiver, "address": topology.port(receiver).ip}
                for sender, receiver in pairs
            ],
            "captures": places,
        }

    def record(
        self, run: Run, out: Path, steps: list[dict[str, Any]], qdiscs: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the counts of packets, and of the qdiscs only those of routers."""
        routers = {node.name for node in run.topology.nodes if node.forwards}
        return {
            "flows": self.flows,
            **({"both_ways": True} if self.both_ways else {}),
            "packets": json.loads((out / COUNTS).read_text()),
            "packets_sha256": hashlib.sha256((out / TABLE).read_bytes()).hexdigest(),
            # Captures have what hosts and switches sent.
            "qdiscs": {port: seen for port, seen in qdiscs.items() if port.split()[0] in routers},
        }

    @property
    def leaves(self) -> dict[str, str]:
        """Return the table of packets."""
        return {TABLE: ".packets.parquet"}

    def sysctls(self, run: Run, topology: Topology) -> dict[str, dict[str, str]]:
        """Map nodes to settings of hosts and of neighbours."""
        hosts = (host for pair in topology.pairs for host in pair)
        sysctls = {host: run.sysctls(host) for host in hosts}
        for port in topology.ports():  # prevents ARP during the load: it would enter the queue
            if port.address:
                name = f"net.ipv4.neigh.{port.interface}.base_reachable_time_ms"
                sysctls.setdefault(port.node, {})[name] = KNOWN_NEIGHBOUR_MS
        return sysctls

    def reduce(self, run: Run, out: Path) -> None:
        """Make a file in flent's form, the table of packets and its counts."""
        # pyarrow and pandas take a second to import
        from qdisclab.emulation.captures import flent

        from ..captures import bulk, series, table

        topology, base_rtt = run.topology, run.base_rtts[0]
        test = self.flent_about(run)
        wireless, has_pings = bool(topology.media), self.ping_interval is not None
        reduced = bulk.reduce(
            out, topology, test, self.flows, base_rtt, both_ways=self.both_ways, pinged=has_pings
        )
        table.write(reduced.packets, out / TABLE, self.flows if wireless else None)
        (out / COUNTS).write_text(json.dumps(reduced.counts))
        content = series.content(test, reduced, self.flows, base_rtt, wireless=wireless)
        flent.write(content, out / "data.flent.gz")
