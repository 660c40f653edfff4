"""Which process a guest that stands still is busy with, read from its kernel's memory.

The guest cannot tell it: nothing in it runs but that process. Its kernel is a process of the host,
whose executable names where `cpu_tasks` (the tasks that run, arch/um) and `init_task` are.
"""

import struct
from pathlib import Path

from elftools.elf.sections import SymbolTableSection

from qdisclab.emulation.errors import EmulationError
from qdisclab.emulation.host.confine import system_calls
from qdisclab.emulation.programs.executables import elf_of

#: Bytes of a `struct task_struct` that are read; the registers of its process are at its end.
_TASK = 16384
_FIRST = b"swapper"  # the name of `init_task`
#: Words of `struct uml_pt_regs`: registers in the order of `struct user`, of which segments tell
#: where they begin, and the number of the last system call: behind the fault in 7.2, and in 6.12
#: behind 337 words of floating-point registers besides. A flag follows it.
_CS, _SS, _CALLS = 17, 20, (30, 367)


def whereabouts(pid: int) -> str:
    """Return `; NAME runs, its last system call is CALL` of a guest; "" where it cannot be told.

    `pid`: the process of its kernel. A process that has been interrupted since has no last call.
    """
    try:
        with elf_of(Path(f"/proc/{pid}/exe")) as elf:
            table = elf.get_section_by_name(".symtab") if elf else None
            if not isinstance(table, SymbolTableSection):
                return ""
            names = ("init_task", "cpu_tasks")
            init, tasks = ((table.get_symbol_by_name(name) or [])[0]["st_value"] for name in names)
        with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:

            def read(address: int, size: int) -> bytes:
                memory.seek(address)
                return memory.read(size)

            name_at = read(init, _TASK).index(_FIRST)
            (current,) = struct.unpack("<Q", read(tasks, 8))
            task = read(current, _TASK)
    except (OSError, ValueError, struct.error, EmulationError):
        return ""
    name = task[name_at : name_at + 16].partition(b"\0")[0].decode(errors="replace")
    if not name or name.startswith(_FIRST.decode()):
        return ""
    call = _last_call(struct.unpack(f"<{len(task) // 8}Q", task))
    return f"; {name} runs" + (f", its last system call is {call}" if call else "")


def _last_call(words: tuple[int, ...]) -> str:
    for at in range(len(words) - max(_CALLS) - 1):
        if words[at + _CS] & 0xFFFF == 0x33 and words[at + _SS] & 0xFFFF == 0x2B:
            for place in _CALLS:
                number, in_user = words[at + place], words[at + place + 1] & 0xFFFFFFFF
                if number < 1024 and in_user == 1:
                    names = {number: name for name, number in system_calls(builds=True).items()}
                    return names.get(number, str(number))
            return ""
    return ""
