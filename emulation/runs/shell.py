"""A shell inside the rig, on this terminal."""

import math
import os
import shutil
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from qdisclab.emulation.config.job import job_of, modules_of
from qdisclab.emulation.host import scratch
from qdisclab.emulation.kernel import Kernel, module
from qdisclab.emulation.machine import rootfs, vm
from qdisclab.emulation.machine.layer import Layer
from qdisclab.emulation.model.run import Run
from qdisclab.emulation.study import trust


def job(run: Run) -> dict[str, Any]:
    """Return the job of a guest that builds the rig of `run` and starts a shell, not traffic."""
    columns, rows = shutil.get_terminal_size()
    shell = {"rows": rows, "columns": columns, "term": os.environ.get("TERM", "dumb")}
    return {**job_of(run), "work": "shell", "shell": shell}


def interact(run: Run, kernel: Kernel, root: rootfs.RootFs, layers: tuple[Layer, ...]) -> int:
    """Run a shell in the rig of `run` on standard input and output; return its exit status.

    The guest's clock follows the host's, since virtual time would not wait for somebody who types.
    """
    trust.require(run.experiment.folder)
    shell, booted = job(run), (kernel.path, root.path, run.random, run.memory_mib)
    modules = module.needed(kernel, shell, modules_of(run))
    machine = vm.Machine(*booted, terminal=True, modules=modules, layers=layers)
    with scratch.folder() as folder, _raw_terminal():
        vm.prepare(folder, machine, shell)
        return _exit_status(vm.run(machine, folder, hang_s=math.inf))


def _exit_status(ending: vm.Ending) -> int:
    """Return the shell's exit status; raise the guest's error if it failed."""
    ending.check()
    return int(ending.step("shell")["exit_status"])


@contextmanager
def _raw_terminal() -> Iterator[None]:
    """Leave lines, echo and ^C to the guest's console instead of this terminal, for a while."""
    import tty

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    try:
        tty.setraw(terminal)
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
