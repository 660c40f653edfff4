"""Where captures are taken, and how their files are named.

A capture has what a packet socket in the guest sees at a port: the packets that the port sends, as
they leave its queue, and those that it receives, with times in nanoseconds of virtual time.
"""

from __future__ import annotations

from pathlib import Path

from emulation.model.topology import Topology

PCAP = ".pcap.gz"
FRAMES = ".frames.gz"  # left by the guest where every packet of a run is followed
TABLE = ".packets.parquet"  # stored for such a run

Place = tuple[str, str]  # node, interface


def under_test(topology: Topology) -> list[dict[str, str]]:
    """Return the ports of `topology` that hold a queue under test, in the form of a job."""
    return [{"node": port.node, "interface": port.interface} for port in topology.queues()]


def frames(out: Path, place: Place) -> Path:
    """Return the path of the capture at `place` that a guest left in `out`."""
    node, interface = place
    return out / f"{node}.{interface}{FRAMES}"


def pcaps(topology: Topology, target: Path) -> dict[str, Path]:
    """Return the path of each capture, next to the run's data file `target`.

    Keys are nodes, or `<node>.<interface>` where the topology names the interfaces to observe.
    """
    stem = target.name.removesuffix(".flent.gz")
    names = [f"{node}.{interface}" for node, interface in topology.observed]
    names = names or [place["node"] for place in under_test(topology)]
    return {name: target.with_name(f"{stem}.{name}{PCAP}") for name in names}
