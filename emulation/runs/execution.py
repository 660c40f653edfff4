"""Run one command in a guest, in virtual time, and collect its output.

The command runs as root in the guest's `/root/work`, which has a copy of the files that it takes
along. The guest is the same every time: the outcome is a function of the kernel, the root file
system, the layers, the files, the command, the rig and the seed.
"""

import json
import math
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from qdisclab.emulation.config.job import job_of, modules_of
from qdisclab.emulation.errors import ConfigError, EmulationError
from qdisclab.emulation.host import scratch, storage
from qdisclab.emulation.host.digest import sha256
from qdisclab.emulation.kernel import Kernel, module
from qdisclab.emulation.machine import provenance, rootfs, vm
from qdisclab.emulation.machine.layer import Layer, names
from qdisclab.emulation.model.qdisc import ModuleSource
from qdisclab.emulation.model.run import Run
from qdisclab.emulation.model.units import Duration, Size
from qdisclab.emulation.programs.guest_root import GuestRoot
from qdisclab.emulation.programs.taken import TakenFile
from qdisclab.emulation.study import trust

#: Name of the program in the guest, and of the guest's module that runs it.
NAME = TOOL = "command"

#: The folder of the module with which a process that looks sees time pass.
LOOKS = "looks"

#: Memory of a guest without a rig.
MEMORY = Size(384 * 2**20)

#: Virtual time after which a command is stopped.
TIMEOUT = Duration(3600 * 10**9)

#: Keeps Python's byte code out of the folder, all of whose files are copied out, and messages to
#: ASCII.
ENVIRONMENT = {"PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C"}

#: File name of the record of an execution.
RECORD = "exec.json"

#: Files that are copied from the guest's `out` if they exist.
LOGS = ("kernel.log", "qdiscs.json")

#: Files with what the command printed.
STREAMS = ("stdout", "stderr")

#: Everything that an execution leaves in its folder.
LEFT = frozenset({RECORD, *LOGS, *STREAMS, "files"})


#: When a command without a rig begins, in seconds since the guest's start: ping takes a clock that
#: shows less than a second for one that it has not read yet, and then never waits.
START_S = 1.0


#: The part of the guest's memory that files may take; its file system takes half.
MOST_FILES = 0.4


@dataclass(frozen=True)
class Execution:
    """A command, and what else its outcome depends on besides kernel and root file system."""

    command: tuple[str, ...]
    seed: int = 1
    files: tuple[TakenFile, ...] = ()
    layers: tuple[Layer, ...] = ()  # the first is on top
    rig: Run | None = None  # the run whose rig is built
    node: str | None = None  # node on which the command runs; None: outside of all nodes
    memory: Size | None = None  # None: that of the rig, or `MEMORY`
    timeout: Duration = TIMEOUT
    looks: bool = False  # whether waiting by looking takes time (qdisc/src/looks)
    linux: tuple[str, ...] = ()  # files of Linux that are built as modules and loaded

    @property
    def modules(self) -> tuple[ModuleSource, ...]:
        """Return the kernel modules that the guest loads."""
        return (*(() if self.rig is None else modules_of(self.rig)), *self._own_modules)

    @property
    def _own_modules(self) -> tuple[ModuleSource, ...]:
        """Return the modules that no rig asks for."""
        looks = (module.source(module.SOURCES / LOOKS),) if self.looks else ()
        return (*map(ModuleSource.of_linux, self.linux), *looks)

    @property
    def memory_mib(self) -> int:
        """Return the memory of the guest in MiB."""
        if self.memory is None and self.rig is not None:
            return self.rig.memory_mib
        return math.ceil((self.memory or MEMORY).bytes / 2**20)

    def job(self) -> dict[str, Any]:
        """Return the guest's job, ready for JSON."""
        job: dict[str, Any] = {"work": TOOL} if self.rig is None else job_of(self.rig)
        if self.layers:
            job["layers"] = names(self.layers)
        if own := self._own_modules:
            about = [{"name": each.name, "digest": each.digest} for each in own]
            job["modules"] = [*job.get("modules", ()), *about]
        program = {
            "name": NAME,
            "node": self.node,
            "command": list(self.command),
            "environment": ENVIRONMENT,
            "start_s": 0.0 if self.rig else START_S,
            "after": None,
            "after_node": None,
            "until": "end",
            "statuses": None,  # any exit status is accepted and recorded
            "deadline_s": self.timeout.seconds,
            "keeps": ["**"],
        }
        job["traffic"] = {
            "tool": TOOL,
            "length_s": self.timeout.seconds,
            "programs": [program],
            "files": [{"path": file.path, "mode": file.mode} for file in self.files],
        }
        return job

    def guest(self, root: rootfs.RootFs) -> GuestRoot:
        """Return what its programs find in their guest."""
        return GuestRoot([*(layer.path for layer in self.layers), root.path], self.files)

    def check_room(self) -> None:
        """Raise `ConfigError` where the guest's memory cannot hold its files."""
        files_mib = sum(file.source.stat().st_size for file in self.files) / 2**20
        if files_mib > self.memory_mib * MOST_FILES:
            what = f"the files have {files_mib:.0f} MiB, too many for {self.memory_mib} MiB of"
            todo = f"give '{files_mib / MOST_FILES + 1:.0f} MiB' or more"
            raise ConfigError(f"{what} memory", "--memory", todo)


@dataclass(frozen=True)
class Outcome:
    """The outcome of an execution.

    `folder` has `stdout`, `stderr`, `kernel.log`, the command's files below `files/` and the
    record; `status` is the command's exit status, or 128 plus the signal that ended it.
    """

    folder: Path
    status: int
    record: dict[str, Any]
    ending: vm.Ending

    @property
    def files(self) -> list[str]:
        """Return the files that the command left, relative to its folder."""
        return _names(self.folder / "files")


def execute(
    wanted: Execution,
    kernel: Kernel,
    root: rootfs.RootFs,
    target: Path,
    warnings: Iterable[str] = (),
    hang_s: float = vm.HANG_S,
    keep: Path | None = None,
) -> Outcome:
    """Do the execution `wanted`; its outcome goes into the folder `target`, which must not exist.

    `warnings` go into the record, `hang_s` is passed to `vm.run`, and `keep` is a folder for the
    scratch folder of a failed guest. Raises an `EmulationError` that names the cause, and then
    leaves no `target`.
    """
    job = wanted.job()
    trust.require("" if wanted.rig is None else wanted.rig.experiment.folder)
    modules = module.needed(kernel, job, wanted.modules)
    machine = vm.Machine(kernel.path, root.path, wanted.seed, wanted.memory_mib)
    machine = replace(machine, modules=modules, layers=wanted.layers, may_crash=True)
    with scratch.folder() as folder:
        try:
            files = [(file.path, file.source) for file in wanted.files]
            vm.prepare(folder, machine, job, files=files)
            ending = vm.run(machine, folder, hang_s=hang_s)
            ending.check()
            out = folder / "job" / "out"
            with scratch.reading():
                about = json.loads((out / "programs.json").read_text())[NAME]
                status = _shell_status(about)
                shutil.copytree(out / "programs" / NAME, target)
                for name in STREAMS:
                    (target / name).stat()
                for name in LOGS:
                    if (out / name).exists():
                        shutil.copyfile(out / name, target / name)
        except BaseException as error:
            storage.remove(target)
            if not isinstance(error, EmulationError):
                raise
            if keep is not None:
                scratch.keep(folder, keep)
                error.todo = f"{error.todo}; " * bool(error.todo) + f"its logs are in {keep}"
            raise
    record = {
        "format": 1,
        "command": list(wanted.command),
        **about,
        "virtual_s": ending.virtual_s,
        "identity": {
            **provenance.of_guest(job, machine, kernel),
            "root": root.digest,
            "layers": [layer.about for layer in wanted.layers],
            "files": {
                file.path: {"sha256": sha256(file.source), "mode": oct(file.mode)}
                for file in wanted.files
            },
            "rig": None if wanted.rig is None else wanted.rig.id,
        },
        **({"kernel_tree": kernel.tree} if kernel.tree else {}),
        "warnings": list(warnings),
        "outputs": {name: sha256(target / name) for name in _names(target)},
    }
    (target / RECORD).write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")
    return Outcome(target, status, record, ending)


def _shell_status(about: dict[str, Any]) -> int:
    """Return the exit status as a shell would report it."""
    if about["signal"] is None:
        return int(about["status"])
    import signal

    return 128 + signal.Signals[about["signal"]].value


def _names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def difference(first: Path, second: Path) -> str | None:
    """Describe the first byte in which the files of two outcomes differ, or return None.

    What the command printed is compared first, the record last.
    """
    names = sorted({*_names(first), *_names(second)}, key=lambda name: (_order(name), name))
    for name in names:
        left, right = first / name, second / name
        for path, which in ((left, "first"), (right, "second")):
            if not path.exists():
                return f"{name}: is missing from the {which} outcome"
        a, b = left.read_bytes(), right.read_bytes()
        if a != b:
            pairs = enumerate(zip(a, b, strict=False))
            offset = next((at for at, (x, y) in pairs if x != y), min(len(a), len(b)))
            line = a[:offset].count(b"\n") + 1
            return f"{name}: byte {offset} (line {line}) is the first that differs"
    return None


def _order(name: str) -> int:
    if name in STREAMS:
        return 0
    return 1 if name.startswith("files/") else 2 if name != RECORD else 3


def show(folder: Path) -> None:
    """Print the output of the command again."""
    for name, stream in (("stdout", sys.stdout), ("stderr", sys.stderr)):
        path = folder / name
        if path.exists():
            stream.flush()
            with path.open("rb") as file:
                shutil.copyfileobj(file, stream.buffer)
            stream.flush()
