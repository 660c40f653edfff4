"""The nouns of a study: point, experiment, study, run. Frozen values, no I/O.

Kinds of rigs are in `emulation.kinds.rigs`, of traffic in `emulation.kinds.traffic`;
`emulation.config.job` turns a run into the job that its guest builds and starts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from qdisclab.emulation.model import era as eras
from qdisclab.emulation.model.control import Control
from qdisclab.emulation.model.qdisc import Qdisc
from qdisclab.emulation.model.series import DEFAULT_KERNEL
from qdisclab.emulation.model.sysctls import CONTROL
from qdisclab.emulation.model.topology import Link, Topology
from qdisclab.emulation.model.units import Duration, Rate, Size

if TYPE_CHECKING:
    from qdisclab.emulation.kinds.probes.probe import Probe
    from qdisclab.emulation.kinds.rigs.base import RigSection
    from qdisclab.emulation.kinds.traffic.base import TrafficSection

DEFAULT_ERA = eras.MODERN
DEFAULT_MEMORY = Size(192 * 2**20)
MOST_SEED = 999_999
NONE = "-"  # in place of a link, qdisc or congestion control that a rig does not have
NO_LINK = Link(NONE, Rate(0), Rate(0))


_OTHER_KERNEL = "@linux-"  # in an era's name, before the kernel where it is not the default


def era_name(era: str, kernel: str) -> str:
    """Return what tables and figures call an era on a kernel: `2014`, `modern@linux-7.3`."""
    return era if kernel == DEFAULT_KERNEL else f"{era}{_OTHER_KERNEL}{kernel}"


def era_and_kernel(name: str) -> tuple[str, str | None]:
    """Return the era and the kernel that `era_name` joined; None for the default kernel."""
    era, _, kernel = name.partition(_OTHER_KERNEL)
    return era, kernel or None


def length_name(length: Duration) -> str:
    """Return what figures call a length: `20s`."""
    return str(length).replace(" ", "")


def variant_name(label: str, era: str, kernel: str | None = None, length: str = "") -> str:
    """Return what pages and ids call an experiment's runs: `rrul@2014@20s`, `rrul@linux-7.3`."""
    other = kernel not in (None, DEFAULT_KERNEL)
    parts = [era if era != DEFAULT_ERA else "", f"linux-{kernel}" if other else "", length]
    return "@".join([label, *filter(None, parts)])


@dataclass(frozen=True)
class Point:
    """One value of each axis: what runs that differ only in their seed have in common."""

    label: str  # the first part of its id after the study: `rrul`, `flows_64_rtt_5ms`
    link: Link  # NO_LINK where the rig has no bottleneck
    qdisc: str  # as in the id: `codel`, `codel_5ms`
    cc: str  # TCP congestion control: `cubic`, `reno`
    queues: tuple[tuple[Rate, Qdisc], ...]  # the qdisc with its options at each rate
    rig: RigSection
    traffic: TrafficSection
    memory: Size = DEFAULT_MEMORY  # of a guest
    era: str | None = None  # where the sweep varies it
    axes: tuple[tuple[str, str], ...] = ()  # each axis and its value, as text
    outside: tuple[str, ...] = ()  # axes whose value is not part of the sweep
    settings: tuple[tuple[str, Any], ...] = ()  # further axes that the user set, with their values
    #: Rates for which the study has no qdisc options, each with the rate whose options are used.
    borrowed: tuple[tuple[Rate, Rate], ...] = ()
    #: Congestion controls of the study's own, whether the point uses them or not.
    controls: tuple[Control, ...] = ()

    @property
    def up(self) -> Qdisc:
        """Return the qdisc under test at the upload rate."""
        return dict(self.queues)[self.link.up]

    @property
    def down(self) -> Qdisc:
        """Return the qdisc under test at the download rate."""
        return dict(self.queues)[self.link.down]

    @property
    def place(self) -> str:
        """Return the parts of the id after the label: `10-1/codel/cubic`."""
        return f"{self.link.slug}/{self.qdisc}/{self.cc}"

    @property
    def key(self) -> tuple[str, str, str]:
        """Return what is unique among the points of an experiment, as the ids of runs are."""
        return self.label, self.place, self.era or DEFAULT_ERA

    def same_setup_as(self, other: Point) -> bool:
        """Return whether both run the same thing, however the user asked for each."""
        request: dict[str, Any] = {"axes": (), "outside": (), "settings": (), "borrowed": ()}
        return replace(self, **request) == replace(other, **request)

    def topology(self) -> Topology:
        """Build the rig around the bottleneck."""
        link = None if self.link is NO_LINK else self.link
        return self.rig.topology(link, dict(self.queues))


@dataclass(frozen=True)
class Experiment:
    """A rig, a kind of traffic and a sweep."""

    paper: str  # the study: `mine`
    name: str  # `rrul`; the label, where these are the points with one label
    title: str  # for people
    section: str  # of the paper
    points: tuple[Point, ...]
    seeds: tuple[int, ...]  # a repetition is a seed
    folder: str = ""  # of the study, unless it ships with the product
    restores: tuple[str, ...] = ()  # switches added to former eras in its runs (`era`)
    kernel: str = DEFAULT_KERNEL  # series of its runs, unless the user chooses another
    measure: str | None = None  # the kind of measure of its runs; None: no claim needs numbers
    unloaded: str | None = None  # the experiment without load that its numbers are divided by
    probes: tuple[Probe, ...] = ()  # what its runs record beside their data
    #: Derives points with other values of axes, in the sweep or not, from one of its points.
    vary: Callable[[Point, Mapping[str, Sequence[Any]]], tuple[Point, ...]] | None = field(
        default=None, compare=False, repr=False
    )

    @property
    def id(self) -> str:
        """Return `mine/first`."""
        return f"{self.paper}/{self.name}"

    @property
    def ref(self) -> str:
        """Return the name to find it by: its id, or its study's folder and its own name."""
        return f"{self.folder or self.paper}/{self.name}"

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the labels of its points, without duplicates."""
        return tuple(dict.fromkeys(point.label for point in self.points))

    @property
    def traffic(self) -> TrafficSection:
        """Return the traffic of its first point; a sweep can vary it."""
        return self.points[0].traffic

    @property
    def rig(self) -> RigSection:
        """Return the rig of its first point; a sweep can vary it."""
        return self.points[0].rig


@dataclass(frozen=True)
class Fixed:
    """What the claims are settled by, by the names of experiments."""

    on: str = ""  # the day since when it holds: "2026-11-22"
    repetitions: Mapping[str, int] = field(default_factory=dict)  # seeds 1 to n of each cell
    seen: Mapping[str, int] = field(default_factory=dict)  # of them looked at before that day
    eras: tuple[str, ...] = ()  # of the papers' kernel, the one that counts first


@dataclass(frozen=True)
class Study:
    """What a study file defines."""

    name: str  # `mine`
    title: str
    doi: str
    experiments: tuple[Experiment, ...]
    source: str = ""  # authors, place and year; empty where there is no paper
    address: str = ""  # where the paper can be read
    fixed: Fixed = Fixed()
    conclusion: str = ""  # a sentence on what came out
    cover: str = ""  # the figure that shows it

    def experiment(self, name: str) -> Experiment:
        """Return the experiment called `name`; raise `KeyError` where there is none."""
        return {experiment.name: experiment for experiment in self.experiments}[name]


@dataclass(frozen=True)
class Run:
    """A point and a seed: what one boot of the guest does."""

    experiment: Experiment
    point: Point
    seed: int
    length: Duration  # of the load; that of the traffic unless the user chose another
    era: str = DEFAULT_ERA  # as `emulation.model.era` reads it
    kernel: str = DEFAULT_KERNEL  # series
    #: Whether output of tools is copied out while they run (`emulation.runs.live`).
    watched: bool = False

    @property
    def experiment_id(self) -> str:
        """Return the study and the label: `mine/flows_4`."""
        return f"{self.experiment.paper}/{self.point.label}"

    @property
    def variant(self) -> str:
        """Return the label and, each after an `@`, era, kernel and length if not the default."""
        return variant_name(self.point.label, self.era, self.kernel, self.other_length)

    @property
    def other_length(self) -> str:
        """Return how figures name the length, `20s`; nothing where it is that of the traffic."""
        return "" if self.length == self.traffic.length else length_name(self.length)

    @property
    def cell(self) -> str:
        """Return what its id has in common with runs that differ in their seed alone."""
        return f"{self.experiment.paper}/{self.variant}/{self.point.place}"

    @property
    def id(self) -> str:
        """Return the path below `data/`: `mine/first/10-10/codel/cubic/seed-001`."""
        return f"{self.cell}/seed-{self.seed:03d}"

    @property
    def random(self) -> int:
        """Return the seed of the guest's random numbers, from 0 to 2^64 - 1.

        It differs between points, so that no two points share ports, hash keys and start times;
        it is the same in all eras and kernels, which are compared run by run.
        """
        text = f"{self.experiment_id}/{self.point.place}/{self.seed}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")

    @property
    def link(self) -> Link:
        """Return the rates of the bottleneck."""
        return self.point.link

    @property
    def qdisc(self) -> str:
        """Return the name of the qdisc under test, as in the id."""
        return self.point.qdisc

    @property
    def cc(self) -> str:
        """Return the congestion control of the hosts."""
        return self.point.cc

    @property
    def controls(self) -> frozenset[str]:
        """Return the congestion controls of its hosts and flows."""
        of_nodes = (settings.get(CONTROL, NONE) for settings in self.rig.node_sysctls.values())
        return frozenset({self.cc, *of_nodes, *self.traffic.controls} - {NONE})

    @property
    def own_controls(self) -> tuple[Control, ...]:
        """Return those of the `controls` that come from modules of the study."""
        return tuple(control for control in self.point.controls if control.name in self.controls)

    @property
    def rig(self) -> RigSection:
        """Return the section that describes what is built around the bottleneck."""
        return self.point.rig

    @property
    def traffic(self) -> TrafficSection:
        """Return the section that describes what is sent."""
        return self.point.traffic

    @property
    def memory_mib(self) -> int:
        """Return the guest's memory in MiB."""
        return self.point.memory.bytes >> 20

    @property
    def switches(self) -> tuple[eras.Switch, ...]:
        """Return the switches that restore the behaviour of former kernels in this run."""
        return eras.switches(self.era, self.experiment.restores)

    def switches_of(self, node: str) -> tuple[eras.Switch, ...]:
        """Return the switches of `node`: in a former era a node may run a release of its own."""
        own = dict(self.rig.eras).get(node)
        if own is None or self.era == DEFAULT_ERA:
            return self.switches
        return eras.switches(own, self.experiment.restores)

    def sysctls(self, node: str) -> dict[str, str]:
        """Return the settings, name to value, of a host that sends or receives."""
        control = {CONTROL: self.cc} if self.cc != NONE else {}
        return {**control, **dict(self.rig.sysctls), **eras.sysctls(self.switches_of(node))}

    @property
    def topology(self) -> Topology:
        """Build the rig of this run, with each qdisc as in the release that its node runs."""
        topology = self.point.topology().with_qdiscs(
            lambda node, qdisc: eras.restored(qdisc, self.switches_of(node))
        )
        if ring := eras.ring(self.switches):
            topology = topology.ringed(ring)
        if clock := eras.clock(self.switches):
            return topology.clocked(clock)
        return topology.noisy(self.noise) if self.noise else topology

    @property
    def noise(self) -> float:
        """Return by how many packet times delays vary: as the rig says, else as the era does."""
        asked = self.rig.host_noise
        return eras.noise(self.switches) if asked is None else asked

    @property
    def base_rtts(self) -> tuple[Duration, ...]:
        """Return round-trip times of the empty path, to each server address or for all pairs.

        The rig states them; for a rig that is written out they are the sum of its delays.
        """
        if self.rig.base_rtts:
            return self.rig.base_rtts
        topology = self.topology
        ends = self.traffic.ends(topology)
        return () if ends is None else (topology.base_rtt(*ends),)
