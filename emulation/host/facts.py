"""Facts about the machine that guests run on, for records."""

import os
import platform
from pathlib import Path
from typing import Any

#: Files that container engines put into a container.
_MARKS = ("/.dockerenv", "/run/.containerenv", "/run/systemd/container")


def about() -> dict[str, Any]:
    """Return CPU model, number of usable CPUs, host kernel release, and whether in a container."""
    return {
        "cpu_model": cpu_model(),
        "cpus": len(os.sched_getaffinity(0)),
        "host_kernel": platform.release(),
        "container": in_container(),
    }


def cpu_model(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """Return the name of the first CPU or, if the host does not say, its architecture."""
    try:
        lines = cpuinfo.read_text().splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine() or "unknown"


def in_container() -> bool:
    """Return whether this process seems to run in a container."""
    return "container" in os.environ or any(Path(mark).exists() for mark in _MARKS)
