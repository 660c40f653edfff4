"""How fast guests run on this machine: what was measured, and what it says about runs to come.

A run costs wall time for its beginning and end, for being there and for what it carries, so the
model has three parameters. They are fitted to the runs that this machine has done, the latest the
most, beginning from values of another machine.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from emulation import host
from emulation.cache import cache_dir

#: Virtual seconds that a guest lives beside its load: flent's pauses, and what is done around them.
AROUND_LOAD_S = 22.0

#: Weight of the prior's values against a measured run's: it decides what the runs leave open.
PULL = 0.002

#: Runs after which a run counts half.
HALF_LIFE = 20

#: Runs that are remembered.
KEPT = 200


@dataclass(frozen=True)
class Model:
    """What a run costs one core, in seconds of wall time."""

    per_run: float
    per_virtual_s: float
    per_mbit: float  # carried by the bottleneck, both directions together

    def wall_s(self, virtual_s: float, mbit: float) -> float:
        """Of a run that lives `virtual_s` and carries `mbit`."""
        return self.per_run + self.per_virtual_s * virtual_s + self.per_mbit * mbit

    def predict(self, length_s: float, mbit_per_s: float) -> float:
        """Of a run whose load takes `length_s` and fills a bottleneck of `mbit_per_s`."""
        return self.wall_s(length_s + AROUND_LOAD_S, length_s * mbit_per_s)


#: Where nothing was measured: RRUL on one core of a server of 2023.
PRIOR = Model(per_run=2.0, per_virtual_s=0.01, per_mbit=0.0005)


@dataclass(frozen=True)
class Measured:
    """One finished run."""

    kernel: str  # digest
    virtual_s: float
    wall_s: float
    mbit: float  # carried by the bottleneck, both directions together


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
    return fit(memory())


def fit(runs: Iterable[Measured], prior: Model = PRIOR) -> Model:
    """The model with the least squares of relative errors, drawn towards the prior; never below 0.

    The last of `runs` counts the most.
    """
    measured = list(runs)
    if not measured:
        return prior
    import numpy as np
    from scipy.optimize import nnls

    unit = np.array([prior.per_run, prior.per_virtual_s, prior.per_mbit])
    terms = np.array([[1.0, run.virtual_s, run.mbit] for run in measured]) * unit
    age = np.arange(len(measured))[::-1]
    weight = 0.5 ** (age / HALF_LIFE / 2)  # of a residual, whose square counts
    rows = terms / np.array([[run.wall_s] for run in measured]) * weight[:, None]
    pull = np.sqrt(PULL)
    found, _ = nnls(np.vstack([rows, pull * np.eye(3)]), np.concatenate([weight, np.full(3, pull)]))
    return Model(*(float(value) for value in found * unit))


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
    name = hashlib.sha256(host.cpu_model().encode()).hexdigest()[:8]
    return cache_dir("speed") / f"{name}.jsonl"
