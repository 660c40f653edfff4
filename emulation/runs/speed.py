"""How fast guests run on this machine: what was measured, and what it says about runs to come.

A run costs wall time for its beginning and end, for being there and for the packets that it
carries, so the model has three parameters, and a factor for each experiment, whose tools cost more
or less than others. They are fitted to the runs that this machine has done, the latest the most,
beginning from values of another machine.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from emulation.host import facts
from emulation.host.cache import cache_dir
from emulation.model.run import Experiment, Point
from emulation.model.topology import Link
from emulation.traffic import TrafficSection

#: Virtual seconds that a guest lives beside its load: flent's pauses, and what is done around them.
AROUND_LOAD_S = 20.0

#: Weight of the prior's values, as this machine scales them, against a measured run's: runs of one
#: link or one length leave open what packets cost and what time does.
PULL = 1.0

#: So many runs of an experiment leave half of what they cost otherwise in doubt.
DOUBT = 0.25

#: Runs after which a run counts half.
HALF_LIFE = 20

#: Runs that are remembered.
KEPT = 200


@dataclass(frozen=True)
class Model:
    """What a run costs one core, in seconds of wall time."""

    per_run: float
    per_virtual_s: float
    per_packet: float  # that leaves the bottleneck, of both directions
    factors: tuple[tuple[str, float], ...] = ()  # (experiment, what it costs more than this)

    def wall_s(self, virtual_s: float, packets: float, experiment: str = "") -> float:
        """Of a run that lives `virtual_s` and carries `packets`."""
        cost = self.per_run + self.per_virtual_s * virtual_s + self.per_packet * packets
        return dict(self.factors).get(experiment, 1.0) * cost

    def predict(self, experiment: Experiment, point: Point, length_s: float) -> float:
        """Of a run of `point` whose load takes `length_s`."""
        packets = expected_packets(point.traffic, point.link, length_s)
        about = f"{experiment.paper}/{point.label}"
        return self.wall_s(length_s + AROUND_LOAD_S, packets, about)


#: Where nothing was measured: flent's tests on one core of a server of 2023.
PRIOR = Model(per_run=3.5, per_virtual_s=0.005, per_packet=4.5e-6)


@dataclass(frozen=True)
class Measured:
    """One finished run."""

    kernel: str  # digest
    experiment: str  # id
    virtual_s: float
    wall_s: float
    packets: float  # that left the bottleneck, of both directions
    expected: float  # by `expected_packets`


def expected_packets(traffic: TrafficSection, link: Link, length_s: float) -> float:
    """How many packets `traffic` sends over `link`."""
    return traffic.expected_packets(link, length_s)


def remember(measured: Measured) -> None:
    """Add a run to the memory of this machine, if it can be written."""
    with suppress(OSError):
        path = _path()
        with path.open("a") as file:
            file.write(json.dumps(asdict(measured), sort_keys=True) + "\n")
        lines = path.read_text().splitlines(keepends=True)
        if len(lines) > 2 * KEPT:
            partial = path.with_name(f".{path.name}.{os.getpid()}")
            partial.write_text("".join(lines[-KEPT:]))
            partial.replace(path)


def memory() -> list[Measured]:
    """The runs that this machine remembers with its newest kernel, the latest last."""
    try:
        lines = _path().read_text().splitlines()[-KEPT:]
    except OSError:
        return []
    found = []
    for line in lines:
        with suppress(ValueError, TypeError):  # half a line of a run that was killed
            found.append(Measured(**json.loads(line)))
    return [one for one in found if one.kernel == found[-1].kernel and one.wall_s > 0]


def model() -> Model:
    """The model of this machine."""
    return _fitted(tuple(memory()))


@lru_cache(maxsize=1)
def _fitted(runs: tuple[Measured, ...]) -> Model:
    return fit(runs)


def fit(runs: Iterable[Measured], prior: Model = PRIOR) -> Model:
    """The model with the least squares of relative errors, drawn towards the prior; never below 0.

    The prior's costs are first scaled, all by the same, to what `runs` took. The last of `runs`
    counts the most. What the runs of an experiment cost otherwise becomes its factor, the more of
    them there are.
    """
    measured = list(runs)
    if not measured:
        return prior
    import numpy as np
    from scipy.optimize import nnls

    age = np.arange(len(measured))[::-1]
    weight = 0.5 ** (age / HALF_LIFE / 2)  # of a residual, whose square counts
    logs = [math.log(run.wall_s / prior.wall_s(run.virtual_s, run.packets)) for run in measured]
    scale = math.exp(np.average(logs, weights=weight**2))  # of this machine
    unit = scale * np.array([prior.per_run, prior.per_virtual_s, prior.per_packet])
    terms = np.array([[1.0, run.virtual_s, run.packets] for run in measured]) * unit
    rows = terms / np.array([[run.wall_s] for run in measured]) * weight[:, None]
    pull = np.sqrt(PULL)
    found, _ = nnls(np.vstack([rows, pull * np.eye(3)]), np.concatenate([weight, np.full(3, pull)]))
    per_run, per_virtual_s, per_packet = (float(value) for value in found * unit)
    common = Model(per_run, per_virtual_s, per_packet)
    return replace(common, factors=tuple(sorted(_factors(measured, common).items())))


def _factors(measured: list[Measured], common: Model) -> dict[str, float]:
    """Experiment -> how much more than the `common` model expects its latest runs cost."""
    ratios: dict[str, list[float]] = {}
    for run in reversed(measured):
        told = ratios.setdefault(run.experiment, [])
        if len(told) < HALF_LIFE:
            told.append(math.log(run.wall_s / common.wall_s(run.virtual_s, run.expected)))
    return {name: math.exp(sum(logs) / (len(logs) + DOUBT)) for name, logs in ratios.items()}


def carried_mbit(qdiscs: dict[str, Any], ports: Iterable[str]) -> float:
    """Mbit that the root qdiscs of `ports` ("node interface") have sent, by their counters."""
    return sum(float(_root(qdiscs[port])["bytes"]) for port in ports) * 8 / 1e6


def carried_packets(qdiscs: dict[str, Any], ports: Iterable[str]) -> int:
    """Packets that the root qdiscs of `ports` have sent."""
    return sum(int(_root(qdiscs[port])["packets"]) for port in ports)


def _root(port: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in port["qdiscs"] if one.get("root"))
    return found


def _path() -> Path:
    """A file a CPU model: a home folder can be shared by several machines."""
    name = hashlib.sha256(facts.cpu_model().encode()).hexdigest()[:8]
    return cache_dir("speed") / f"{name}.jsonl"
