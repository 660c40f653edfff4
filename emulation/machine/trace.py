"""Traces of simulated time: read what the kernel's `tt-trace=` writes, and find where two part.

A record is 32 bytes: simulated time in ns, what happened, the process, and two values that depend
on what happened (qdisc/patches/6.12/um-tt-trace.patch). Traces are large, hundreds of megabytes for
a full-length run, so they are compared in blocks and never held in memory.
"""

from __future__ import annotations

import struct
import subprocess
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import BinaryIO

#: Suffix after the name of a run in the data folder.
SUFFIX = ".trace"

_RECORD = struct.Struct("=QIIQQ")
_BLOCK_RECORDS = 32768


@dataclass(frozen=True)
class Record:
    """Something that happened in simulated time."""

    time_ns: int  # since the guest's boot
    what: int
    pid: int  # of the guest's process
    a: int
    b: int

    def text(self, symbols: Symbols) -> str:
        """Return the record in words, with kernel addresses as names."""
        match self.what:
            case 1:  # TT_TRACE_SYSCALL
                returned = self.b - (1 << 64) if self.b >> 63 else self.b
                text = f"system call {self.a} returned {returned}"
            case 2:  # TT_TRACE_FAULT
                text = f"page fault at {self.a:#x}, instruction {self.b:#x}"
            case 3:  # TT_TRACE_EVENT
                text = f"event {symbols.name(self.a)}, due at {self.b} ns"
            case 4:  # TT_TRACE_SWITCH
                name = self.b.to_bytes(8, "little").split(b"\0")[0].decode(errors="replace")
                text = f"switch to process {self.a} ({name})"
            case 5:  # TT_TRACE_CLOCK
                text = f"clock read by {symbols.name(self.a)}"
            case 6:  # TT_TRACE_TSC
                text = f"time stamp counter read as {self.a}"
            case 7:  # TT_TRACE_SEED
                text = f"seed: {self.b} words, the first {self.a:#x}"
            case _:
                text = f"unknown record {self.what}: {self.a:#x} {self.b:#x}"
        return f"{self.time_ns} ns, process {self.pid}: {text}"


class Symbols:
    """Names of the addresses in a kernel, by `nm`; hexadecimal numbers if there is no name."""

    def __init__(self, kernel: Path | None) -> None:
        self._addresses: list[int] = []
        self._names: list[str] = []
        if kernel is None:
            return
        try:
            listed = subprocess.run(
                ["nm", "-n", "--defined-only", kernel], capture_output=True, text=True, check=True
            ).stdout
        except (OSError, subprocess.CalledProcessError):
            return
        for line in listed.splitlines():
            address, kind, name = line.split(maxsplit=2)
            if kind in "tTwW":
                self._addresses.append(int(address, 16))
                self._names.append(name)

    def name(self, address: int) -> str:
        """Return e.g. `time_travel_oneshot_timer+0x1c`."""
        place = bisect_right(self._addresses, address) - 1
        if place < 0:
            return f"{address:#x}"
        offset = address - self._addresses[place]
        return self._names[place] + (f"+{offset:#x}" if offset else "")


@dataclass(frozen=True)
class Parting:
    """Where two traces part: the last equal records, then the next of each (None at its end)."""

    number: int  # of the first record that differs, from 0
    before: tuple[Record, ...]
    left: Record | None
    right: Record | None


def parting(left: Path, right: Path, before: int = 8) -> Parting | None:
    """Return where two traces first differ, with the last `before` records; None if equal."""
    with left.open("rb") as a, right.open("rb") as b:
        number, tail = 0, b""
        for block_a, block_b in zip_longest(_blocks(a), _blocks(b), fillvalue=b""):
            if block_a != block_b:
                return _parting_in(block_a, block_b, number, tail, before)
            number += len(block_a) // _RECORD.size
            tail = (tail + block_a)[-before * _RECORD.size :]
    return None


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    while block := file.read(_BLOCK_RECORDS * _RECORD.size):
        yield block


def _parting_in(a: bytes, b: bytes, number: int, tail: bytes, before: int) -> Parting:
    size = _RECORD.size
    same = 0
    while a[same : same + size] == b[same : same + size]:
        same += size
    equal = (tail + a[:same])[-before * size :] if before else b""
    return Parting(
        number + same // size,
        tuple(Record(*fields) for fields in _RECORD.iter_unpack(equal)),
        _record(a, same),
        _record(b, same),
    )


def _record(block: bytes, offset: int) -> Record | None:
    if len(block) < offset + _RECORD.size:
        return None
    return Record(*_RECORD.unpack_from(block, offset))
