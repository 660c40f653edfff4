"""The same rig in ns-3, to measure how fast a simulator is on this machine.

ns-3 comes from PyPI with its Python bindings, and nothing else depends on it: it has a virtual
environment of its own in the user's cache, made when it is first needed (520 MB).
"""

import json
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qdisclab.emulation.config.job import job_of
from qdisclab.emulation.errors import ConfigError, MissingTool
from qdisclab.emulation.host.cache import cache_dir
from qdisclab.emulation.model.run import Run
from qdisclab.emulation.study import studies

#: The package on PyPI.
REQUIREMENT = "ns3==3.44.post0"

#: The program that simulates the rig.
RIG = studies.SHIPPED / "testbed/ns3_rig.py"

#: Number of flows per direction, as in RRUL.
FLOWS = 4

#: TCP payload of a frame of 1514 bytes, with timestamps.
SEGMENT_BYTES = 1448


@dataclass(frozen=True)
class Simulated:
    """Time and results of a simulation."""

    wall_s: float  # from start to end of its process
    load_s: float  # part of it that is the simulation itself
    hops: int  # packets times the links that each has crossed
    packets: int  # that left the two bottlenecks
    received_bytes: int  # by the applications


def parameters(run: Run) -> dict[str, Any]:
    """Return the program's parameters: link, delay and buffers of `run`.

    Raises `ConfigError` unless its rig is a row of five nodes with FqCoDel at both bottlenecks.
    """
    ports = run.topology.queues()
    kinds = {getattr(getattr(port.egress, "qdisc", None), "kind", None) for port in ports}
    if len(run.topology.nodes) != 5 or kinds != {"fq_codel"} or run.topology.media:
        what = "ns-3 is measured on five wired nodes in a row, with fq_codel"
        raise ConfigError(what, "--scenario", "name rrul-10 or rrul-100")
    sysctls = job_of(run)["sysctls"][run.topology.nodes[0].name]
    return {
        "down_bit_s": run.link.down.bits_per_second,
        "up_bit_s": run.link.up.bits_per_second,
        "access_bit_s": 10**9,
        "one_way_ns": run.base_rtts[0].nanoseconds // 2,
        "length_s": run.length.seconds,
        "flows": FLOWS,
        "limit": 10240,
        "send_bytes": int(sysctls["net.ipv4.tcp_wmem"].split()[2]),
        "receive_bytes": int(sysctls["net.ipv4.tcp_rmem"].split()[2]),
        "segment_bytes": SEGMENT_BYTES,
        "seed": run.seed,
    }


def simulate(run: Run, python: Path) -> Simulated:
    """Simulate the load of `run` with the `python` that `install` returned."""
    began = time.monotonic()
    words = [str(python), "-I", str(RIG), json.dumps(parameters(run))]
    process = subprocess.run(words, capture_output=True, text=True)
    return parse(process.stdout, process.stderr, time.monotonic() - began)


def parse(stdout: str, stderr: str, wall_s: float) -> Simulated:
    """Parse the program's output; raise `MissingTool` with its last error if it has no result."""
    try:
        return Simulated(wall_s, **json.loads(stdout.splitlines()[-1]))
    except (ValueError, IndexError, TypeError):
        what = f"ns-3 ended without a result: {_last_line(stderr)}"
        raise MissingTool(what, REQUIREMENT, f"remove {_folder()} and run it again") from None


def install() -> Path:
    """Install ns-3 unless the cache has it, and return the Python that has it.

    Raises `MissingTool` if venv, pip or the network is missing.
    """
    folder = _folder()
    python, done = folder / "bin" / "python", folder / "installed"
    if done.exists():
        return python
    shutil.rmtree(folder, ignore_errors=True)  # an installation that was stopped
    venv = [sys.executable, "-m", "venv", str(folder)]
    for words in (venv, [str(python), "-m", "pip", "install", "--quiet", REQUIREMENT]):
        try:
            subprocess.run(words, check=True, capture_output=True, text=True)
        except (OSError, subprocess.CalledProcessError) as error:
            output = getattr(error, "stderr", "") or getattr(error, "stdout", "") or str(error)
            step = "pip" if "pip" in words else "venv"
            what = f"{REQUIREMENT} cannot be installed, {step} says: {_last_line(output)}"
            todo = "it needs a network, pip, venv (python3-venv) and Linux on x86-64"
            raise MissingTool(what, "--against ns3", todo) from None
    done.touch()
    return python


def _folder() -> Path:
    version = REQUIREMENT.partition("==")[2]
    return cache_dir("ns3") / f"{version}-{sys.implementation.cache_tag}"


def _last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]  # pip's last lines are notices
    return ([*lines[-1:], *errors[-1:]] or ["nothing"])[-1][:200]
