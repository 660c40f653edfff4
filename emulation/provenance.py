"""What a run was made of and what was seen of it: the `.json` beside its data.

`identity` holds everything that the bytes of the data depend on: two runs of equal identity give
equal data. The rest is what this execution saw.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from emulation.kernel import Kernel
from emulation.model import Run
from emulation.rootfs import RootFs
from emulation.vm import GUEST_CODE, Ending, Machine

#: Packages whose versions are spelled out; the digest of the root file system covers all.
SPELLED_OUT = ("flent", "netperf", "irtt", "fping", "mininet", "iproute2", "python3.11", "libc6")

FORMAT = 1


def digest(content: bytes) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of `content`."""
    return hashlib.sha256(content).hexdigest()[:16]


def guest_code_digest() -> str:
    """Digest of the code that runs in the guest."""
    total = hashlib.sha256()
    for path in sorted(GUEST_CODE.glob("*.*")):
        total.update(path.name.encode() + b"\0" + path.read_bytes())
    return total.hexdigest()[:16]


def identity(run: Run, machine: Machine, kernel: Kernel, root: RootFs) -> dict[str, Any]:
    """What the bytes of the data depend on."""
    return {
        "kernel": {"series": kernel.series, "release": kernel.release, "digest": kernel.digest},
        "root": {"digest": root.digest, "tools": {n: root.packages[n] for n in SPELLED_OUT}},
        "guest": guest_code_digest(),
        "job": digest(json.dumps(run.job(), sort_keys=True).encode()),
        "memory_mib": machine.memory_mib,
        "seed": run.seed,
    }


def record(
    run: Run,
    identity: dict[str, Any],
    ending: Ending,
    qdiscs: dict[str, Any],
    data: Path,
) -> dict[str, Any]:
    """The provenance of a run that succeeded."""
    cell = run.cell
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
        "base_rtt_ms": run.experiment.rig.base_rtt.ms,
        "measured_base_rtt_ms": ending.step("reached")["base_rtt_ms"],
        "identity": identity,
        "data_sha256": hashlib.sha256(data.read_bytes()).hexdigest(),
        "virtual_s": ending.virtual_s,
        "wall_s": round(ending.wall_s, 3),
        "cpu_s": round(ending.cpu_s, 3),
        "kernel_log": "clean",
        "qdiscs": qdiscs,
    }
