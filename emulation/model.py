"""The nouns of an experiment: traffic, cell, experiment, paper, run. Frozen values, no I/O.

`Qdisc`, `Link` and the parts of the rig come from their own modules and can be imported from here.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from emulation import era as eras
from emulation.dumbbell import dumbbell
from emulation.qdisc import Option, Qdisc
from emulation.topology import (
    Delay,
    Delays,
    Hierarchy,
    Link,
    Node,
    Port,
    Route,
    Shaper,
    Topology,
    Wire,
    daisy_chain,
)
from emulation.units import Duration, Rate, Size

__all__ = [
    "DEFAULT_ERA",
    "DEFAULT_KERNEL",
    "JOB_FORMAT",
    "Cell",
    "Delay",
    "Delays",
    "Experiment",
    "Link",
    "Node",
    "Option",
    "Paper",
    "Port",
    "Qdisc",
    "Rig",
    "Route",
    "Run",
    "Shaper",
    "Topology",
    "Traffic",
    "Wire",
    "daisy_chain",
]

JOB_FORMAT = 2  # of what `Run.job` returns; the guest refuses any other
DEFAULT_ERA = eras.MODERN
DEFAULT_MEMORY = Size(192 * 2**20)
DEFAULT_KERNEL = "6.12"  # series
KNOWN_NEIGHBOUR_MS = "36000000"  # no run is that long


@dataclass(frozen=True)
class Rig:
    """What an experiment sets beside the bottleneck."""

    base_rtts: tuple[Duration, ...]  # of the empty path to each of the server's addresses
    edge_rate: Rate  # of every port but the bottleneck's two
    sysctls: tuple[tuple[str, str], ...] = ()  # (name, value), on client and server
    kind: str = "daisy_chain"  # or `dumbbell`

    @property
    def base_rtt(self) -> Duration:
        """Of the path to the server's first address."""
        return self.base_rtts[0]

    def topology(self, cell: Cell, on: tuple[eras.Switch, ...] = ()) -> Topology:
        """The rig around the bottleneck of `cell`, with the switches that are on."""
        up, down = (eras.restored(qdisc, on) for qdisc in (cell.up, cell.down))
        if self.kind == "dumbbell":
            return dumbbell(cell.link, up, self.base_rtt, self.edge_rate)
        return daisy_chain(cell.link, up, down, self.base_rtts, self.edge_rate)


@dataclass(frozen=True)
class Traffic:
    """What is sent, and how long."""

    tool: str  # `flent`, or `iperf` for bulk flows between the pairs of a dumbbell
    test: str  # flent's name of the test, or of the one whose form iperf's data take: `rrul_be`
    length: Duration  # of the load
    step: Duration  # between two samples
    start_jitter: Duration  # each TCP flow starts up to this much later, as the seed says
    servers: tuple[str, ...] = ("netserver", "irtt")  # what answers, in the order of their start
    options: tuple[tuple[str, str], ...] = ()  # (name, value) of the tool's further options
    client: str = "client"  # the node that runs the tool
    server: str = "server"  # the node that answers it
    flows: int | None = None  # of iperf, the pairs in turn


@dataclass(frozen=True)
class Cell:
    """One point of a sweep."""

    link: Link
    qdisc: str  # the paper's name
    cc: str  # TCP congestion control: `cubic`, `reno`
    up: Qdisc  # with its values for the upload rate
    down: Qdisc  # with its values for the download rate


@dataclass(frozen=True)
class Experiment:
    """A rig, a kind of traffic and a sweep."""

    paper: str  # `gbw2015`
    name: str  # `rrul`
    title: str  # for people
    section: str  # of the paper
    rig: Rig
    traffic: Traffic
    cells: tuple[Cell, ...]
    seeds: tuple[int, ...]  # a repetition is a seed
    memory: Size = DEFAULT_MEMORY  # of a guest

    @property
    def id(self) -> str:
        """`gbw2015/rrul`."""
        return f"{self.paper}/{self.name}"


@dataclass(frozen=True)
class Paper:
    """An experiment file."""

    name: str  # `gbw2015`
    title: str
    doi: str
    experiments: tuple[Experiment, ...]

    def experiment(self, name: str) -> Experiment:
        """The experiment called `name`; `KeyError` where there is none."""
        for experiment in self.experiments:
            if experiment.name == name:
                return experiment
        raise KeyError(name)


@dataclass(frozen=True)
class Run:
    """A cell and a seed: what one boot of the guest does."""

    experiment: Experiment
    cell: Cell
    seed: int
    length: Duration  # of the load; the experiment's unless the user asked for another
    era: str = DEFAULT_ERA  # as `emulation.era` reads it
    kernel: str = DEFAULT_KERNEL  # series

    @property
    def variant(self) -> str:
        """The experiment's path segment: its name and, each behind an `@`, what is not default."""
        parts = [self.experiment.name]
        parts += [self.era] if self.era != DEFAULT_ERA else []
        parts += [f"linux-{self.kernel}"] if self.kernel != DEFAULT_KERNEL else []
        if self.length != self.experiment.traffic.length:
            parts.append(str(self.length).replace(" ", ""))
        return "@".join(parts)

    @property
    def id(self) -> str:
        """The path below `data/`: `gbw2015/rrul/10-10/codel/cubic/seed-001`."""
        cell = self.cell
        place = (self.experiment.paper, self.variant, cell.link.slug, cell.qdisc, cell.cc)
        return "/".join((*place, f"seed-{self.seed:03d}"))

    @property
    def random(self) -> int:
        """The seed of the guest's random numbers, from 0 to 2^64 - 1.

        Another one in each cell, so that no two cells share ports, hash keys and start times;
        the same one in all eras and kernels, which are compared run by run.
        """
        cell, about = self.cell, self.experiment
        parts = (about.id, cell.link.slug, cell.qdisc, cell.cc, str(self.seed))
        return int.from_bytes(hashlib.sha256("/".join(parts).encode()).digest()[:8], "big")

    @property
    def memory_mib(self) -> int:
        """The guest's memory."""
        return self.experiment.memory.bytes >> 20

    @property
    def topology(self) -> Topology:
        """The rig of this run."""
        return self.experiment.rig.topology(self.cell, eras.switches(self.era))

    def job(self) -> dict[str, Any]:
        """What the guest builds and sends, ready for JSON: equal runs give equal jobs."""
        topology = self.topology
        rig, traffic = self.experiment.rig, self.experiment.traffic
        if traffic.tool == "iperf":
            return self._bulk_job(topology)
        return {
            **self._rig_job(topology),
            "sysctls": {host: self._sysctls() for host in (traffic.client, traffic.server)},
            "traffic": {
                "tool": traffic.tool,
                "test": traffic.test,
                "length_s": self.length.seconds,
                "step_s": traffic.step.seconds,
                "start_jitter_us": round(traffic.start_jitter.us),
                "title": self.id,
                "client": traffic.client,
                "server": traffic.server,
                "servers": list(traffic.servers),
                "options": dict(traffic.options),
                "hosts": [
                    {"address": address, "base_rtt_ms": rtt.ms}
                    for address, rtt in zip(
                        topology.port(traffic.server).ips, rig.base_rtts, strict=True
                    )
                ],
            },
        }

    def _bulk_job(self, topology: Topology) -> dict[str, Any]:
        """The job of bulk flows between the pairs of a rig, all of whose packets are captured."""
        rig, traffic = self.experiment.rig, self.experiment.traffic
        hosts = (host for pair in topology.pairs for host in pair)
        sysctls = {host: self._sysctls() for host in hosts}
        for port in topology.ports():
            if port.address:
                # So that no question for an address gets into the queue under test.
                name = f"net.ipv4.neigh.{port.interface}.base_reachable_time_ms"
                sysctls.setdefault(port.node, {})[name] = KNOWN_NEIGHBOUR_MS
        return {
            **self._rig_job(topology),
            "sysctls": sysctls,
            "traffic": {
                "tool": traffic.tool,
                "flows": traffic.flows,
                "length_s": self.length.seconds,
                "start_jitter_us": round(traffic.start_jitter.us),
                "base_rtt_ms": rig.base_rtt.ms,
                "pairs": [
                    {"sender": sender, "receiver": receiver, "address": topology.port(receiver).ip}
                    for sender, receiver in topology.pairs
                ],
                "captures": [
                    {"node": node, "interface": interface} for node, interface in topology.observed
                ],
            },
        }

    def _sysctls(self) -> dict[str, str]:
        """Of a host that sends or receives."""
        return {
            "net.ipv4.tcp_congestion_control": self.cell.cc,
            **dict(self.experiment.rig.sysctls),
            **eras.sysctls(eras.switches(self.era)),
        }

    def _rig_job(self, topology: Topology) -> dict[str, Any]:
        """What the guest builds, and the seed."""
        return {
            "format": JOB_FORMAT,
            "seed": self.seed,
            "nodes": [_node_job(node) for node in topology.nodes],
            "wires": [[_port_job(wire.a), _port_job(wire.b)] for wire in topology.wires],
            "routes": [
                {"node": route.node, "to": route.to, "via": route.via}
                for route in topology.routes()
            ],
            "queues": [
                {"node": port.node, "interface": port.interface} for port in topology.queues()
            ],
            "parameters": eras.parameters(eras.switches(self.era)),
        }


def _node_job(node: Node) -> dict[str, Any]:
    job: dict[str, Any] = {"name": node.name, "forwards": node.forwards}
    return {**job, "switches": True} if node.switches else job


def _port_job(port: Port) -> dict[str, Any]:
    """A port of the job, with its qdiscs in the order in which they are installed."""
    job: dict[str, Any] = {
        "node": port.node,
        "interface": port.interface,
        "addresses": list(port.addresses),
        "txqueuelen": port.txqueuelen.count,
        "qdiscs": [
            {
                "parent": attached.parent,
                "handle": attached.handle,
                "kind": attached.qdisc.kind,
                "arguments": list(attached.qdisc.tc_arguments()[1:]),
                "expect": attached.qdisc.expect(),
            }
            for attached in port.egress.attached()
        ],
        "filters": list(port.egress.filters()),
    }
    if isinstance(port.egress, Hierarchy):
        job["classes"] = list(port.egress.classes())
    return job
