"""Records of a queue's packets made by hand, as the module `probe` writes them."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from qdisclab.emulation.captures.counters import Totals
from qdisclab.emulation.captures.packets import HEAD, RECORD, SAMPLED
from tests.emulation.captures.made import length

MS = 10**6

#: Event, time in ms, the packet, and those that it found in the queue.
Passage = tuple[int, float, bytes, int]
NONE = Totals(0, 0, 0, 0)


def sampled(at_ms: float) -> Passage:
    return SAMPLED, at_ms, b"", 0


def records(path: Path, passages: Iterable[Passage], segment: int = 0) -> Path:
    """Write records to `path`; packets that are longer than `segment` are superpackets of such."""
    rows = []
    for event, at_ms, packet, queued in passages:
        size = length(packet) if packet else 0
        content = np.frombuffer(packet[:HEAD].ljust(HEAD, b"\0"), dtype=np.uint8)
        joined = segment if segment and size > segment + 66 else 0
        kept = min(len(packet), HEAD)
        rows.append((round(at_ms * MS), size, queued, 0, joined, event, kept, content))
    path.write_bytes(np.array(rows, dtype=RECORD).tobytes())
    return path
