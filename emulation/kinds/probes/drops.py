"""The packets of a queue, a row per kind of packets (`emulation.captures.drops`)."""

from pathlib import Path

from emulation.captures.places import Place
from emulation.kinds.probes import queue
from emulation.kinds.probes.base import QUEUE, ProbeKind
from emulation.model.run import Run


def write(run: Run, place: Place, packets: Path, table: Path) -> None:
    """Write the table."""
    from emulation.captures import drops  # pandas takes a second to import

    rows = drops.rows(queue.sent(run, packets), queue.rtts(run))
    queue.write_rows(drops.Row, rows, table)


KIND = ProbeKind(
    "drops", "drops[:NODE [INTERFACE]]", QUEUE, queue.first_place, words=2, write=write
)
