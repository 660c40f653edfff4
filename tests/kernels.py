"""Kernels of series that tests do not build: that takes minutes."""

from pathlib import Path
from typing import Any

import pytest

from qdisclab.emulation import kernel
from qdisclab.emulation.kernel import module
from qdisclab.emulation.machine import rootfs, vm

TODAY, OLDEST = "7.2", "6.1"

needs_today, needs_oldest = (
    pytest.mark.skipif(
        kernel.find(series) is None,
        reason=f"no kernel {series} in the cache; `emulate kernel build --series {series}`",
    )
    for series in (TODAY, OLDEST)
)

#: What a guest does to load the only module that it was given; its error, or 0.
LOAD = """
import ctypes, os
status('booted')
libc = ctypes.CDLL(None, use_errno=True)
(name,) = os.listdir('/job/modules')
with open(f'/job/modules/{name}', 'rb') as file:
    status('loaded', error=libc.syscall(313, file.fileno(), b'', 0) and ctypes.get_errno())
"""


def run_script(script: str, place: Path, series: str | None = None, **machine: Any) -> vm.Ending:
    """Have a guest with a kernel of that series do the script, in `place`."""
    built, root = kernel.build(series=series), rootfs.build()
    booted = vm.Machine(built.path, root.path, seed=1, **machine)
    vm.prepare(place, booted, {"work": "script"}, script=script)
    return vm.run(booted, place)


def load_module(series: str, source: str, place: Path) -> vm.Ending:
    """Build a module of that C source in `place` and load it in a guest, which says `loaded`."""
    built, root = kernel.build(series=series), rootfs.build()
    code, folder = place / "module", place / "guest"
    for made in (code, folder):
        made.mkdir()
    (code / "Kbuild").write_text("obj-m := tested.o\n")
    (code / "tested.c").write_text(source)
    tested = module.build(built, code, place)
    machine = vm.Machine(built.path, root.path, 1, modules=(tested,))
    vm.prepare(folder, machine, {"work": "script"}, script=LOAD)
    return vm.run(machine, folder)
