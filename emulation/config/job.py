"""What a guest is told: the rig that it builds and what it sends, ready for JSON."""

from __future__ import annotations

from typing import Any

from emulation.errors import ConfigError
from emulation.kernel import module
from emulation.model import era as eras
from emulation.model.qdisc import ModuleSource
from emulation.model.run import Run
from emulation.model.topology import Hierarchy, Node, Port, Radio, Topology
from emulation.model.tree import Attached, Tree, TreeClass
from emulation.model.wifi import DRIVER, for_json

FORMAT = 2  # the guest refuses any other
CLOCK_SLACK_MS = 10.0  # how much longer an idle path may take whose delays have a clock


def job_of(run: Run) -> dict[str, Any]:
    """The job of a run: equal runs give equal jobs."""
    topology = run.topology
    if not topology.nodes:
        return run.traffic.job(run, topology)
    built = rig(run, topology)
    return {
        **built,
        "parameters": {**built["parameters"], **run.traffic.parameters()},
        "sysctls": _sysctls(run, topology),
        "traffic": _traffic(run, topology),
    }


def _sysctls(run: Run, topology: Topology) -> dict[str, dict[str, str]]:
    found = run.traffic.sysctls(run, topology)
    for node, own in run.rig.node_sysctls.items():
        found[node] = {**found.get(node, {}), **own}
    return found


def _traffic(run: Run, topology: Topology) -> dict[str, Any]:
    told = run.traffic.job(run, topology)
    tick = eras.tick(run.switches)
    if tick:
        told["rtt_slack_ms"] = CLOCK_SLACK_MS
        for place in (told, *told.get("hosts", ()), *told.get("pairs", ())):
            if "base_rtt_ms" in place:
                place["base_rtt_ms"] -= tick.ms  # the least that a ping may take
    return told


def rig(run: Run, topology: Topology) -> dict[str, Any]:
    """What the guest builds, and the seed."""
    needed = [{"name": one.name, "digest": one.digest} for one in modules_of(run, topology)]
    wires = [(wire.a, wire.b) for wire in topology.wires]
    return {
        "format": FORMAT,
        "seed": run.seed,
        "nodes": [_node(node) for node in topology.nodes],
        # A radio channel is a wire with an end more a station, the access point's first.
        "wires": [
            [_port(port, f"ifb{number}-{place}") for place, port in enumerate(ends)]
            for number, ends in enumerate((*wires, *(medium.ports() for medium in topology.media)))
        ],
        **({"drivers": [DRIVER]} if topology.media else {}),
        "routes": [
            {"node": route.node, "to": route.to, "via": route.via} for route in topology.routes()
        ],
        "queues": [{"node": port.node, "interface": port.interface} for port in topology.queues()],
        "parameters": {**eras.parameters(run.switches), **clock(run, topology)},
        **({"modules": needed} if needed else {}),
    }


def clock(run: Run, topology: Topology) -> dict[str, str]:
    """Parameters of `qdisc/src/ticks`: the same delay on average as without a clock.

    Raises `ConfigError` where one clock cannot give all delays of the rig.
    """
    tick = eras.tick(run.switches)
    if tick is None:
        return {}
    delays = topology.delays()
    if len(delays) != 1:
        told = ", ".join(map(str, sorted(delays))) or "none"
        what = f"a clock is for one delay of each direction, the rig has {told}"
        raise ConfigError(what, run.experiment_id, "leave the switch ticks_… of the era out")
    (delay,) = delays
    hold_us = delay.nanoseconds // 1000 - tick.nanoseconds // 2000
    if hold_us < 0:
        what = f"a clock of {tick} cannot give a delay of {delay}"
        raise ConfigError(what, run.experiment_id, "choose a finer one")
    values = {"hold_us": hold_us, "tick_us": tick.nanoseconds // 1000}
    return {
        f"/sys/module/sch_ticks/parameters/{name}": str(value) for name, value in values.items()
    }


def modules_of(run: Run, topology: Topology | None = None) -> tuple[ModuleSource, ...]:
    """What brings qdiscs, behaviour and links that the kernel does not have, each once."""
    found = (
        attached.qdisc.module
        for port in (topology or run.topology).ports()
        for attached in port.egress.attached()
    )
    folders = (*eras.modules(run.switches), *run.traffic.modules)
    named = (module.source(module.SOURCES / folder) for folder in folders)
    return tuple(dict.fromkeys((*(one for one in found if one is not None), *named)))


def _node(node: Node) -> dict[str, Any]:
    told: dict[str, Any] = {"name": node.name, "forwards": node.forwards}
    return {**told, "switches": True} if node.switches else told


def _port(port: Port, device: str) -> dict[str, Any]:
    """A port of the job, with its qdiscs in the order in which they are installed.

    `device` takes what arrives, where a tree is for that.
    """
    told: dict[str, Any] = {
        "node": port.node,
        "interface": port.interface,
        "addresses": list(port.addresses),
        "txqueuelen": port.txqueuelen.count,
        "qdiscs": [_qdisc(attached) for attached in port.egress.attached()],
        "filters": list(port.egress.filters()),
    }
    if isinstance(port.egress, Hierarchy):
        told["classes"] = list(port.egress.classes())
    if isinstance(port.egress, Tree):
        told["tree"] = _tree(port.egress, device)
    if isinstance(port.egress, Radio):
        told["wifi"] = for_json(port.egress.options)
    return told


def _qdisc(attached: Attached) -> dict[str, Any]:
    return {
        "parent": attached.parent,
        "handle": attached.handle,
        "kind": attached.qdisc.kind,
        "arguments": list(attached.qdisc.tc_arguments()[1:]),
        "expect": attached.qdisc.expect(),
    }


def _tree(tree: Tree, device: str) -> dict[str, Any]:
    """What a port with a tree has beside its qdiscs and filters."""
    told: dict[str, Any] = {"classes": [_class(one) for one in tree.classes]}
    if tree.ingress is not None:
        told["ingress"] = {
            "interface": device,
            "qdiscs": [_qdisc(attached) for attached in tree.ingress.attached()],
            "filters": list(tree.ingress.filters()),
            "tree": _tree(tree.ingress, ""),
        }
    return told


def _class(one: TreeClass) -> dict[str, Any]:
    return {
        "parent": one.parent,
        "classid": one.classid,
        "kind": one.kind,
        "arguments": list(one.words()),
        "expect": one.expect(),
    }
