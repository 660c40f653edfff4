"""The probe `queues`: what the queues between the gateways did while the load lasted."""

from pathlib import Path

from qdisclab.emulation.captures.places import Place
from qdisclab.emulation.kinds.probes import queue
from qdisclab.emulation.kinds.probes.base import QUEUE, ProbeKind
from qdisclab.emulation.model.run import Run


def write(run: Run, place: Place, packets: Path, table: Path) -> None:
    """Add the rows of the queue at `place` to the table."""
    from ..captures import queues  # pandas takes a second to import

    queues.write(run, place, packets, table)


KIND = ProbeKind(
    "queues", "queues[:NODE INTERFACE]", QUEUE, queue.first_place, words=2, write=write
)
