"""Where captures are taken, and what their files are called.

A capture is what a packet socket in the guest sees at a port: the packets that the port sends, as
they leave its queue, and those that it receives, at nanoseconds of virtual time.
"""

from __future__ import annotations

from pathlib import Path

from emulation.model.topology import Topology

PCAP = ".pcap.gz"
FRAMES = ".frames.gz"  # of a run whose every packet is followed, as the guest leaves it
TABLE = ".packets.parquet"  # of such a run, as it is stored (`emulation.captures.table`)

Place = tuple[str, str]  # node, interface


def under_test(topology: Topology) -> list[dict[str, str]]:
    """The ports of `topology` that hold a queue under test, as a job has them."""
    return [{"node": port.node, "interface": port.interface} for port in topology.queues()]


def frames(out: Path, place: Place) -> Path:
    """The capture at `place` among what a guest left in `out`."""
    node, interface = place
    return out / f"{node}.{interface}{FRAMES}"


def pcaps(topology: Topology, target: Path) -> dict[str, Path]:
    """Node -> where its capture is, beside the run's data file `target`.

    Where nodes are observed at several interfaces, `<node>.<interface>`.
    """
    stem = target.name.removesuffix(".flent.gz")
    names = [f"{node}.{interface}" for node, interface in topology.observed]
    names = names or [place["node"] for place in under_test(topology)]
    return {name: target.with_name(f"{stem}.{name}{PCAP}") for name in names}


def remove(paths: dict[str, Path]) -> None:
    """Remove captures that belong to an earlier execution of a run."""
    for path in paths.values():
        path.unlink(missing_ok=True)
