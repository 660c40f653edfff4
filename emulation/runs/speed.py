"""How fast guests run on this machine: measurements, and predictions made from them.

A run costs wall time for its beginning and end, for its length and for the packets that it carries,
so the model has three parameters, and a factor per experiment, as some tools cost more than others.
They are fitted to the runs that this machine has done, with the latest weighted most, starting from
the values of another machine.
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
from emulation.kinds.traffic import TrafficSection
from emulation.model.run import Experiment, Point
from emulation.model.topology import Link

#: Virtual seconds of a guest before and after its load: flent's pauses, setting up and ending.
AROUND_LOAD_S = 20.0

#: Weight of the prior's values, scaled to this machine, relative to a measured run: runs of one
#: link or one length cannot separate the cost of packets from that of time.
PULL = 1.0

#: Added to the number of an experiment's runs in the mean of their extra cost: with this many runs,
#: the factor is half of it.
DOUBT = 0.25

#: Number of later runs after which a run has half of its weight.
HALF_LIFE = 20

#: Number of runs that are remembered.
REMEMBERED = 200


@dataclass(frozen=True)
class Model:
    """What a run costs one core, in seconds of wall time."""

    per_run: float
    per_virtual_s: float
    per_packet: float  # that leaves the bottleneck, in either direction
    factors: tuple[tuple[str, float], ...] = ()  # (experiment, ratio of its cost to the above)

    def wall_s(self, virtual_s: float, packets: float, experiment: str = "") -> float:
        """Return the cost of a run that takes `virtual_s` and carries `packets`."""
        cost = self.per_run + self.per_virtual_s * virtual_s + self.per_packet * packets
        return dict(self.factors).get(experiment, 1.0) * cost

    def predict(self, experiment: Experiment, point: Point, length_s: float) -> float:
        """Return the cost of a run of `point` whose load takes `length_s`."""
        packets = expected_packets(point.traffic, point.link, length_s)
        about = f"{experiment.paper}/{point.label}"
        return self.wall_s(length_s + AROUND_LOAD_S, packets, about)


#: Used until something was measured: flent's tests on one core of a server of 2023.
PRIOR = Model(per_run=3.5, per_virtual_s=0.005, per_packet=4.5e-6)


@dataclass(frozen=True)
class Measured:
    """One finished run."""

    kernel: str  # digest
    experiment: str  # id
    virtual_s: float
    wall_s: float
    packets: float  # that left the bottleneck, in both directions
    expected: float  # by `expected_packets`


def expected_packets(traffic: TrafficSection, link: Link, length_s: float) -> float:
    """Return how many packets `traffic` sends over `link`."""
    return traffic.expected_packets(link, length_s)


def remember(measured: Measured) -> None:
    """Add a run to this machine's memory, if it can be written."""
    with suppress(OSError):
        path = _path()
        with path.open("a") as file:
            file.write(json.dumps(asdict(measured), sort_keys=True) + "\n")
        lines = path.read_text().splitlines(keepends=True)
        if len(lines) > 2 * REMEMBERED:
            partial = path.with_name(f".{path.name}.{os.getpid()}")
            partial.write_text("".join(lines[-REMEMBERED:]))
            partial.replace(path)


def memory() -> list[Measured]:
    """Return the remembered runs of this machine's newest kernel, the latest last."""
    try:
        lines = _path().read_text().splitlines()[-REMEMBERED:]
    except OSError:
        return []
    runs = []
    for line in lines:
        with suppress(ValueError, TypeError):  # half a line, of a run that was killed
            runs.append(Measured(**json.loads(line)))
    return [run for run in runs if run.kernel == runs[-1].kernel and run.wall_s > 0]


def model() -> Model:
    """Return the model of this machine."""
    path = _path()
    return _fitted(path, path.stat().st_mtime_ns if path.exists() else 0)


@lru_cache(maxsize=1)
def _fitted(path: Path, changed: int) -> Model:
    return fit(memory())


def fit(runs: Iterable[Measured], prior: Model = PRIOR) -> Model:
    """Fit a model to `runs` by least squares of relative errors, drawn towards the prior.

    The prior's costs are first scaled, by one common factor, to what `runs` took. No cost is below
    0, and later runs weigh more. An experiment's factor is the extra cost of its runs, and the more
    runs it has the closer.
    """
    measured = list(runs)
    if not measured:
        return prior
    import numpy as np
    from scipy.optimize import nnls

    age = np.arange(len(measured))[::-1]
    weight = 0.5 ** (age / HALF_LIFE / 2)  # of a residual, which is squared
    logs = [math.log(run.wall_s / prior.wall_s(run.virtual_s, run.packets)) for run in measured]
    scale = math.exp(np.average(logs, weights=weight**2))  # of this machine
    unit = scale * np.array([prior.per_run, prior.per_virtual_s, prior.per_packet])
    terms = np.array([[1.0, run.virtual_s, run.packets] for run in measured]) * unit
    rows = terms / np.array([[run.wall_s] for run in measured]) * weight[:, None]
    pull = np.sqrt(PULL)
    costs, _ = nnls(np.vstack([rows, pull * np.eye(3)]), np.concatenate([weight, np.full(3, pull)]))
    per_run, per_virtual_s, per_packet = (float(value) for value in costs * unit)
    common = Model(per_run, per_virtual_s, per_packet)
    return replace(common, factors=tuple(sorted(_factors(measured, common).items())))


def _factors(measured: list[Measured], common: Model) -> dict[str, float]:
    """Return, by experiment, the ratio of its latest runs' cost to that of the `common` model."""
    ratios: dict[str, list[float]] = {}
    for run in reversed(measured):
        logs = ratios.setdefault(run.experiment, [])
        if len(logs) < HALF_LIFE:
            logs.append(math.log(run.wall_s / common.wall_s(run.virtual_s, run.expected)))
    return {name: math.exp(sum(logs) / (len(logs) + DOUBT)) for name, logs in ratios.items()}


def carried_mbit(qdiscs: dict[str, Any], ports: Iterable[str]) -> float:
    """Return how many Mbit the root qdiscs of `ports` ("node interface") have sent."""
    return sum(float(_root(qdiscs[port])["bytes"]) for port in ports) * 8 / 1e6


def carried_packets(qdiscs: dict[str, Any], ports: Iterable[str]) -> int:
    """Return how many packets the root qdiscs of `ports` have sent."""
    return sum(int(_root(qdiscs[port])["packets"]) for port in ports)


def _root(port: dict[str, Any]) -> dict[str, Any]:
    root: dict[str, Any] = next(qdisc for qdisc in port["qdiscs"] if qdisc.get("root"))
    return root


def _path() -> Path:
    """Return the memory's path, one per CPU model: several machines may share a home folder."""
    name = hashlib.sha256(facts.cpu_model().encode()).hexdigest()[:8]
    return cache_dir("speed") / f"{name}.jsonl"
