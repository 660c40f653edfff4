"""What a run was made of and what was observed: the `.json` file next to its data.

`identity` has everything that the bytes of the data depend on: two runs of equal identity give
equal data. The rest was observed in this execution.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from qdisclab.emulation.config.job import job_of
from qdisclab.emulation.config.request import request
from qdisclab.emulation.host.digest import sha256
from qdisclab.emulation.kernel import Kernel
from qdisclab.emulation.machine import guestcode, rootfs, vm
from qdisclab.emulation.model.run import Run

#: Packages whose versions are recorded; the digest of the root file system covers all packages.
SPELLED_OUT = ("flent", "netperf", "irtt", "fping", "mininet", "iproute2", "python3.11", "libc6")

FORMAT = 2


def digest(content: bytes) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of `content`."""
    return hashlib.sha256(content).hexdigest()[:16]


def job_digest(job: dict[str, Any]) -> str:
    """Return a digest of a job, in which the order of keys does not count."""
    return digest(json.dumps(job, sort_keys=True).encode())


def guest_code_digest(job: dict[str, Any]) -> str:
    """Return a digest of the guest code that `job` runs."""
    total = hashlib.sha256()
    for name, content in guestcode.files(job).items():
        total.update(name.encode() + b"\0" + content)
    return total.hexdigest()[:16]


def identity(run: Run, machine: vm.Machine, kernel: Kernel, root: rootfs.RootFs) -> dict[str, Any]:
    """Return everything that the bytes of the data depend on."""
    return {
        **of_guest(job_of(run), machine, kernel),
        "root": {"digest": root.digest, "tools": {n: root.packages[n] for n in SPELLED_OUT}},
        **({"layers": [layer.about for layer in machine.layers]} if machine.layers else {}),
    }


def of_guest(job: dict[str, Any], machine: vm.Machine, kernel: Kernel) -> dict[str, Any]:
    """Return what each identity says of a guest: its kernel, modules, code, job and boot."""
    boot = vm.command(machine)[1:]
    return {
        "kernel": {"series": kernel.series, "release": kernel.release, "digest": kernel.identity},
        "guest": guest_code_digest(job),
        **({"modules": {m.name: m.digest for m in machine.modules}} if machine.modules else {}),
        "job": job_digest(job),
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
    """Return the provenance of a successful run, with its `data` and its kernel's `log`."""
    borrowed = {str(rate): str(taken) for rate, taken in run.point.borrowed}
    rtts = [rtt.ms for rtt in run.base_rtts]
    # Pings may have measured the idle path.
    reached = next((step for step in ending.steps if step["step"] == "reached"), {})
    return {
        "format": FORMAT,
        **request(run),
        **({"borrowed_rates": borrowed} if borrowed else {}),
        **({"base_rtts_ms": rtts, "base_rtt_ms": rtts[0]} if rtts else {}),
        **({"measured_base_rtts_ms": reached["base_rtts_ms"]} if "base_rtts_ms" in reached else {}),
        "identity": identity,
        "kernel_build": kernel.digest,
        **({"kernel_tree": kernel.tree} if kernel.tree else {}),
        "data_sha256": sha256(data),
        "virtual_s": ending.virtual_s,
        "wall_s": round(ending.wall_s, 3),
        "cpu_s": round(ending.cpu_s, 3),
        **({"notes": ending.notes} if ending.notes else {}),
        "kernel_log": "clean",
        "kernel_log_sha256": sha256(log),
        "qdiscs": qdiscs,
    }
