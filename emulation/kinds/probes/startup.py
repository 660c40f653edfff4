"""Drops and waiting times of what flent's client sends, in steps since the load began.

`emulation.captures.startup` has the columns.
"""

from collections.abc import Mapping
from pathlib import Path

from emulation.errors import ConfigError
from emulation.kinds.probes import upload
from emulation.kinds.probes.base import CAPTURE, ProbeKind, Where
from emulation.model.run import Run
from emulation.model.units import Duration

#: The qdisc that decides on a packet when its turn comes; the others decide when it arrives.
AT_HEAD = "codel"


def write(run: Run, out: Path, captures: Mapping[Where, Path], table: Path) -> None:
    """Write the table; raise `GuestFailure` if captures and counters do not agree."""
    from emulation.captures import startup  # pandas takes a second to import

    sent = upload.sent(run, out, captures)
    rows = startup.rows(sent, _target(run), run.point.up.kind == AT_HEAD, run.length)
    upload.write(startup.Row, rows, table)


def _target(run: Run) -> Duration:
    target = dict(run.point.up.options).get("target")
    if not isinstance(target, Duration):
        what = f"'{run.qdisc}' has no target with which its start could be compared"
        raise ConfigError(what, run.id, "choose codel or pie, or the probe 'drops'")
    return target


def check(run: Run) -> None:
    """Raise `ConfigError` unless the qdisc has a target."""
    _target(run)


KIND = ProbeKind("startup", "startup", CAPTURE, upload.places, check=check, write=write)
