"""Instructions of a program whose results virtual time and the seed do not decide.

Time stamps (RDTSC, RDTSCP) are virtual in a guest, and all other sources of time and chance are
system calls. What is left are instructions that the processor answers by itself, and that cannot be
trapped everywhere. That a program has one does not say that it uses it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import capstone
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from emulation.programs.executables import elf_of

#: Random numbers of the processor, and what says which processor and which CPU it is.
RANDOM = ("rdrand", "rdseed")
MACHINE = ("cpuid", "xgetbv", "rdpid")

#: The bytes that such an instruction has in any case.
_OPCODES = (b"\x0f\xc7", b"\x0f\xa2", b"\x0f\x01\xd0")

_BACK = 4096  # bytes before a candidate from which it is looked for where no function is known
_LONGEST = 15  # bytes of an instruction


@dataclass(frozen=True)
class Found:
    """An instruction in a file: how often, and the address of the first."""

    mnemonic: str
    count: int
    address: int


def warnings(name: str, found: Iterable[Found]) -> Iterator[str]:
    """What to say of a program `name` that has the instructions `found`; a text for each kind."""
    for kind, why in (
        (RANDOM, "random numbers that no seed decides"),
        (MACHINE, "answers that differ between machines"),
    ):
        mine = [one for one in found if one.mnemonic in kind]
        if mine:
            listed = ", ".join(
                f"{one.mnemonic.upper()} ({one.count}x, first at {one.address:#x})" for one in mine
            )
            yield f"{name} has {listed}: {why}, if it uses them"


def scan(path: Path) -> tuple[Found, ...]:
    """What the ELF file at `path` has of `RANDOM` and `MACHINE`, by name.

    Bytes that look like such an instruction count where disassembling from the function's start, or
    from far enough before them, meets an instruction there. `MissingTool` where it is broken.
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
    return tuple(Found(name, len(seen[name]), min(seen[name])) for name in sorted(seen))


def _functions(elf: ELFFile) -> Iterator[int]:
    for section in elf.iter_sections():
        if isinstance(section, SymbolTableSection):
            for symbol in section.iter_symbols():
                if symbol["st_info"]["type"] == "STT_FUNC" and symbol["st_value"]:
                    yield symbol["st_value"]


def _within(code: bytes, base: int, starts: list[int]) -> Iterator[tuple[int, str]]:
    """Address and mnemonic of each such instruction in the `code` of a section at `base`."""
    decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    decoder.skipdata = True
    met: set[int] = set()
    for candidate in _candidates(code):
        number = bisect_right(starts, base + candidate) - 1
        start = starts[number] - base if number >= 0 else 0
        start = max(start, candidate - _BACK, 0) if start <= candidate else 0
        window = code[start : candidate + _LONGEST]
        for address, size, mnemonic, _ in decoder.disasm_lite(window, base + start):
            if address > base + candidate:
                break
            if (
                address + size > base + candidate
                and mnemonic in (*RANDOM, *MACHINE)
                and address not in met
            ):
                met.add(address)
                yield address, mnemonic


def _candidates(code: bytes) -> Iterator[int]:
    for opcode in _OPCODES:
        offset = code.find(opcode)
        while offset >= 0:
            # Of 0f c7, only /6 and /7 with a register are RDRAND, RDSEED and RDPID.
            if opcode != b"\x0f\xc7" or (offset + 2 < len(code) and code[offset + 2] >= 0xF0):
                yield offset
            offset = code.find(opcode, offset + 1)
