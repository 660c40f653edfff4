"""The probe `drops`: the packets of a queue, a row per kind of packets (`captures/drops.py`)."""

from pathlib import Path

from emulation.captures.places import Place
from emulation.kinds.probes import queue
from emulation.kinds.probes.base import QUEUE, ProbeKind
from emulation.model.run import Run


def write(run: Run, place: Place, packets: Path, table: Path) -> None:
    """Write the table."""
    from ..captures import drops, sent  # pandas takes a second to import

    rows = drops.rows(sent.sent(run, packets), sent.rtts(run))
    sent.write_rows(drops.Row, rows, table)


KIND = ProbeKind(
    "drops", "drops[:NODE [INTERFACE]]", QUEUE, queue.first_place, words=2, write=write
)
