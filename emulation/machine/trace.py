"""Traces of simulated time: what the kernel's `tt-trace=` writes, and where two of them part.

A record is 32 bytes: simulated time in ns, what happened, the process, and two values that depend
on what it was (qdisc/patches/6.12/um-tt-trace.patch). Traces are large, hundreds of megabytes for a
full-length run, so they are compared in blocks and never held in memory.
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

#: What stands behind the name of a run in the data folder.
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
        """The record for people, kernel addresses as names."""
        match self.what:
            case 1:  # TT_TRACE_SYSCALL
                returned = self.b - (1 << 64) if self.b >> 63 else self.b
                told = f"system call {self.a} returned {returned}"
            case 2:  # TT_TRACE_FAULT
                told = f"page fault at {self.a:#x}, instruction {self.b:#x}"
            case 3:  # TT_TRACE_EVENT
                told = f"event {symbols.name(self.a)}, due at {self.b} ns"
            case 4:  # TT_TRACE_SWITCH
                name = self.b.to_bytes(8, "little").split(b"\0")[0].decode(errors="replace")
                told = f"switch to process {self.a} ({name})"
            case 5:  # TT_TRACE_CLOCK
                told = f"clock read by {symbols.name(self.a)}"
            case 6:  # TT_TRACE_TSC
                told = f"time stamp counter read as {self.a}"
            case 7:  # TT_TRACE_SEED
                told = f"seed: {self.b} words, the first {self.a:#x}"
            case _:
                told = f"unknown record {self.what}: {self.a:#x} {self.b:#x}"
        return f"{self.time_ns} ns, process {self.pid}: {told}"


class Symbols:
    """Names of the addresses in a kernel, by `nm`; hexadecimal numbers where there is none."""

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
        """`time_travel_oneshot_timer+0x1c`."""
        place = bisect_right(self._addresses, address) - 1
        if place < 0:
            return f"{address:#x}"
        offset = address - self._addresses[place]
        return self._names[place] + (f"+{offset:#x}" if offset else "")


@dataclass(frozen=True)
class Parting:
    """Where two traces part: the last records that are equal, then one of each (None: its end)."""

    number: int  # of the first record that differs, from 0
    before: tuple[Record, ...]
    left: Record | None
    right: Record | None


def parting(left: Path, right: Path, before: int = 8) -> Parting | None:
    """The first record in which the traces differ, behind the last `before`; None if equal."""
    with left.open("rb") as a, right.open("rb") as b:
        number, tail = 0, b""
        for one, other in zip_longest(_blocks(a), _blocks(b), fillvalue=b""):
            if one != other:
                return _within(one, other, number, tail, before)
            number += len(one) // _RECORD.size
            tail = (tail + one)[-before * _RECORD.size :]
    return None


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    while block := file.read(_BLOCK_RECORDS * _RECORD.size):
        yield block


def _within(one: bytes, other: bytes, number: int, tail: bytes, before: int) -> Parting:
    size = _RECORD.size
    same = 0
    while one[same : same + size] == other[same : same + size]:
        same += size
    seen = (tail + one[:same])[-before * size :] if before else b""
    return Parting(
        number + same // size,
        tuple(Record(*fields) for fields in _RECORD.iter_unpack(seen)),
        _record(one, same),
        _record(other, same),
    )


def _record(block: bytes, offset: int) -> Record | None:
    if len(block) < offset + _RECORD.size:
        return None
    return Record(*_RECORD.unpack_from(block, offset))
