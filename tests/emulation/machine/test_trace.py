"""Where two traces of simulated time part."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from emulation.machine import trace
from emulation.machine.trace import Record, Symbols, parting


def write(path: Path, times: list[int]) -> Path:
    path.write_bytes(b"".join(struct.pack("=QIIQQ", time, 1, 7, 96, 0) for time in times))
    return path


def test_equal_traces_do_not_part(tmp_path: Path) -> None:
    times = list(range(100))
    assert parting(write(tmp_path / "a", times), write(tmp_path / "b", times)) is None


@pytest.mark.parametrize("at", [0, 1, 5, 9, 10, 11, 29])
def test_the_first_record_that_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    monkeypatch.setattr(trace, "_BLOCK_RECORDS", 10)
    times = list(range(30))
    other = [*times[:at], 1000, *times[at + 1 :]]
    found = parting(write(tmp_path / "a", times), write(tmp_path / "b", other), before=3)
    assert found is not None
    assert found.number == at
    assert [record.time_ns for record in found.before] == times[max(0, at - 3) : at]
    assert found.left is not None and found.left.time_ns == at
    assert found.right is not None and found.right.time_ns == 1000


def test_a_trace_that_ends_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "_BLOCK_RECORDS", 10)
    for ends in (15, 20):
        a, b = write(tmp_path / "a", list(range(30))), write(tmp_path / "b", list(range(ends)))
        found = parting(a, b, before=2)
        assert found is not None
        assert (found.number, found.right) == (ends, None)
        assert found.left == Record(ends, 1, 7, 96, 0)


def test_what_a_record_says() -> None:
    none = Symbols(None)
    failed = Record(5, 1, 7, 45, (1 << 64) - 11)
    assert failed.text(none) == "5 ns, process 7: system call 45 returned -11"
    switch = Record(5, 4, 0, 12, int.from_bytes(b"netperf\0", "little"))
    assert switch.text(none) == "5 ns, process 0: switch to process 12 (netperf)"
    assert Record(5, 5, 1, 0x60001234, 0).text(none).endswith("clock read by 0x60001234")
    assert "unknown record 99" in Record(5, 99, 1, 0, 0).text(none)
