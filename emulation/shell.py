"""A prompt inside the rig, on this terminal or for one command."""

from __future__ import annotations

import math
import os
import shutil
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from emulation import vm
from emulation.errors import EmulationError, GuestFailure, RigMismatch
from emulation.kernel import Kernel, module
from emulation.model import Run
from emulation.rootfs import RootFs


def job(run: Run, command: str | None) -> dict[str, Any]:
    """The job of a guest that builds the rig of `run` and then gives a shell, not traffic."""
    columns, rows = shutil.get_terminal_size()
    term = os.environ.get("TERM", "dumb")
    shell = {"command": command, "rows": rows, "columns": columns, "term": term}
    return {**run.job(), "shell": shell}


def interact(run: Run, kernel: Kernel, root: RootFs) -> int:
    """A prompt in the rig of `run` on standard input and output; its exit status.

    The guest's clock is the host's: virtual time does not wait for somebody who types.
    """
    machine = vm.Machine(kernel.path, root.path, run.random, run.memory_mib, terminal=True)
    wanted = job(run, None)
    modules = module.needed(kernel, wanted, run.modules)
    with vm.scratch() as folder, _raw_terminal():
        vm.prepare(folder, root.path, wanted, modules)
        return _status(vm.run(machine, folder, hang_s=math.inf))


def command(run: Run, kernel: Kernel, root: RootFs, text: str) -> tuple[int, str]:
    """Run `text` with bash in the rig of `run`, in virtual time; (exit status, output)."""
    machine = vm.Machine(kernel.path, root.path, run.random, run.memory_mib)
    wanted = job(run, text)
    modules = module.needed(kernel, wanted, run.modules)
    with vm.scratch() as folder:
        vm.prepare(folder, root.path, wanted, modules)
        status = _status(vm.run(machine, folder))
        out = folder / "job" / "out" / "shell.txt"
        return status, _text(out)


def _text(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""


def _status(ending: vm.Ending) -> int:
    """The shell's exit status; raises what kept it from being one."""
    last = ending.steps[-1]
    if last["step"] != "done":
        cause: type[EmulationError] = RigMismatch if last.get("cause") == "rig" else GuestFailure
        raise cause("; ".join(last.get("problems", [f"it stopped after '{last['step']}'"])))
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
