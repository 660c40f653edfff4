"""A queue discipline of `tc` with its options; `emulation.kinds.qdiscs` has the kinds."""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from qdisclab.emulation.kinds.qdiscs import KINDS, base
from qdisclab.emulation.model.units import Option, Packets

#: Files in the folder of a module that it is built from.
INPUTS = ("Kbuild", "*.c", "*.h")


@dataclass(frozen=True)
class ModuleSource:
    """The source of a kernel module that provides a kind of qdisc or a congestion control."""

    name: str  # in the guest's kernel: `sch_ramp`
    folder: Path  # with its Kbuild and C files
    digest: str  # of these files
    plugin: bool = False  # for `tc` alone: the kernel has the qdisc
    controls: tuple[str, ...] = field(default=(), compare=False)  # that a study says it registers
    linux: str = ""  # the file of Linux that it is built from, in place of a folder

    @classmethod
    def of_linux(cls, file: str) -> "ModuleSource":
        """Return a module of Linux itself: the kernel that it is built against has its source."""
        digest = hashlib.sha256(file.encode()).hexdigest()[:16]
        return cls(Path(file).stem, Path(), digest, linux=file)


@dataclass(frozen=True)
class Qdisc:
    """A queue discipline with its options."""

    name: str  # the paper's name: `ared`, `fq_nocodel`
    kind: str  # the kind of `tc`: `red`, `fq_codel`
    options: tuple[tuple[str, Option], ...] = ()  # in the order of the `tc` command
    txqueuelen: Packets | None = None  # of the interface; None leaves that of the rig
    module: ModuleSource | None = None  # of the user's own qdisc (`emulation.config.own`)

    @property
    def about(self) -> base.QdiscKind:
        """Return its kind; of a module of the user's own one of which nothing more is known."""
        return KINDS.get(self.kind) or base.QdiscKind(self.kind)

    def tc_arguments(self) -> tuple[str, ...]:
        """Return what follows `tc qdisc add dev X parent 1:1 handle 10:`, the kind first."""
        options = (self.about.words(name, value) for name, value in self.options)
        return (self.kind, *(word for words in options for word in words))

    def expect(self) -> base.Expected:
        """Return what must be read back: the kind and each option as a JSON number or boolean.

        A `Rate` becomes `<option>_bit_s`, a `Duration` `<option>_us`; a size (bytes), a packet
        count and a plain number keep the option's name. `noecn` becomes `"ecn": false`, but a flag
        of a kind with choices of several keeps its name.
        """
        expected: base.Expected = {"kind": self.kind}
        for name, value in self.options:
            expected |= self.about.expect(name, value)
        return expected

    @property
    def marks(self) -> bool | None:
        """Return whether it marks packets of senders with ECN; None for a kind of the user's."""
        kind = KINDS.get(self.kind)
        return None if kind is None else kind.marks(dict(self.options))
