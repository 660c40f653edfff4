"""The nouns of a study: point, experiment, study, run. Frozen values, no I/O.

Kinds of rigs are in `emulation.rigs`, of traffic in `emulation.traffic`; `emulation.config.job`
makes of a run what its guest has to build and to start.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from emulation.model import era as eras
from emulation.model.qdisc import Qdisc
from emulation.model.sysctls import CONTROL
from emulation.model.topology import Link, Topology
from emulation.model.units import Duration, Rate, Size

if TYPE_CHECKING:
    from emulation.rigs.base import RigSection
    from emulation.traffic.base import TrafficSection

DEFAULT_ERA = eras.MODERN
DEFAULT_MEMORY = Size(192 * 2**20)
DEFAULT_KERNEL = "6.12"  # series
NONE = "-"  # in place of a link, a qdisc or a congestion control that a rig does not have
NO_LINK = Link(NONE, Rate(0), Rate(0))


@dataclass(frozen=True)
class Point:
    """One value an axis: all that runs with different seeds have in common."""

    label: str  # the first part of its id behind the study: `rrul`, `flows_64_rtt_5ms`
    link: Link  # NO_LINK where the rig has no bottleneck
    qdisc: str  # as the id has it: `codel`, `codel_5ms`
    cc: str  # TCP congestion control: `cubic`, `reno`
    queues: tuple[tuple[Rate, Qdisc], ...]  # the qdisc with its values for each rate
    rig: RigSection
    traffic: TrafficSection
    memory: Size = DEFAULT_MEMORY  # of a guest
    era: str | None = None  # where the sweep varies it
    axes: tuple[tuple[str, str], ...] = ()  # each axis and its value, as text
    outside: tuple[str, ...] = ()  # axes whose value the sweep does not have
    settings: tuple[tuple[str, Any], ...] = ()  # what was asked for of further axes
    #: Rates that the study has no values of the qdisc for, and those whose values are taken.
    borrowed: tuple[tuple[Rate, Rate], ...] = ()

    @property
    def up(self) -> Qdisc:
        """The qdisc with its values for the upload rate."""
        return dict(self.queues)[self.link.up]

    @property
    def down(self) -> Qdisc:
        """The qdisc with its values for the download rate."""
        return dict(self.queues)[self.link.down]

    @property
    def place(self) -> str:
        """The parts of its id behind the label: `10-1/codel/cubic`."""
        return f"{self.link.slug}/{self.qdisc}/{self.cc}"

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells it from the other points of an experiment, and the ids of its runs."""
        return self.label, self.place, self.era or DEFAULT_ERA

    def does_as(self, other: Point) -> bool:
        """Whether it is the same, however it was asked for."""
        asked: dict[str, Any] = {"axes": (), "outside": (), "settings": (), "borrowed": ()}
        return replace(self, **asked) == replace(other, **asked)

    def topology(self) -> Topology:
        """The rig around the bottleneck."""
        link = None if self.link is NO_LINK else self.link
        return self.rig.topology(link, dict(self.queues))


@dataclass(frozen=True)
class Experiment:
    """A rig, a kind of traffic and a sweep."""

    paper: str  # the study: `gbw2015`
    name: str  # `rrul`; of the points with one label, that label
    title: str  # for people
    section: str  # of the paper
    points: tuple[Point, ...]
    seeds: tuple[int, ...]  # a repetition is a seed
    folder: str = ""  # of a study that does not ship
    restores: tuple[str, ...] = ()  # switches that its runs of former eras have besides (`era`)
    measure: str | None = None  # the kind of numbers that its runs become; None: no claim needs any
    unloaded: str | None = None  # the experiment without load that its numbers are divided by
    #: What makes of one of its points those with other values of axes, in the sweep or not.
    vary: Callable[[Point, Mapping[str, Sequence[Any]]], tuple[Point, ...]] | None = field(
        default=None, compare=False, repr=False
    )

    @property
    def id(self) -> str:
        """`gbw2015/rrul`."""
        return f"{self.paper}/{self.name}"

    @property
    def ref(self) -> str:
        """What finds it: its id, or the folder of its study and its name."""
        return f"{self.folder or self.paper}/{self.name}"

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of its points, each once."""
        return tuple(dict.fromkeys(point.label for point in self.points))

    @property
    def traffic(self) -> TrafficSection:
        """That of its first point; a sweep can vary it."""
        return self.points[0].traffic

    @property
    def rig(self) -> RigSection:
        """That of its first point; a sweep can vary it."""
        return self.points[0].rig


@dataclass(frozen=True)
class Fixed:
    """What the claims are settled by, by the names of experiments."""

    on: str = ""  # the day since when it holds: "2026-11-22"
    repetitions: Mapping[str, int] = field(default_factory=dict)  # seeds 1 to n of each cell
    seen: Mapping[str, int] = field(default_factory=dict)  # of them looked at before that day


@dataclass(frozen=True)
class Study:
    """A study file."""

    name: str  # `gbw2015`
    title: str
    doi: str
    experiments: tuple[Experiment, ...]
    source: str = ""  # authors, place and year; empty where the study is of no paper
    address: str = ""  # where the paper can be read
    fixed: Fixed = Fixed()

    def experiment(self, name: str) -> Experiment:
        """The experiment called `name`; `KeyError` where there is none."""
        for experiment in self.experiments:
            if experiment.name == name:
                return experiment
        raise KeyError(name)

    def point(self, label: str, place: str) -> Point | None:
        """The point of its sweeps with these parts of an id: `flows_4`, `10-10/codel_5ms/reno`."""
        return self._points.get((label, place))

    @cached_property
    def _points(self) -> dict[tuple[str, str], Point]:
        points = (point for one in self.experiments for point in one.points)
        return {(point.label, point.place): point for point in points}


@dataclass(frozen=True)
class Run:
    """A point and a seed: what one boot of the guest does."""

    experiment: Experiment
    point: Point
    seed: int
    length: Duration  # of the load; the traffic's unless the user asked for another
    era: str = DEFAULT_ERA  # as `emulation.model.era` reads it
    kernel: str = DEFAULT_KERNEL  # series
    watched: bool = False  # what tools print is copied out while they run (`emulation.runs.live`)

    @property
    def experiment_id(self) -> str:
        """The study and the label: `khademi2013/flows_4`."""
        return f"{self.experiment.paper}/{self.point.label}"

    @property
    def variant(self) -> str:
        """The label and, each behind an `@`, what is not default."""
        parts = [self.point.label]
        parts += [self.era] if self.era != DEFAULT_ERA else []
        parts += [f"linux-{self.kernel}"] if self.kernel != DEFAULT_KERNEL else []
        if self.length != self.traffic.length:
            parts.append(str(self.length).replace(" ", ""))
        return "@".join(parts)

    @property
    def id(self) -> str:
        """The path below `data/`: `gbw2015/rrul/10-10/codel/cubic/seed-001`."""
        return "/".join(
            (self.experiment.paper, self.variant, self.point.place, f"seed-{self.seed:03d}")
        )

    @property
    def random(self) -> int:
        """The seed of the guest's random numbers, from 0 to 2^64 - 1.

        Another one at each point, so that no two points share ports, hash keys and start times;
        the same one in all eras and kernels, which are compared run by run.
        """
        text = f"{self.experiment_id}/{self.point.place}/{self.seed}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")

    @property
    def link(self) -> Link:
        """The rates of the bottleneck."""
        return self.point.link

    @property
    def qdisc(self) -> str:
        """The name of the qdisc under test, as the id has it."""
        return self.point.qdisc

    @property
    def cc(self) -> str:
        """The congestion control of the hosts."""
        return self.point.cc

    @property
    def rig(self) -> RigSection:
        """What is built around the bottleneck."""
        return self.point.rig

    @property
    def traffic(self) -> TrafficSection:
        """What is sent."""
        return self.point.traffic

    @property
    def memory_mib(self) -> int:
        """The guest's memory."""
        return self.point.memory.bytes >> 20

    @property
    def switches(self) -> tuple[eras.Switch, ...]:
        """Which behaviour of former kernels this run has."""
        return eras.switches(self.era, self.experiment.restores)

    def switches_of(self, node: str) -> tuple[eras.Switch, ...]:
        """Those of a node: in runs of a former era some nodes may run another release."""
        own = dict(self.rig.eras).get(node)
        if own is None or self.era == DEFAULT_ERA:
            return self.switches
        return eras.switches(own, self.experiment.restores)

    def sysctls(self, node: str) -> dict[str, str]:
        """Settings of a host that sends or receives."""
        control = {CONTROL: self.cc} if self.cc != NONE else {}
        return {**control, **dict(self.rig.sysctls), **eras.sysctls(self.switches_of(node))}

    @property
    def topology(self) -> Topology:
        """The rig of this run, each qdisc as its node's release has it."""
        topology = self.point.topology().with_qdiscs(
            lambda node, qdisc: eras.restored(qdisc, self.switches_of(node))
        )
        return topology.clocked() if eras.tick(self.switches) else topology

    @property
    def base_rtts(self) -> tuple[Duration, ...]:
        """Round-trip times of the empty path, to each address of the server or of all pairs.

        What the rig says or, where it is written out, the sum of its delays on the way.
        """
        if self.rig.base_rtts:
            return self.rig.base_rtts
        topology = self.topology
        ends = self.traffic.ends(topology)
        return () if ends is None else (topology.base_rtt(*ends),)
