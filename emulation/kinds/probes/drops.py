"""Every packet that flent's client sends, followed through the queue: a row per kind of packets.

`emulation.captures.drops` has the columns.
"""

from collections.abc import Mapping
from pathlib import Path

from emulation.kinds.probes import upload
from emulation.kinds.probes.base import CAPTURE, ProbeKind, Where
from emulation.model.run import Run


def write(run: Run, out: Path, captures: Mapping[Where, Path], table: Path) -> None:
    """Write the table; raise `GuestFailure` if captures and counters do not agree."""
    from emulation.captures import drops  # pandas takes a second to import

    rows = drops.rows(upload.sent(run, out, captures), upload.rtts(run))
    upload.write(drops.Row, rows, table)


KIND = ProbeKind("drops", "drops", CAPTURE, upload.places, write=write)
