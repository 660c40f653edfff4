"""The packets of a queue, in steps since the load began (`emulation.captures.startup`)."""

from collections.abc import Sequence
from pathlib import Path

from qdisclab.emulation.captures.places import Place
from qdisclab.emulation.errors import ConfigError
from qdisclab.emulation.kinds.probes import base, queue
from qdisclab.emulation.model.qdisc import Qdisc
from qdisclab.emulation.model.run import Run
from qdisclab.emulation.model.units import Duration

#: The qdisc that decides on a packet when its turn comes; the others decide when it arrives.
AT_HEAD = "codel"


def write(run: Run, place: Place, packets: Path, table: Path) -> None:
    """Write the table."""
    from qdisclab.emulation.captures import startup  # pandas takes a second to import

    tested = _tested(run, place)
    sent = queue.sent(run, packets)
    rows = startup.rows(sent, _target(run, tested), tested.kind == AT_HEAD, run.length)
    queue.write_rows(startup.StartupRow, rows, table)


def _tested(run: Run, place: base.Where) -> Qdisc:
    tested = getattr(queue.port(run, (place[0], str(place[1]))).egress, "qdisc", None)
    if not isinstance(tested, Qdisc):
        what = f"no queue under test at {place[0]} {place[1]}"
        raise ConfigError(what, run.id, "choose another port, or the probe 'drops'")
    return tested


def _target(run: Run, tested: Qdisc) -> Duration:
    target = dict(tested.options).get("target")
    if not isinstance(target, Duration):
        what = f"'{run.qdisc}' has no target with which its start could be compared"
        todo = "write the option 'target' of codel or pie, or take the probe 'drops'"
        raise ConfigError(what, run.id, todo)
    return target


def check(run: Run, places: Sequence[base.Where]) -> None:
    """Raise `ConfigError` unless each queue has a target."""
    for place in places:
        _target(run, _tested(run, place))


_FORM = "startup[:NODE [INTERFACE]]"
KIND = base.ProbeKind("startup", _FORM, base.QUEUE, queue.first_place, 2, check=check, write=write)
