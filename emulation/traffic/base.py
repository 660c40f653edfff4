"""What all traffic has in common: a length, and what is made of it before and after a guest."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import model_validator

from emulation import datafile
from emulation.captures import flent
from emulation.model.topology import Link, Topology
from emulation.model.units import Duration
from emulation.rigs.base import RigSection
from emulation.study.schema import Flaws, Section, Span, TestName

if TYPE_CHECKING:
    from emulation.model.run import Run

#: Packets of a Mbit of a loaded direction: full segments, and an acknowledgment for every second.
PER_MBIT = 127.0

KNOWN_NEIGHBOUR_MS = "36000000"  # no run is that long


class TrafficSection(Section):
    """The traffic of a study file. A kind of traffic is a subclass, with its `kind`."""

    #: How the name of its data file ends, which `reduce` leaves as `data` with that end.
    data_end: ClassVar[str] = datafile.FLENT

    test: TestName  # the name of flent's test whose form the data have
    length: Span  # of the load
    step: Span  # between two samples
    start_jitter: Span  # each TCP flow starts up to this much later, as the seed says

    @model_validator(mode="after")
    def _step_fits(self) -> Self:
        if self.step > self.length:
            what = f"'{self.step}' is longer than the length, '{self.length}'"
            raise Flaws((("step",), what, "shorten the step or lengthen the run"))
        return self

    @abstractmethod
    def check(self, rig: RigSection, topology: Topology) -> None:
        """Raise `Flaws` where it cannot be sent over `topology`."""

    def check_length(self, length: Duration) -> None:
        """Raise `Flaws` where it cannot have that length in place of its own."""

    @abstractmethod
    def job(self, run: Run, topology: Topology) -> dict[str, Any]:
        """What the guest sends, ready for JSON: the part `traffic` of a job.

        Without a rig it is the whole job.
        """

    @abstractmethod
    def reduce(self, run: Run, out: Path, raw: bool) -> None:
        """Make the data of what a guest left in the folder `out`.

        With `raw` also what `--capture` asks for. Raises an `EmulationError` where what was seen
        does not add up.
        """

    def record(
        self, run: Run, out: Path, steps: list[dict[str, Any]], qdiscs: dict[str, Any]
    ) -> dict[str, Any]:
        """What the provenance of a run has besides, or otherwise.

        `steps` are the lines of the guest's status, `qdiscs` what was read of each port at the end.
        """
        return {}

    def ends(self, topology: Topology) -> tuple[str, str] | None:
        """The two hosts whose round trip is that of the run; None where there are none."""
        return topology.pairs[-1] if topology.pairs else None

    def flent_about(self, run: Run) -> flent.About:
        """What a data file in flent's form says of the test."""
        return flent.About(self.test, run.id, run.length, self.step)

    @property
    def debian(self) -> tuple[str, ...]:
        """Debian packages that the guest has for it, beside those of its root file system."""
        return ()

    def sources(self) -> list[tuple[str, Path]]:
        """The files of the study that its programs find: (name in the guest, where it is)."""
        return []

    @property
    def modules(self) -> tuple[str, ...]:
        """Kernel modules that it has the guest load, by their folders in `qdisc/src`."""
        return ()

    @property
    def loads_in_turn(self) -> int:
        """How many loads the repetitions take in turn."""
        return 1

    @property
    def leaves(self) -> dict[str, str]:
        """What else a run leaves beside its data: file in the guest's `out` -> end of its name."""
        return {}

    def sysctls(self, run: Run, topology: Topology) -> dict[str, dict[str, str]]:
        """Settings of each node: those of hosts on all that send or receive."""
        return {node.name: run.sysctls(node.name) for node in topology.nodes if node.host}

    def parameters(self) -> dict[str, str]:
        """Files of the guest's kernel that are written before the rig is built, and their text."""
        return {}

    def expected_packets(self, link: Link, length_s: float) -> float:
        """About how many packets leave the bottleneck `link`."""
        return PER_MBIT * length_s * (link.up.mbit_per_s + link.down.mbit_per_s)


def sysctls_of_pairs(run: Run, topology: Topology) -> dict[str, dict[str, str]]:
    """Of every node: those of hosts, and that no question for an address is asked under load.

    It would get into the queue under test.
    """
    hosts = (host for pair in topology.pairs for host in pair)
    sysctls = {host: run.sysctls(host) for host in hosts}
    for port in topology.ports():
        if port.address:
            name = f"net.ipv4.neigh.{port.interface}.base_reachable_time_ms"
            sysctls.setdefault(port.node, {})[name] = KNOWN_NEIGHBOUR_MS
    return sysctls


def need_pairs(kind: str, topology: Topology) -> None:
    """Raise `Flaws` where a rig has no senders and receivers."""
    if not topology.pairs:
        what = f"'{kind}' sends between the pairs of a rig, '{topology.name}' has none"
        raise Flaws((("kind",), what, "write 'kind: flent', or a rig with pairs: dumbbell"))
