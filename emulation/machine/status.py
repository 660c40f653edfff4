"""The status of a guest: one line of JSON per step, which any program in the guest can write."""

import hashlib
import json
import os
import stat
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, FiniteFloat, ValidationError

from qdisclab.emulation.errors import GuestFailure

#: Most bytes of a line: a step that lists all ports of a large rig has 100 kB.
LONGEST = 1 << 20

#: Most bytes of the file: guests write 100 per virtual second.
MOST = 16 << 20

#: Steps after which no other comes.
LAST = ("done", "failed")


class _Step(BaseModel, strict=True):
    """What every step has; most have more."""

    step: str
    virtual_s: FiniteFloat
    cause: str = ""
    problems: list[str] = []


class Status:
    """Reads the file at `path` as it grows.

    Only the file that is first found there is read, not one that the guest puts in its place later.
    `begins` is the first step of a guest that gets so far; empty, where any may be.
    """

    def __init__(self, path: Path, begins: str = "") -> None:
        self._path = path
        self._begins = begins
        self._first = ""
        self._file: int | None = None
        self._read = 0
        self._seen = hashlib.sha256()  # all that was read
        self._rest = b""
        self._last: dict[str, Any] = {"step": "boot", "virtual_s": 0.0}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            os.close(self._file)

    def steps(self) -> list[dict[str, Any]]:
        """Return the steps that have come since the last call.

        Raises `GuestFailure` for anything that only another program than the guest's first process
        would write.
        """
        if self._file is None and not self._open():
            return []
        assert self._file is not None
        if os.fstat(self._file).st_size < self._read:
            raise self._bad("has become shorter")
        text = os.pread(self._file, MOST, self._read)
        self._read += len(text)
        self._seen.update(text)
        *lines, self._rest = (self._rest + text).split(b"\n")
        if max(map(len, (*lines, self._rest))) > LONGEST:
            raise self._bad(f"has a line of more than {LONGEST} bytes")
        if self._read > MOST:
            raise self._bad(f"is longer than {MOST >> 20} MiB")
        return [self._step(line) for line in lines]

    def check(self) -> None:
        """Raise `GuestFailure` unless the file still begins with all that was read, and that with
        the first step: one that is emptied may have grown again before anybody looks."""
        if self._file is None:
            return
        if self._begins and self._first not in ("", self._begins, "failed"):
            raise self._bad(f"does not begin with '{self._begins}'")
        if hashlib.sha256(os.pread(self._file, self._read, 0)).digest() != self._seen.digest():
            raise self._bad("is not what it was")

    def _open(self) -> bool:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            self._file = os.open(self._path, flags)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise self._bad("is not a file") from error
        if not stat.S_ISREG(os.fstat(self._file).st_mode):
            raise self._bad("is not a file")
        return True

    def _step(self, line: bytes) -> dict[str, Any]:
        try:
            step: dict[str, Any] = json.loads(line)
        except (ValueError, RecursionError):
            raise self._bad(f"has a line that is not JSON: {_short(line)}") from None
        try:
            _Step.model_validate(step)
        except ValidationError:
            raise self._bad(f"has a line that is not a step: {_short(line)}") from None
        if self._last["step"] in LAST:
            raise self._bad(f"goes on after '{self._last['step']}'")
        if step["virtual_s"] < self._last["virtual_s"]:
            raise self._bad(f"goes back in time: {_short(line)}")
        self._last = step
        self._first = self._first or step["step"]
        return step

    def _bad(self, what: str) -> GuestFailure:
        after = f"after step '{self._last['step']}'"
        return GuestFailure(f"the status {what}", after, "a program in the guest wrote into it")


def _short(line: bytes) -> str:
    text = ascii(line[:60].decode(errors="replace"))[1:-1]
    return text + "…" * (len(line) > 60)
