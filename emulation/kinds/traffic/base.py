"""The base of all kinds of traffic: a length, a job for the guest, and a reducer of its output."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import model_validator

from qdisclab.emulation import datafile
from qdisclab.emulation.captures import flent
from qdisclab.emulation.kinds.rigs.base import RigSection
from qdisclab.emulation.model.run import Run
from qdisclab.emulation.model.topology import Topology
from qdisclab.emulation.model.units import Duration
from qdisclab.emulation.study.schema import Flaws, Length, Section, Span, TestName


class TrafficSection(Section):
    """The traffic of a study file. A kind of traffic is a subclass, with its `kind`."""

    #: The suffix of its data file, which `reduce` writes as `data` with this suffix.
    data_end: ClassVar[str] = datafile.FLENT

    #: What sends: names of the guest's modules that a job can have as its `tool` (without a rig, as
    #: its `work`), each with the files that it needs: names in `emulation/guest`, or paths of files
    #: of the study.
    tools: ClassVar[Mapping[str, tuple[str | Path, ...]]] = {}

    test: TestName  # name of flent's test whose form the data have
    length: Length  # of the load
    step: Span  # between two samples
    start_jitter: Span  # each TCP flow starts up to this much later, as the seed says

    @model_validator(mode="after")
    def _step_fits(self) -> Self:
        if self.step > self.length:
            what = f"'{self.step}' is longer than the length, '{self.length}'"
            raise Flaws((("step",), what, "shorten the step or lengthen the run"))
        return self

    @classmethod
    def guest_files(cls, tool: str, traffic: Mapping[str, Any]) -> Iterator[str | Path]:
        """Yield the files that the guest needs for the `traffic` of a job; as in `tools`."""
        yield from cls.tools[tool]

    @abstractmethod
    def check(self, rig: RigSection, topology: Topology) -> None:
        """Raise `Flaws` where the traffic cannot be sent over `topology`."""

    def check_length(self, length: Duration) -> None:
        """Raise `Flaws` where the traffic cannot have `length` in place of its own."""

    @abstractmethod
    def job(self, run: Run, topology: Topology) -> dict[str, Any]:
        """Return what the guest sends, ready for JSON: the part `traffic` of a job.

        Without a rig this is the whole job.
        """

    @abstractmethod
    def reduce(self, run: Run, out: Path) -> None:
        """Make the data from the files that a guest left in the folder `out`.

        Raises an `EmulationError` where the files contradict each other.
        """

    def record(
        self, run: Run, out: Path, steps: list[dict[str, Any]], qdiscs: dict[str, Any]
    ) -> dict[str, Any]:
        """Return fields that the provenance of a run has in addition or with other values.

        `steps` are the lines of the guest's status, `qdiscs` the counters of each port at the end.
        """
        return {}

    def ends(self, topology: Topology) -> tuple[str, str] | None:
        """Return the two hosts whose RTT is that of the run; None where there are none."""
        return topology.pairs[-1] if topology.pairs else None

    def flent_about(self, run: Run) -> flent.About:
        """Return the description of the test in a data file of flent's form."""
        return flent.About(self.test, run.id, run.length, self.step)

    @property
    def debian(self) -> tuple[str, ...]:
        """Return the Debian packages that the guest needs on top of its root file system."""
        return ()

    def sources(self) -> list[tuple[str, Path]]:
        """Return the files of the study for its programs: (name in the guest, path)."""
        return []

    @property
    def modules(self) -> tuple[str, ...]:
        """Return the kernel modules that the guest loads, by their folders in `qdisc/src`."""
        return ()

    @property
    def controls(self) -> frozenset[str]:
        """Return the congestion controls that single flows ask for."""
        return frozenset()

    @property
    def loads_in_turn(self) -> int:
        """Return the number of loads that the repetitions take in turn."""
        return 1

    @property
    def leaves(self) -> dict[str, str]:
        """Map further files of a run, by their names in the guest's `out`, to their suffixes."""
        return {}

    def sysctls(self, run: Run, topology: Topology) -> dict[str, dict[str, str]]:
        """Map each host to its settings."""
        return {node.name: run.sysctls(node.name) for node in topology.nodes if node.host}

    def parameters(self) -> dict[str, str]:
        """Map files of the guest's kernel to the text written to them before the rig is built."""
        return {}
