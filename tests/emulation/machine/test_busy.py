"""emulation.machine.busy: what a guest that stands still is busy with."""

import os

import pytest

from qdisclab.emulation.machine.busy import _last_call, whereabouts


def registers(place: int, call: int, segment: int = 0x2B) -> tuple[int, ...]:
    """A task with the registers of its process from word 8 on, and `call` at `place` of them."""
    words = [0] * 400
    words[8 + 17], words[8 + 20] = 0x2B << 48 | 0x33, segment
    words[8 + place], words[8 + place + 1] = call, 0xFFFF << 32 | 1
    return tuple(words)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (registers(30, 24), "sched_yield"),
        (registers(367, 100), "times"),
        (registers(30, 999), "999"),
        (registers(30, 2**64 - 1), ""),  # interrupted since
        (registers(30, 24, segment=0), ""),  # no registers
    ],
)
def test_the_last_system_call(words: tuple[int, ...], expected: str) -> None:
    assert _last_call(words) == expected


def test_what_is_no_guest_has_none() -> None:
    assert whereabouts(os.getpid()) == ""
