"""The same rig in ns-3, to measure how fast a simulator is on this machine.

ns-3 comes from PyPI with its Python bindings and is no dependency of anything else: it has a
virtual environment of its own in the user's cache, made when it is first asked for (520 MB).
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from emulation.config.job import job_of
from emulation.errors import ConfigError, MissingTool
from emulation.host.cache import cache_dir
from emulation.model.run import Run

#: On PyPI.
REQUIREMENT = "ns3==3.44.post0"

#: The program that it runs.
RIG = Path(__file__).with_name("ns3_rig.py")

#: Flows of one direction: those of RRUL.
FLOWS = 4

#: TCP's payload in a frame of 1514 bytes, with timestamps.
SEGMENT_BYTES = 1448


@dataclass(frozen=True)
class Simulated:
    """What a simulation took and gave."""

    wall_s: float  # from start to end of its process
    load_s: float  # of it, of the simulation itself
    hops: int  # packets times the links that each has crossed
    packets: int  # that left the two bottlenecks
    received_bytes: int  # by the applications


def asked(run: Run) -> dict[str, Any]:
    """What the program is told: the link, delay and buffers of `run`, whose rig is a row of five
    nodes with FqCoDel at both bottlenecks; `ConfigError` for another."""
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
    """Simulate the load of `run` with the `python` that `installed` gave."""
    began = time.monotonic()
    # Isolated: beside the program lies this module, which has the name of the package.
    words = [str(python), "-I", str(RIG), json.dumps(asked(run))]
    done = subprocess.run(words, capture_output=True, text=True)
    wall_s = time.monotonic() - began
    return parsed(done.stdout, done.stderr, wall_s)


def parsed(printed: str, said: str, wall_s: float) -> Simulated:
    """What the program `printed`; raises `MissingTool` with the last line that it `said`."""
    try:
        found = json.loads(printed.splitlines()[-1])
        return Simulated(wall_s, **found)
    except (ValueError, IndexError, TypeError):
        what = f"ns-3 ended without a result: {_last_line(said)}"
        raise MissingTool(what, REQUIREMENT, f"remove {_folder()} and run it again") from None


def installed() -> Path:
    """The Python that has ns-3; it is installed where the cache lacks it.

    Raises `MissingTool` where venv, pip or the network is missing.
    """
    folder = _folder()
    python, done = folder / "bin" / "python", folder / "installed"
    if done.exists():
        return python
    shutil.rmtree(folder, ignore_errors=True)  # half of it, of an installation that was stopped
    for words in (
        [sys.executable, "-m", "venv", str(folder)],
        [str(python), "-m", "pip", "install", "--quiet", REQUIREMENT],
    ):
        try:
            subprocess.run(words, check=True, capture_output=True, text=True)
        except (OSError, subprocess.CalledProcessError) as error:
            said = getattr(error, "stderr", "") or getattr(error, "stdout", "") or str(error)
            step = "pip" if "pip" in words else "venv"
            raise MissingTool(
                f"{REQUIREMENT} cannot be installed, {step} says: {_last_line(said)}",
                "--against ns3",
                "see to a network, pip and venv (python3-venv), and Linux on x86-64",
            ) from None
    done.touch()
    return python


def _folder() -> Path:
    version = REQUIREMENT.partition("==")[2]
    return cache_dir("ns3") / f"{version}-{sys.implementation.cache_tag}"


def _last_line(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]  # pip tells of itself last
    return ([*lines[-1:], *errors[-1:]] or ["nothing"])[-1][:200]
