"""Instructions of a program whose results do not follow from virtual time and the seed.

Time stamps (RDTSC, RDTSCP) are virtual in a guest, and most other sources of time and chance are
system calls. What is left are instructions that the processor answers by itself, and that cannot be
trapped everywhere. A program that contains one need not use it.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import capstone
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from qdisclab.emulation.host.cache import until_changed
from qdisclab.emulation.programs.executables import check, elf_of, read_elf
from qdisclab.emulation.programs.guest_root import GuestRoot
from qdisclab.emulation.programs.taken import TakenFile

#: Instructions that return random numbers, and those that identify the processor or the CPU.
RANDOM = ("rdrand", "rdseed")
MACHINE = ("cpuid", "xgetbv", "rdpid")

#: Bytes that every such instruction contains.
_OPCODES = (b"\x0f\xc7", b"\x0f\xa2", b"\x0f\x01\xd0")

_BACK = 4096  # bytes before a candidate to disassemble if no function is known
_LONGEST = 15  # bytes of an instruction


@dataclass(frozen=True)
class Instruction:
    """A kind of instruction in a file: how often it occurs, and the address of the first."""

    mnemonic: str
    count: int
    address: int


def warnings(name: str, instructions: Sequence[Instruction]) -> Iterator[str]:
    """Yield a warning for each kind of `instructions` that the program `name` has."""
    for kind, why in (
        (RANDOM, "random numbers that no seed controls"),
        (MACHINE, "answers that differ between machines"),
    ):
        of_kind = (each for each in instructions if each.mnemonic in kind)
        words = [f"{of.mnemonic.upper()} ({of.count}x, first at {of.address:#x})" for of in of_kind]
        if words:
            yield f"{name} has {', '.join(words)}: {why}, if it uses them"


def of_programs(guest: GuestRoot, commands: Iterable[str], files: Sequence[TakenFile]) -> list[str]:
    """Return warnings about `commands` and the programs among the `files` that a guest gets.

    What its root file system has is known, and needs none. Raises `MissingTool` if the guest cannot
    start one.
    """
    used = [path for command in dict.fromkeys(commands) for path in check(guest, command)]
    for file in files:
        if file.mode & 0o100 and read_elf(file.source) is not None:
            used += check(guest, f"./{file.path}")
    names = {file.source: file.path for file in files}
    return [
        text
        for path in dict.fromkeys(used)
        if not guest.is_of_root(path) and read_elf(path) is not None
        for text in warnings(names.get(path, path.name), scan(path))
    ]


@until_changed
def scan(path: Path) -> tuple[Instruction, ...]:
    """Return the instructions of `RANDOM` and `MACHINE` in the ELF file at `path`, by name.

    Bytes that look like such an instruction count if disassembling from the function's start, or
    from far enough before them, meets the instruction there. Raises `MissingTool` if the file is
    broken.
    """
    seen: dict[str, list[int]] = {}
    with elf_of(path) as elf:
        if elf is None:
            return ()
        starts = sorted(set(_functions(elf)))
        for section in elf.iter_sections():
            if section["sh_flags"] & SH_FLAGS.SHF_EXECINSTR and section["sh_type"] != "SHT_NOBITS":
                for address, mnemonic in _within(section.data(), section["sh_addr"], starts):
                    seen.setdefault(mnemonic, []).append(address)
    return tuple(Instruction(name, len(seen[name]), min(seen[name])) for name in sorted(seen))


def _functions(elf: ELFFile) -> Iterator[int]:
    for section in elf.iter_sections():
        if isinstance(section, SymbolTableSection):
            for symbol in section.iter_symbols():
                if symbol["st_info"]["type"] == "STT_FUNC" and symbol["st_value"]:
                    yield symbol["st_value"]


def _within(code: bytes, base: int, starts: list[int]) -> Iterator[tuple[int, str]]:
    """Yield address and mnemonic of each such instruction in the `code` of a section at `base`."""
    decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    decoder.skipdata = True
    seen, wanted = set[int](), (*RANDOM, *MACHINE)
    for candidate in _candidates(code):
        number = bisect_right(starts, base + candidate) - 1
        start = starts[number] - base if number >= 0 else 0
        start = max(start, candidate - _BACK, 0) if start <= candidate else 0
        window = code[start : candidate + _LONGEST]
        for address, size, mnemonic, _ in decoder.disasm_lite(window, base + start):
            if address > base + candidate:
                break
            if address + size > base + candidate and mnemonic in wanted and address not in seen:
                seen.add(address)
                yield address, mnemonic


def _candidates(code: bytes) -> Iterator[int]:
    for opcode in _OPCODES:
        offset = code.find(opcode)
        while offset >= 0:
            # Of 0f c7, only /6 and /7 with a register are RDRAND, RDSEED and RDPID.
            if opcode != b"\x0f\xc7" or (offset + 2 < len(code) and code[offset + 2] >= 0xF0):
                yield offset
            offset = code.find(opcode, offset + 1)
