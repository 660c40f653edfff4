"""The job of a guest, ready for JSON: the rig that it builds and the traffic that it sends."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from typing import Any

from qdisclab.emulation.errors import ConfigError
from qdisclab.emulation.kernel import features, module, recipe
from qdisclab.emulation.model import egress, era as eras, wifi
from qdisclab.emulation.model.control import allowed, of_linux
from qdisclab.emulation.model.qdisc import ModuleSource
from qdisclab.emulation.model.run import Run
from qdisclab.emulation.model.sysctls import releases
from qdisclab.emulation.model.topology import Node, Port, Topology
from qdisclab.emulation.model.tree import Attached, Tree, TreeClass

FORMAT = 2  # of jobs; the guest refuses any other
CLOCK_SLACK_MS = 10.0  # how much longer the RTT of an idle path may be if its delays have a clock


def job_of(run: Run) -> dict[str, Any]:
    """Return the job of a run; equal runs give equal jobs."""
    return next(jobs_of(run, [run.seed]))


def jobs_of(run: Run, seeds: Iterable[int]) -> Iterator[dict[str, Any]]:
    """Yield the job of `run` with each of the `seeds`, whose rig is described once."""
    topology = run.topology
    rig_part = rig(run, topology) if topology.nodes else {}
    for seeded in (replace(run, seed=seed) for seed in seeds):
        if not topology.nodes:
            yield run.traffic.job(seeded, topology)
            continue
        yield {
            **rig_part,
            "seed": seeded.seed,
            "parameters": {**rig_part["parameters"], **run.traffic.parameters()},
            "sysctls": _sysctls(seeded, topology),
            "traffic": _traffic(seeded, topology),
        }


def _sysctls(run: Run, topology: Topology) -> dict[str, dict[str, str]]:
    sysctls = run.traffic.sysctls(run, topology)
    for node, own in run.rig.node_sysctls.items():
        sysctls[node] = {**sysctls.get(node, {}), **own}
    if run.kernel not in recipe.all_series():
        return sysctls
    # What a kernel lacks is an era's: it does as asked without. A rig's was refused (`catalogue`).
    return {
        node: {
            name: value
            for name, value in settings.items()
            if recipe.in_range(run.kernel, releases(name, value))
        }
        for node, settings in sysctls.items()
    }


def _traffic(run: Run, topology: Topology) -> dict[str, Any]:
    traffic = run.traffic.job(run, topology)
    tick, noise = eras.tick(run.switches), topology.noise()
    shorter_ms = tick.ms if tick else noise.ms
    if shorter_ms:
        traffic["rtt_slack_ms"] = CLOCK_SLACK_MS + 2 * noise.ms
        for part in (traffic, *traffic.get("hosts", ()), *traffic.get("pairs", ())):
            if "base_rtt_ms" in part:
                part["base_rtt_ms"] -= shorter_ms  # the shortest time of a ping
    return traffic


def rig(run: Run, topology: Topology) -> dict[str, Any]:
    """Return what the guest builds, and the seed."""
    sources = modules_of(run, topology)
    needed, plugins = (
        [{"name": of.name, "digest": of.digest} for of in sources if of.plugin is plugin]
        for plugin in (False, True)
    )
    wires = [(wire.a, wire.b) for wire in topology.wires]
    qdiscs = topology.qdiscs()
    own = {q.kind for q in qdiscs if q.module and q.module.folder.parent != module.SOURCES}
    parameters = eras.parameters(run.switches) | clock(run, topology)
    return {
        "format": FORMAT,
        "seed": run.seed,
        "nodes": [_node(node) for node in topology.nodes],
        # A radio channel is a wire with one end per station, after that of the access point.
        "wires": [
            [_port(port, f"ifb{number}-{place}") for place, port in enumerate(ends)]
            for number, ends in enumerate((*wires, *(medium.ports() for medium in topology.media)))
        ],
        **({"drivers": [wifi.DRIVER]} if topology.media else {}),
        "routes": list(map(asdict, topology.routes())),
        "queues": [{"node": port.node, "interface": port.interface} for port in topology.queues()],
        "parameters": parameters | _wire(run, topology) | _controls(run),
        **({"modules": needed} if sources else {}),  # the guest tells tc where plugins are
        **({"plugins": plugins} if plugins else {}),
        **({"own_qdiscs": sorted(own)} if own else {}),  # which tc may not know
    }


def _controls(run: Run) -> dict[str, str]:
    """Return what congestion controls need beside their modules: a map of files to their text."""
    of_modules = [control.name for control in run.own_controls]  # in the order of their loading
    of_modules += _controls_of_linux(run)
    of_kernel = run.controls.difference(of_modules)
    files = (control.files() for control in run.own_controls)
    parameters = {path: text for each in files for path, text in each.items()}
    return parameters | allowed(of_kernel, of_modules)


def _controls_of_linux(run: Run) -> list[str]:
    """Return the congestion controls of `run` that are modules of Linux itself."""
    own = (control.name for control in run.own_controls)
    return features.control_modules(run.kernel, run.controls.difference(own))


def clock(run: Run, topology: Topology) -> dict[str, str]:
    """Return the parameters of the clock of a delay that keep the average as without one.

    They map a file to its text. Raises `ConfigError` where one clock cannot give all delays.
    """
    if (tick := eras.tick(run.switches)) is None:
        return {}
    if run.noise:
        what = "packets leave a delay at the ticks of a clock or with noise, not both"
        raise ConfigError(what, run.experiment_id, "leave out its switch, or set rig.noise=0")
    delays = topology.delays()
    if len(delays) != 1:
        listed = ", ".join(map(str, sorted(delays))) or "none"
        what = f"a clock needs the same delay in each direction, the rig has {listed}"
        raise ConfigError(what, run.experiment_id, "leave its switch out of the era")
    (delay,) = delays
    if (hold_us := delay.nanoseconds // 1000 - tick.nanoseconds // 2000) < 0:
        what = f"a clock of {tick} cannot give a delay of {delay}"
        raise ConfigError(what, run.experiment_id, "choose a finer clock")
    module = eras.clock(run.switches)
    interval = {"ticks": "tick_us", "card": "gap_us"}[module]
    return _parameters(module, {"hold_us": hold_us, interval: tick.nanoseconds // 1000})


def _parameters(qdisc: str, values: dict[str, int]) -> dict[str, str]:
    """Map the files with the parameters of a qdisc's module to their text."""
    return {f"/sys/module/sch_{qdisc}/parameters/{name}": str(of) for name, of in values.items()}


def _wire(run: Run, topology: Topology) -> dict[str, str]:
    """Return what a ring needs of HTB, rate and bucket; it maps files to their text."""
    if not (ring := eras.ring(run.switches)):
        return {}
    (htb,) = (port.egress for port in topology.ports() if isinstance(port.egress, egress.Hierarchy))
    return _parameters(ring, {"rate_bit_s": htb.rate.bits_per_second, "bucket": htb.burst.bytes})


def modules_of(run: Run, topology: Topology | None = None) -> tuple[ModuleSource, ...]:
    """Return the modules of `run`, each once: what the kernel lacks, and plugins of `tc`."""
    qdiscs = list((topology or run.topology).qdiscs())
    own = [qdisc.module for qdisc in qdiscs if qdisc.module is not None]
    own += [control.module for control in run.own_controls]
    plugged = sorted({qdisc.kind for qdisc in qdiscs if qdisc.about.needs_plugin})
    folders = (*eras.modules(run.switches), *run.traffic.modules, *plugged)
    named = (module.source(module.SOURCES / folder) for folder in folders)
    files = features.qdisc_modules(run.kernel, {qdisc.kind for qdisc in qdiscs})
    files += map(of_linux, _controls_of_linux(run))
    return tuple(dict.fromkeys((*own, *named, *map(ModuleSource.of_linux, files))))


def _node(node: Node) -> dict[str, Any]:
    fields: dict[str, Any] = {"name": node.name, "forwards": node.forwards}
    return {**fields, "switches": True} if node.switches else fields


def _port(port: Port, device: str) -> dict[str, Any]:
    """Return a port of the job, with its qdiscs in the order in which they are installed.

    `device` receives arriving packets, where a tree has an `ingress`.
    """
    fields: dict[str, Any] = {
        "node": port.node,
        "interface": port.interface,
        "addresses": list(port.addresses),
        "txqueuelen": port.txqueuelen.count,
        "qdiscs": [_qdisc(attached) for attached in port.egress.attached()],
        "filters": list(port.egress.filters()),
    }
    if port.offloads:
        fields["offloads"] = True
    if isinstance(port.egress, egress.Hierarchy):
        fields["classes"] = list(port.egress.classes())
    if isinstance(port.egress, Tree):
        fields["tree"] = _tree(port.egress, device)
    if isinstance(port.egress, egress.Radio):
        fields["wifi"] = dict(port.egress.options)
    return fields


def _qdisc(attached: Attached) -> dict[str, Any]:
    qdisc = attached.qdisc
    return {
        "parent": attached.parent,
        "handle": attached.handle,
        "kind": qdisc.kind,
        "arguments": list(qdisc.tc_arguments()[1:]),
        "expect": qdisc.expect(),
    }


def _tree(tree: Tree, device: str) -> dict[str, Any]:
    """Return the fields of a port with a tree, in addition to its qdiscs and filters."""
    fields: dict[str, Any] = {"classes": [_class(tree_class) for tree_class in tree.classes]}
    if tree.ingress is not None:
        fields["ingress"] = {
            "interface": device,
            "qdiscs": [_qdisc(attached) for attached in tree.ingress.attached()],
            "filters": list(tree.ingress.filters()),
            "tree": _tree(tree.ingress, ""),
        }
    return fields


def _class(tree_class: TreeClass) -> dict[str, Any]:
    return {
        "parent": tree_class.parent,
        "classid": tree_class.classid,
        "kind": tree_class.kind,
        "arguments": list(tree_class.words()),
        "expect": tree_class.expect(),
    }
