"""Which files of `emulation/guest` a job needs: its guest gets no others.

Each file is listed here, by what needs it. So the digest of a run's code changes only if a file
changes that the run has, and a work, tool, server or feature that is not listed is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from emulation.errors import ConfigError

#: Where the files are.
FOLDER = Path(__file__).parents[1] / "guest"

#: The files that start every guest and do its work.
START = ("init.sh", "main.py")

#: A rig, and the parts that all traffic has.
RIG = ("capture.py", "flentdata.py", "namespace.py", "readback.py", "rig.py", "traffic.py")

#: Commands for programs and for people in a shell, Open vSwitch among them.
COMMANDS = ("commands.py", "switch.py")

#: The kinds of work, by the job's key `work`; without that key it is a `run`.
WORKS: Mapping[str, tuple[str, ...]] = {
    "run": RIG,
    "programs": ("programs.py", *COMMANDS),
    "shell": (*RIG, "shell.py", *COMMANDS),
    "boot": (),
    "saturation": (
        "modules.py",
        "namespace.py",
        "wifi.py",
        "wifi_netlink.py",
        "wifi_saturation.py",
    ),
    "script": (),
}

#: The tools that send in a run.
TOOLS: Mapping[str, tuple[str, ...]] = {
    "flent": (),
    "live": ("live.py",),
    "iperf": ("iperf.py", "iperf_frames.py"),
    "stations": ("iperf.py", "iperf_frames.py", "stations.py"),
    "mix": ("iperf.py", "iperf_frames.py", "mix.py", "mix_peer.py"),
    "programs": ("programs.py", *COMMANDS),
    "window": (
        "iperf.py",
        "iperf_frames.py",
        "mix.py",
        "window.py",
        "window_receiver.py",
        "window_sender.py",
    ),
}

#: The tools that the job's `servers` answer.
ANSWERED = ("flent", "live")

#: The servers.
SERVERS: Mapping[str, tuple[str, ...]] = {
    "netserver": (),
    "irtt": (),
    "ditg": ("ditg.py", "ditg_pickle.py"),
    "web": ("web.py", "web_getter.py", "web_sites.py"),
    "flood": ("flood.py",),
}

#: Features that a rig may have beyond wires, and that a script may ask for (the job's key `uses`).
FEATURES: Mapping[str, tuple[str, ...]] = {
    "switches": ("switch.py",),
    "wifi": (*RIG, "modules.py", "wifi.py", "wifi_netlink.py", "wifi_rig.py"),
    "modules": ("modules.py",),
    "trees": ("namespace.py", "trees.py"),
    "layers": ("layers.py",),
    "rig": RIG,
    "saturation": WORKS["saturation"],
    "web": (*RIG, *SERVERS["web"]),
}


def files(job: dict[str, Any]) -> list[Path]:
    """Return the files that `job` needs, by name; raise `ConfigError` if it names unknown parts."""
    return [FOLDER / name for name in sorted({*START, *_names(job)})]


def _names(job: dict[str, Any]) -> Iterator[str]:
    work = job.get("work", "run")
    yield from _files_of("work", work, WORKS)
    for feature in (*features(job), *job.get("uses", ())):
        yield from _files_of("feature", feature, FEATURES)
    if work == "run":
        traffic = job["traffic"]
        yield from _files_of("tool", traffic["tool"], TOOLS)
        for server in traffic["servers"] if traffic["tool"] in ANSWERED else ():
            yield from _files_of("server", server, SERVERS)


def features(job: dict[str, Any]) -> Iterator[str]:
    """Yield the features that the rig of `job` has beyond wires."""
    if any(node.get("switches") for node in job.get("nodes", ())):
        yield "switches"
    if "wifi" in job.get("drivers", ()):
        yield "wifi"
    if "modules" in job:
        yield "modules"
    if any("tree" in port for wire in job.get("wires", ()) for port in wire):
        yield "trees"
    if "layers" in job:
        yield "layers"


def _files_of(noun: str, name: str, table: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    if name not in table:
        valid = ", ".join(table)
        raise ConfigError(f"unknown {noun} '{name}'", "the job of a guest", f"valid: {valid}")
    return table[name]
