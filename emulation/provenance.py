"""What a run was made of and what was seen of it: the `.json` beside its data.

`identity` holds everything that the bytes of the data depend on: two runs of equal identity give
equal data. The rest is what this execution saw.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from emulation import vm
from emulation.kernel import Kernel
from emulation.model import Run
from emulation.rootfs import RootFs

#: Packages whose versions are spelled out; the digest of the root file system covers all.
SPELLED_OUT = ("flent", "netperf", "irtt", "fping", "mininet", "iproute2", "python3.11", "libc6")

FORMAT = 2


def digest(content: bytes) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of `content`."""
    return hashlib.sha256(content).hexdigest()[:16]


def guest_code_digest(job: dict[str, Any]) -> str:
    """Digest of the code that does `job` in the guest."""
    total = hashlib.sha256()
    for path in vm.guest_code(job):
        total.update(path.name.encode() + b"\0" + path.read_bytes())
    return total.hexdigest()[:16]


def identity(run: Run, machine: vm.Machine, kernel: Kernel, root: RootFs) -> dict[str, Any]:
    """What the bytes of the data depend on."""
    job = run.job()
    boot = vm.command(replace(machine, trace=False))[1:]
    return {
        "kernel": {"series": kernel.series, "release": kernel.release, "digest": kernel.identity},
        "root": {"digest": root.digest, "tools": {n: root.packages[n] for n in SPELLED_OUT}},
        "guest": guest_code_digest(job),
        **({"modules": {m.name: m.digest for m in machine.modules}} if machine.modules else {}),
        "job": digest(json.dumps(job, sort_keys=True).encode()),
        "boot": {
            "memory_mib": machine.memory_mib,
            "seed": machine.seed,
            "digest": digest("\0".join(boot).encode()),
        },
    }


def record(
    run: Run,
    identity: dict[str, Any],
    kernel: Kernel,
    ending: vm.Ending,
    qdiscs: dict[str, Any],
    data: Path,
    log: Path,
) -> dict[str, Any]:
    """The provenance of a run that succeeded, with its `data` and its kernel's `log`."""
    cell = run.cell
    web = "web" in run.experiment.traffic.servers
    return {
        "format": FORMAT,
        "run": run.id,
        "paper": run.experiment.paper,
        "experiment": run.experiment.name,
        "link": cell.link.name,
        "qdisc": cell.qdisc,
        "cc": cell.cc,
        "seed": run.seed,
        "era": run.era,
        "length_s": run.length.seconds,
        "base_rtts_ms": [rtt.ms for rtt in run.experiment.rig.base_rtts],
        "base_rtt_ms": run.experiment.rig.base_rtt.ms,
        "measured_base_rtts_ms": ending.step("reached")["base_rtts_ms"],
        "identity": identity,
        "kernel_build": kernel.digest,
        "data_sha256": hashlib.sha256(data.read_bytes()).hexdigest(),
        "virtual_s": ending.virtual_s,
        "wall_s": round(ending.wall_s, 3),
        "cpu_s": round(ending.cpu_s, 3),
        "kernel_log": "clean",
        "kernel_log_sha256": hashlib.sha256(log.read_bytes()).hexdigest(),
        # No fetch time shows a page that failed.
        **({"page_failures": ending.step("fetched")["failures"]} if web else {}),
        "qdiscs": qdiscs,
    }


def queues(run: Run, about: Path, qdiscs: dict[str, Any]) -> dict[str, Any]:
    """What the provenance of a run between gateways has besides, or otherwise."""
    ports = {f"{port.node} {port.interface}" for port in run.topology.queues()}
    told: dict[str, Any] = json.loads(about.read_text())
    return {**told, "qdiscs": {port: seen for port, seen in qdiscs.items() if port in ports}}


def observed(run: Run, packets: Path, counts: Path, qdiscs: dict[str, Any]) -> dict[str, Any]:
    """What the provenance of a run has besides, or otherwise, whose every packet was followed."""
    routers = {node.name for node in run.topology.nodes if node.forwards}
    return {
        "flows": run.experiment.traffic.flows,
        **({"both_ways": True} if run.experiment.traffic.both_ways else {}),
        "packets": json.loads(counts.read_text()),
        "packets_sha256": hashlib.sha256(packets.read_bytes()).hexdigest(),
        # The captures tell what hosts and switches sent.
        "qdiscs": {port: seen for port, seen in qdiscs.items() if port.split()[0] in routers},
    }
