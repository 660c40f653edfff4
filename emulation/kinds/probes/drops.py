"""The packets of a queue, a row per kind of packets (`emulation.captures.drops`)."""

from pathlib import Path

from qdisclab.emulation.captures.places import Place
from qdisclab.emulation.kinds.probes import queue
from qdisclab.emulation.kinds.probes.base import QUEUE, ProbeKind
from qdisclab.emulation.model.run import Run


def write(run: Run, place: Place, packets: Path, table: Path) -> None:
    """Write the table."""
    from qdisclab.emulation.captures import drops  # pandas takes a second to import

    queue.write_rows(drops.DropsRow, drops.rows(queue.sent(run, packets), queue.rtts(run)), table)


KIND = ProbeKind("drops", "drops[:NODE [INTERFACE]]", QUEUE, queue.first_place, 2, write=write)
