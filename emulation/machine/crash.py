"""Where a guest's kernel crashed or spins, told by that kernel itself.

It prints the registers at a level that its console leaves out, and its command line, which has that
level, is an input of its random numbers: so the level is changed in its memory, in a guest that has
failed or is repeated because it has.
"""

import os
import re
import signal
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from elftools.elf.sections import SymbolTableSection

from qdisclab.emulation.errors import EmulationError
from qdisclab.emulation.host import scratch
from qdisclab.emulation.programs.executables import elf_of

#: The console's level of a guest's command line, and the one with which it prints everything.
LEVEL, ALL = 5, 8

_REGISTERS = "Modules linked in:"  # their first line, which the console always prints
_PANIC = "Kernel panic"
_FUNCTION = r"([\w.]+\+0x[0-9a-f]+/0x[0-9a-f]+"
_PLACES = (
    re.compile(r"\bRIP: [0-9a-f]{4}:" + _FUNCTION + r"(?: \[\w+\])?)"),
    re.compile(r"\[<[0-9a-f]+>\] (?:\? )?" + _FUNCTION + r" \[\w+\])"),  # of a call trace
)

#: Seconds for a kernel to die of a signal.
_DIES_S = 5.0
_ENDED = "emulate: this guest stood still, and was ended with a fault to learn where\n"


def hides(console: str) -> bool:
    """Return whether the kernel panicked, and `console` leaves out the registers that it told."""
    return _PANIC in console and _REGISTERS in console.partition(_PANIC)[0] and not place(console)


def place(text: str) -> str:
    """Return `FUNCTION+OFFSET/SIZE [MODULE]` of the registers in `text`, or of the first call that
    is a module's; "" if it has neither."""
    return next((at[1] for pattern in _PLACES if (at := pattern.search(text))), "")


def loud(kernel: Path) -> Callable[[int], None]:
    """Return what has the guest with a process id of the binary `kernel` print everything, once it
    is past its command line; it is to be called until then, and does nothing where it cannot."""
    address, done = _level_at(kernel), False

    def raise_level(pid: int) -> None:
        nonlocal done
        if address and not done:
            with suppress(OSError), Path(f"/proc/{pid}/mem").open("r+b", buffering=0) as memory:
                memory.seek(address)
                if memory.read(4) == struct.pack("<i", LEVEL):
                    memory.seek(address)
                    done = memory.write(struct.pack("<i", ALL)) == 4

    return raise_level


def spins_at(pid: int, kernel: Path, console: Path) -> str:
    """Return where the guest's `kernel`, which stands still, is, and end it for that with a fault;
    "" if it waits for a process."""
    loud(kernel)(pid)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSEGV)
    text, end = "", time.monotonic() + _DIES_S
    while _PANIC not in text and time.monotonic() < end:
        time.sleep(0.05)
        text = scratch.read_text(console)
    with console.open("a") as file:
        file.write(_ENDED)
    return place(text)


def _level_at(kernel: Path) -> int:
    """Return the address of the console's level; 0 where the binary does not tell it."""
    with suppress(OSError, LookupError, EmulationError), elf_of(kernel) as elf:
        table = elf.get_section_by_name(".symtab") if elf else None
        if isinstance(table, SymbolTableSection):
            return int((table.get_symbol_by_name("console_printk") or [])[0]["st_value"])
    return 0
