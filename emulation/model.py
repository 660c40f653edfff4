"""The nouns of an experiment: traffic, cell, experiment, paper, run. Frozen values, no I/O.

`Qdisc`, `Link` and the parts of the rig come from their own modules and can be imported from here.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from emulation import era as eras
from emulation.dumbbell import PAIRS, dumbbell
from emulation.gateways import gateways
from emulation.kernel import module
from emulation.load import Change, Load, traffic_job
from emulation.qdisc import ModuleSource, Option, Qdisc
from emulation.topology import (
    Delay,
    Delays,
    Hierarchy,
    Link,
    Medium,
    Node,
    Port,
    Radio,
    Route,
    Shaper,
    Topology,
    Wire,
    daisy_chain,
)
from emulation.units import Duration, Rate, Size
from emulation.wifi import DRIVER, Wifi, for_json
from emulation.wifi_chain import over_wifi
from emulation.wifi_dumbbell import wifi_dumbbell
from emulation.window import window_job

__all__ = [
    "DEFAULT_ERA",
    "DEFAULT_KERNEL",
    "JOB_FORMAT",
    "Cell",
    "Delay",
    "Delays",
    "Experiment",
    "Hierarchy",
    "Link",
    "Medium",
    "ModuleSource",
    "Node",
    "Option",
    "Paper",
    "Port",
    "Qdisc",
    "Radio",
    "Rig",
    "Route",
    "Run",
    "Shaper",
    "Topology",
    "Traffic",
    "Wifi",
    "Wire",
    "daisy_chain",
]

JOB_FORMAT = 2  # of what `Run.job` returns; the guest refuses any other
DEFAULT_ERA = eras.MODERN
DEFAULT_MEMORY = Size(192 * 2**20)
DEFAULT_KERNEL = "6.12"  # series
#: Pages of all hosts together, never reached: 128 MiB. A guest's own would be a few MB.
TCP_MEMORY = {"/proc/sys/net/ipv4/tcp_mem": "16384\t24576\t32768"}
KNOWN_NEIGHBOUR_MS = "36000000"  # no run is that long


@dataclass(frozen=True)
class Rig:
    """What an experiment sets beside the bottleneck."""

    base_rtts: tuple[Duration, ...]  # of the empty path to each of the server's addresses
    edge_rate: Rate  # of every port but the bottleneck's two
    sysctls: tuple[tuple[str, str], ...] = ()  # (name, value), on client and server
    kind: str = "daisy_chain"  # or `dumbbell`, `gateways`
    pairs: int = PAIRS  # of a dumbbell: senders, and as many receivers
    #: Of a daisy chain: the link between the client and `router_up`; of a dumbbell: in place of the
    #: wires to the receivers, the bottleneck.
    wifi: Wifi | None = None
    mtu: Size | None = None  # of every port of gateways, in whole IP packets; None: Ethernet's
    schedule: tuple[Change, ...] = ()  # how the rate of the link between gateways changes

    @property
    def base_rtt(self) -> Duration:
        """Of the path to the server's first address."""
        return self.base_rtts[0]

    def topology(self, cell: Cell, on: tuple[eras.Switch, ...] = ()) -> Topology:
        """The rig around the bottleneck of `cell`, with the switches that are on."""
        up, down = (eras.restored(qdisc, on) for qdisc in (cell.up, cell.down))
        if self.kind == "dumbbell" and self.wifi is not None:
            return wifi_dumbbell(cell.link, down, self.wifi, self.base_rtt, self.edge_rate)
        if self.kind == "dumbbell":
            return dumbbell(cell.link, up, self.base_rtt, self.edge_rate, self.pairs)
        if self.kind == "gateways":
            return gateways(cell.link, up, down, self.base_rtt, self.edge_rate)
        chain = daisy_chain(cell.link, up, down, self.base_rtts, self.edge_rate)
        return chain if self.wifi is None else over_wifi(chain, self.wifi, up, down)


@dataclass(frozen=True)
class Traffic:
    """What is sent, and how long."""

    tool: str  # `flent`, `iperf` for bulk flows between the pairs of a dumbbell, `mix` or `window`
    test: str  # flent's name of the test, or of the one whose form iperf's data take: `rrul_be`
    length: Duration  # of the load
    step: Duration  # between two samples
    start_jitter: Duration  # each TCP flow starts up to this much later, as the seed says
    servers: tuple[str, ...] = ("netserver", "irtt")  # what answers, in the order of their start
    options: tuple[tuple[str, str], ...] = ()  # (name, value) of the tool's further options
    client: str = "client"  # the node that runs the tool
    server: str = "server"  # the node that answers it
    flows: int | None = None  # of iperf, the pairs in turn
    both_ways: bool = False  # of iperf: as many flows from receivers to senders
    ping_interval: Duration | None = None  # beside iperf's flows, from the first sender
    loads: tuple[Load, ...] = ()  # of mix; the repetitions take them in turn
    window: int = 0  # of the tool `window`: packets in flight
    ack_every: int = 1  # and of how many the receiver acknowledges the last


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
    restores: tuple[str, ...] = ()  # switches that its runs of former eras have besides (`era`)

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
    def load(self) -> Load:
        """What `mix` sends: repetitions take the experiment's loads in turn."""
        loads = self.experiment.traffic.loads
        return loads[(self.seed - 1) % len(loads)]

    @property
    def memory_mib(self) -> int:
        """The guest's memory."""
        return self.experiment.memory.bytes >> 20

    @property
    def switches(self) -> tuple[eras.Switch, ...]:
        """Which behaviour of former kernels this run has."""
        return eras.switches(self.era, self.experiment.restores)

    @property
    def modules(self) -> tuple[ModuleSource, ...]:
        """What brings qdiscs and behaviour that the kernel does not have, each once."""
        found = (
            attached.qdisc.module
            for port in self.topology.ports()
            for attached in port.egress.attached()
        )
        folders = eras.modules(self.switches)
        of_era = (module.source(module.SOURCES / folder) for folder in folders)
        return tuple(dict.fromkeys((*(one for one in found if one is not None), *of_era)))

    @property
    def topology(self) -> Topology:
        """The rig of this run."""
        return self.experiment.rig.topology(self.cell, self.switches)

    def job(self) -> dict[str, Any]:
        """What the guest builds and sends, ready for JSON: equal runs give equal jobs."""
        topology = self.topology
        rig, traffic = self.experiment.rig, self.experiment.traffic
        if traffic.tool == "iperf":
            return self._bulk_job(topology)
        if traffic.tool == "mix":
            return self._mix_job(topology)
        if traffic.tool == "window":
            return self._window_job(topology)
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
        every = traffic.ping_interval
        pings = {"ping_interval_s": every.seconds} if every else {}
        assert traffic.flows is not None
        tool: dict[str, Any] = {"tool": traffic.tool}
        pairs, flows = list(topology.pairs), traffic.flows
        if topology.media:
            counted = [{"node": node, "interface": name} for node, name in topology.observed[1:2]]
            tool = {"tool": "stations", "servers": [traffic.tool], "counted": counted}
        if traffic.both_ways:  # flows take the pairs in turn
            pairs += [(receiver, sender) for sender, receiver in topology.pairs]
            flows *= 2
        return {
            **self._rig_job(topology),
            "sysctls": self._sysctls_of_pairs(topology),
            "traffic": {
                **tool,
                "flows": flows,
                "length_s": self.length.seconds,
                "start_jitter_us": round(traffic.start_jitter.us),
                "base_rtt_ms": rig.base_rtt.ms,
                **pings,
                "pairs": [
                    {"sender": sender, "receiver": receiver, "address": topology.port(receiver).ip}
                    for sender, receiver in pairs
                ],
                "captures": [
                    {"node": node, "interface": interface} for node, interface in topology.observed
                ],
            },
        }

    def _mix_job(self, topology: Topology) -> dict[str, Any]:
        """The job of a load between gateways, whose queues are captured."""
        about, rig = self.experiment, self._rig_job(topology)
        return {
            **rig,
            "parameters": {**rig["parameters"], **TCP_MEMORY},
            "sysctls": self._sysctls_of_pairs(topology),
            "traffic": traffic_job(
                self.load,
                topology,
                # The same whatever the qdisc: qdiscs are compared by the same sessions.
                draw=f"{about.id}/{self.cell.link.slug}/{self.seed}",
                base_rtt=about.rig.base_rtt,
                length=self.length,
                start_jitter=about.traffic.start_jitter,
                mtu=about.rig.mtu.bytes if about.rig.mtu else None,
                schedule=about.rig.schedule,
            ),
        }

    def _window_job(self, topology: Topology) -> dict[str, Any]:
        """The job of one connection between gateways, whose packets are all captured."""
        rig, traffic = self.experiment.rig, self.experiment.traffic
        assert rig.mtu is not None
        return {
            **self._rig_job(topology),
            "sysctls": self._sysctls_of_pairs(topology),
            "traffic": window_job(
                topology,
                window=traffic.window,
                ack_every=traffic.ack_every,
                base_rtt=rig.base_rtt,
                length=self.length,
                mtu=rig.mtu,
            ),
        }

    def _sysctls_of_pairs(self, topology: Topology) -> dict[str, dict[str, str]]:
        """Of every node: those of hosts, and that no question for an address is asked under load.

        It would get into the queue under test.
        """
        hosts = (host for pair in topology.pairs for host in pair)
        sysctls = {host: self._sysctls() for host in hosts}
        for port in topology.ports():
            if port.address:
                name = f"net.ipv4.neigh.{port.interface}.base_reachable_time_ms"
                sysctls.setdefault(port.node, {})[name] = KNOWN_NEIGHBOUR_MS
        return sysctls

    def _sysctls(self) -> dict[str, str]:
        """Of a host that sends or receives."""
        return {
            "net.ipv4.tcp_congestion_control": self.cell.cc,
            **dict(self.experiment.rig.sysctls),
            **eras.sysctls(self.switches),
        }

    def _rig_job(self, topology: Topology) -> dict[str, Any]:
        """What the guest builds, and the seed."""
        modules = [{"name": one.name, "digest": one.digest} for one in self.modules]
        wires = [(wire.a, wire.b) for wire in topology.wires]
        return {
            "format": JOB_FORMAT,
            "seed": self.seed,
            "nodes": [_node_job(node) for node in topology.nodes],
            # A radio channel is a wire with an end more a station, the access point's first.
            "wires": [
                [_port_job(port) for port in ends]
                for ends in (*wires, *(medium.ports() for medium in topology.media))
            ],
            **({"drivers": [DRIVER]} if topology.media else {}),
            "routes": [
                {"node": route.node, "to": route.to, "via": route.via}
                for route in topology.routes()
            ],
            "queues": [
                {"node": port.node, "interface": port.interface} for port in topology.queues()
            ],
            "parameters": eras.parameters(self.switches),
            **({"modules": modules} if modules else {}),
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
    if isinstance(port.egress, Radio):
        job["wifi"] = for_json(port.egress.options)
    return job
