"""How long runs take on this machine, estimated from those that it has done.

The estimate is what the remembered runs of its experiment and link took on average per virtual
second. Where there are none, those of its experiment count, then all runs, then another machine's.
"""

import hashlib
import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from qdisclab.emulation.host import facts, storage
from qdisclab.emulation.host.cache import cache_dir, until_changed
from qdisclab.emulation.model.run import Experiment, Point, Run
from qdisclab.emulation.model.units import Duration

#: Virtual seconds of a guest before and after its load: flent's pauses, setting up and ending.
AROUND_LOAD_S = 20.0

#: Seconds of one core for a virtual second, on average of all runs that ship, on another machine.
PRIOR = 0.035

#: What of the sums remains as a run is added: those of the last hundreds of runs count.
FADING = 0.99

#: Virtual and wall seconds of runs, by experiment and link, by experiment, and of all.
Sums = dict[str, tuple[float, float]]


def remember(run: Run, virtual_s: float, wall_s: float) -> None:
    """Add a finished run to this machine's memory, if it can be written."""
    sums = _remembered()
    for name in _names(run.experiment_id, run.link.name):
        before = sums.get(name, (0.0, 0.0))
        sums[name] = (FADING * before[0] + virtual_s, FADING * before[1] + wall_s)
    with suppress(OSError):
        storage.write(_path(), json.dumps(sums, sort_keys=True))


def wall_seconds(
    experiment: Experiment, points: Iterable[Point], length: Duration | None = None
) -> float:
    """Return how long one core takes for one repetition of `points`, in seconds.

    `length` is that of the load, if it is not the traffic's own.
    """
    sums, seconds = _remembered(), 0.0
    for point in points:
        names = _names(f"{experiment.paper}/{point.label}", point.link.name)
        virtual_s, wall_s = next((sums[name] for name in names if name in sums), (1.0, PRIOR))
        load_s = (length or point.traffic.length).seconds
        seconds += (load_s + AROUND_LOAD_S) * wall_s / virtual_s
    return seconds


def _names(experiment: str, link: str) -> tuple[str, str, str]:
    return f"{experiment} {link}", experiment, ""


def _remembered() -> Sums:
    path = _path()
    return dict(_read(path)) if path.exists() else {}


@until_changed
def _read(path: Path) -> Sums:
    try:
        sums = json.loads(path.read_text())
        return {name: (float(of[0]), float(of[1])) for name, of in sums.items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):  # damaged: learnt anew
        return {}


def _path() -> Path:
    """Return the memory's path, one per CPU model: several machines may share a home folder."""
    name = hashlib.sha256(facts.cpu_model().encode()).hexdigest()[:8]
    return cache_dir("speed") / f"{name}.json"
