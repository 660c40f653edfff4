"""A prompt inside the rig, on this terminal."""

from __future__ import annotations

import math
import os
import shutil
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from emulation.config.job import job_of, modules_of
from emulation.host import scratch
from emulation.kernel import Kernel, module
from emulation.machine import vm
from emulation.machine.rootfs import RootFs
from emulation.model.run import Run
from emulation.study import trust


def job(run: Run) -> dict[str, Any]:
    """The job of a guest that builds the rig of `run` and then gives a shell, not traffic."""
    columns, rows = shutil.get_terminal_size()
    term = os.environ.get("TERM", "dumb")
    shell = {"rows": rows, "columns": columns, "term": term}
    return {**job_of(run), "work": "shell", "shell": shell}


def interact(run: Run, kernel: Kernel, root: RootFs) -> int:
    """A prompt in the rig of `run` on standard input and output; its exit status.

    The guest's clock is the host's: virtual time does not wait for somebody who types.
    """
    machine = vm.Machine(kernel.path, root.path, run.random, run.memory_mib, terminal=True)
    wanted = job(run)
    trust.require(run.experiment.folder)
    modules = module.needed(kernel, wanted, modules_of(run))
    with scratch.folder() as folder, _raw_terminal():
        vm.prepare(folder, root.path, wanted, modules)
        return _status(vm.run(machine, folder, hang_s=math.inf))


def _status(ending: vm.Ending) -> int:
    """The shell's exit status; raises what kept it from being one."""
    ending.check()
    return int(ending.step("shell")["exit_status"])


@contextmanager
def _raw_terminal() -> Iterator[None]:
    """Let the guest's console do what the terminal does: lines, echo, ^C. Undone at the end."""
    import tty

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    try:
        tty.setraw(terminal)
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
