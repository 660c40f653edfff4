"""Which files of `emulation/guest` a job needs: the others do not get into its guest.

Each file is named here, by what needs it. So the digest of a run's code changes only where a file
does that the run has, and a work, tool, server or feature that is not here is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from emulation.errors import ConfigError

#: Where the files are.
FOLDER = Path(__file__).parents[1] / "guest"

#: What starts every guest and does its work.
START = ("init.sh", "main.py")

#: A rig, and the parts that all traffic has.
RIG = ("capture.py", "flentdata.py", "readback.py", "rig.py", "traffic.py")

#: What programs and a person find, Open vSwitch among it.
COMMANDS = ("commands.py", "switch.py")

#: The kinds of work, by the job's key `work`; without that key it is a `run`.
WORKS: Mapping[str, tuple[str, ...]] = {
    "run": RIG,
    "programs": ("programs.py", *COMMANDS),
    "shell": (*RIG, "shell.py", *COMMANDS),
    "boot": (),
    "saturation": ("modules.py", "wifi.py", "wifi_netlink.py", "wifi_saturation.py"),
    "script": (),
}

#: What sends in a run.
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

#: The tools that are answered by the job's `servers`.
ANSWERED = ("flent", "live")

#: What answers them.
SERVERS: Mapping[str, tuple[str, ...]] = {
    "netserver": (),
    "irtt": (),
    "ditg": ("ditg.py", "ditg_pickle.py"),
    "web": ("web.py", "web_getter.py", "web_sites.py"),
    "flood": ("flood.py",),
}

#: What a rig has beside wires, and what a script may have of all this (the job's key `uses`).
FEATURES: Mapping[str, tuple[str, ...]] = {
    "switches": ("switch.py",),
    "wifi": (*RIG, "modules.py", "wifi.py", "wifi_netlink.py", "wifi_rig.py"),
    "modules": ("modules.py",),
    "trees": ("trees.py",),
    "layers": ("layers.py",),
    "rig": RIG,
    "saturation": WORKS["saturation"],
    "web": (*RIG, *SERVERS["web"]),
}


def files(job: dict[str, Any]) -> list[Path]:
    """The files that `job` needs, by name; `ConfigError` where it names what is not here."""
    return [FOLDER / name for name in sorted({*START, *_names(job)})]


def _names(job: dict[str, Any]) -> Iterator[str]:
    work = job.get("work", "run")
    yield from _of("work", work, WORKS)
    for feature in (*features(job), *job.get("uses", ())):
        yield from _of("feature", feature, FEATURES)
    if work == "run":
        traffic = job["traffic"]
        yield from _of("tool", traffic["tool"], TOOLS)
        for server in traffic["servers"] if traffic["tool"] in ANSWERED else ():
            yield from _of("server", server, SERVERS)


def features(job: dict[str, Any]) -> Iterator[str]:
    """What the rig of `job` has beside wires."""
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


def _of(noun: str, name: str, table: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    if name not in table:
        valid = ", ".join(table)
        raise ConfigError(f"unknown {noun} '{name}'", "the job of a guest", f"valid: {valid}")
    return table[name]
