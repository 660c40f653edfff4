"""The probe `steps`: what a queue between the gateways did in each step of 50 ms."""

from pathlib import Path

from qdisclab.emulation.captures.places import Place
from qdisclab.emulation.kinds.probes import queue
from qdisclab.emulation.kinds.probes.base import QUEUE, ProbeKind
from qdisclab.emulation.model.run import Run


def write(run: Run, place: Place, packets: Path, table: Path) -> None:
    """Write the steps of the queue at `place`."""
    from ..captures import steps  # pandas takes a second to import

    steps.write(run, place, packets, table)


KIND = ProbeKind(
    "steps",
    "steps[:NODE INTERFACE]",
    QUEUE,
    queue.first_place,
    words=2,
    write=write,
    table="parquet",
)
