"""The nouns of an experiment: traffic, cell, experiment, paper, run. Frozen values, no I/O.

`Qdisc`, `Link` and the parts of the rig come from their own modules and can be imported from here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from emulation.qdisc import Option, Qdisc
from emulation.topology import (
    Delay,
    Link,
    Node,
    Port,
    Route,
    Shaper,
    Topology,
    Wire,
    daisy_chain,
)
from emulation.units import Duration, Rate

__all__ = [
    "DEFAULT_ERA",
    "DEFAULT_KERNEL",
    "ERAS",
    "JOB_FORMAT",
    "Cell",
    "Delay",
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

JOB_FORMAT = 1  # of what `Run.job` returns; the guest refuses any other
ERAS = ("modern",)  # the kernel as it is
DEFAULT_ERA = "modern"
DEFAULT_KERNEL = "6.12"  # series


@dataclass(frozen=True)
class Rig:
    """What of the daisy chain an experiment sets beside the bottleneck."""

    base_rtt: Duration  # of the empty path
    edge_rate: Rate  # of every port but the bottleneck's two
    sysctls: tuple[tuple[str, str], ...] = ()  # (name, value), on client and server

    def topology(self, cell: Cell) -> Topology:
        """The rig around the bottleneck of `cell`."""
        return daisy_chain(cell.link, cell.up, cell.down, self.base_rtt, self.edge_rate)


@dataclass(frozen=True)
class Traffic:
    """What is sent, and how long."""

    tool: str  # `flent`
    test: str  # the tool's name of the test: `rrul_be`
    length: Duration  # of the load
    step: Duration  # between two samples
    start_jitter: Duration  # each TCP flow starts up to this much later, as the seed says
    client: str = "client"  # the node that runs the tool
    server: str = "server"  # the node that answers it


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
    era: str = DEFAULT_ERA
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
    def topology(self) -> Topology:
        """The rig of this run."""
        return self.experiment.rig.topology(self.cell)

    def job(self) -> dict[str, Any]:
        """What the guest builds and sends, ready for JSON: equal runs give equal jobs."""
        topology = self.topology
        traffic = self.experiment.traffic
        settings = {
            "net.ipv4.tcp_congestion_control": self.cell.cc,
            **dict(self.experiment.rig.sysctls),
        }
        return {
            "format": JOB_FORMAT,
            "seed": self.seed,
            "nodes": [{"name": node.name, "forwards": node.forwards} for node in topology.nodes],
            "wires": [[_port_job(wire.a), _port_job(wire.b)] for wire in topology.wires],
            "routes": [
                {"node": route.node, "to": route.to, "via": route.via}
                for route in topology.routes()
            ],
            "sysctls": {host: dict(settings) for host in (traffic.client, traffic.server)},
            "traffic": {
                "tool": traffic.tool,
                "test": traffic.test,
                "length_s": self.length.seconds,
                "step_s": traffic.step.seconds,
                "start_jitter_us": round(traffic.start_jitter.us),
                "title": self.id,
                "client": traffic.client,
                "server": traffic.server,
                "server_address": topology.port(traffic.server).ip,
            },
        }


def _port_job(port: Port) -> dict[str, Any]:
    """A port of the job: the root qdisc is `1:`, its child `10:` below class `1:1`."""
    places = (("root", "1:"), ("1:1", "10:"))
    return {
        "node": port.node,
        "interface": port.interface,
        "address": port.address,
        "txqueuelen": port.txqueuelen.count,
        "qdiscs": [
            {
                "parent": parent,
                "handle": handle,
                "kind": qdisc.kind,
                "arguments": list(qdisc.tc_arguments()[1:]),
                "expect": qdisc.expect(),
            }
            for (parent, handle), qdisc in zip(places, port.egress.qdiscs(), strict=False)
        ],
    }
