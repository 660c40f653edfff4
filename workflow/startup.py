"""How the upload's queue starts: what CoDel and PIE drop and how long packets wait.

`python -m workflow.startup --output data/captures/gbw2015-startup.csv` does the runs that the table
lacks, as `workflow.drops` does: RRUL, the paper's in all but its captures and its length, of which
the second half says what the steady state is; and with CoDel, whose queue RRUL's flows soon empty,
a flow that answers no loss.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict, fields
from typing import Any

from emulation.captures import startup
from emulation.captures.drops import Sent
from emulation.config import experiment, select
from emulation.model import Run
from emulation.units import Duration
from workflow.drops import CC, ERA, grow, of_run

#: experiment -> qdiscs, in the order in which they are run
QDISCS = {
    "rrul": ("codel", "pie"),
    **dict.fromkeys(("flood_10_1", "flood_10_10", "flood_100_100"), ("codel",)),
}
#: Fig. 7 of gbw2015 shows 25 s of the test, and control takes "more than 20 s" at most: the second
#: half begins after both.
LENGTH = Duration.parse("60 s")

#: Drops a packet as it is its turn, where the others decide as it comes.
AT_HEAD = "codel"


def rows(run: Run, sent: Sent) -> Iterator[dict[str, Any]]:
    """One row per step of a run."""
    (target,) = (value for name, value in run.point.up.options if name == "target")
    if not isinstance(target, Duration):
        raise TypeError(f"{run.qdisc} has the target {target!r}")
    for row in startup.rows(sent, target, run.qdisc == AT_HEAD, run.length):
        yield {**of_run(run), **asdict(row)}


def wanted(seeds: list[int]) -> Iterator[Run]:
    """Each experiment on all its links, the slow ones first, which cost least."""
    for name, qdiscs in QDISCS.items():
        about = experiment(f"gbw2015/{name}")
        runs = select(about, qdisc=qdiscs, cc=CC, seed=seeds, length=LENGTH, era=ERA)
        yield from sorted(
            runs, key=lambda run: (run.link.up.bits_per_second, qdiscs.index(run.qdisc))
        )


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    columns = [field.name for field in fields(startup.Row)]
    return grow("workflow.startup", __doc__, columns, wanted, rows, arguments)


if __name__ == "__main__":
    sys.exit(main())
