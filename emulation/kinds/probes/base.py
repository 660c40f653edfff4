"""What a kind of probe is: what the guest's module records for it, and what becomes of that."""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qdisclab.emulation.captures.places import Place
from qdisclab.emulation.model.run import Run
from qdisclab.emulation.model.units import Duration

if TYPE_CHECKING:
    from qdisclab.emulation.captures.samples import Rows

#: What the guest's module can record (`enum probe_kind` of qdisc/src/probe, in its order).
QDISC, SOCKETS, CAPTURE, QUEUE = RECORDINGS = ("qdisc", "sockets", "capture", "queue")

DEFAULT_INTERVAL = Duration(10_000_000)
#: Between two samples of counters that the records of a queue are compared with.
COMPARED = Duration(100_000_000)

#: A node, and its interface or None for all of them.
Where = tuple[str, str | None]


#: Writes a table of a run, from the table of the packets at a place; of several places in turn.
Write = Callable[[Run, Place, Path, Path], None]


def later(module: str, package: str) -> Write:
    """Return `write` of a `module` that is imported when it is called: pandas takes a second."""

    def write(run: Run, place: Place, packets: Path, table: Path) -> None:
        importlib.import_module(module, package).write(run, place, packets, table)

    return write


def _nothing(run: Run, places: Sequence[Where]) -> None:
    """Take every run."""


@dataclass(frozen=True)
class ProbeKind:
    """A kind of probe, by its name.

    What is recorded is stored as it is (a `capture`, the packets of a `queue`), as a series (with
    `columns`), or as the table that `write` makes of the packets of a queue.
    """

    name: str
    form: str  # its syntax, for the user
    recording: str  # one of RECORDINGS
    #: Returns where it records unless the user names a place; raises `ConfigError` where it cannot.
    places: Callable[[Run], list[Where]]
    words: int = 0  # how many words a place has that the user names; 0: none can be named
    interval: Duration | None = None  # between two samples, unless the user chooses another
    #: Raises `ConfigError` for runs and places that it is not for.
    check: Callable[[Run, Sequence[Where]], None] = _nothing
    columns: tuple[str, ...] = ()  # of a series: those that each row has
    #: Of a series, which has the name of its recording: adds a row, from a message of netlink, of a
    #: place: (time, node, interface).
    add: Callable[["Rows", tuple[Any, ...], bytes], None] | None = None
    write: Write | None = None
    table: str = "csv"  # how the name of that table ends

    def end(self, at: str = "*.*") -> str:
        """Return how the name of its file ends, after that of the run; `at` is node.interface."""
        if self.write is not None:
            return f".{self.name}.{self.table}"
        end = "pcap.gz" if self.recording == CAPTURE else f"{self.name}.parquet"
        return f".{at}.{end}" if self.recording in (CAPTURE, QUEUE) else f".{end}"
