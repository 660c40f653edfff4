"""Tests of the status of a guest, which a program in it may write."""

import os
from contextlib import nullcontext
from pathlib import Path

import pytest

from qdisclab.emulation.errors import GuestFailure
from qdisclab.emulation.machine import status
from qdisclab.emulation.machine.status import Status

FIRST = b'{"step": "booted", "virtual_s": 0.5}\n'


def test_lines_come_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "status"
    with Status(path) as reader:
        assert reader.steps() == []
        path.write_bytes(FIRST + b'{"step": "done", ')
        assert reader.steps() == [{"step": "booted", "virtual_s": 0.5}]
        assert reader.steps() == []
        with path.open("ab") as file:
            file.write(b'"virtual_s": 2, "problems": ["x"]}\n')
        assert reader.steps() == [{"step": "done", "virtual_s": 2, "problems": ["x"]}]


def test_a_file_that_was_emptied_and_grew_again(tmp_path: Path) -> None:
    path = tmp_path / "status"
    path.write_bytes(FIRST)
    with Status(path) as reader:
        reader.check()
        reader.steps()
        reader.check()
        with path.open("r+b") as file:
            file.truncate()
            file.write(b'{"step": "traffic", "virtual_s": 0.7}\n' * 2)
        with pytest.raises(GuestFailure, match="the status is not what it was"):
            reader.check()


@pytest.mark.parametrize(
    ("first", "begins"), [("traffic", False), ("booted", True), ("failed", True)]
)
def test_a_file_that_was_emptied_before_anybody_looked(
    first: str, begins: bool, tmp_path: Path
) -> None:
    path = tmp_path / "status"
    path.write_text(f'{{"step": "{first}", "virtual_s": 0.7}}\n')
    with Status(path, "booted") as reader:
        reader.check()
        reader.steps()
        with nullcontext() if begins else pytest.raises(GuestFailure, match="does not begin"):
            reader.check()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"garbage\n", "not JSON: garbage"),
        (b"\n", "not JSON"),
        (b"\xff\n", "not JSON"),
        (b"[" * 100_000 + b"\n", r"not JSON: \[\[\["),
        (b"[1]\n", r"not a step: \[1\]"),
        (b'{"step": 5, "virtual_s": 1}\n', "not a step"),
        (b'{"step": "x"}\n', "not a step"),
        (b'{"step": "x", "virtual_s": 1' + b"0" * 400 + b"}\n", "not a step"),  # no float is that
        (b'{"step": "x", "virtual_s": "1"}\n', "not a step"),
        (b'{"step": "x", "virtual_s": true}\n', "not a step"),
        (b'{"step": "x", "virtual_s": NaN}\n', "not a step"),
        (b'{"step": "x", "virtual_s": 1e999}\n', "not a step"),
        (b'{"step": "failed", "virtual_s": 1, "problems": 5}\n', "not a step"),
        (b'{"step": "failed", "virtual_s": 1, "problems": [5]}\n', "not a step"),
        (b'{"step": "failed", "virtual_s": 1, "cause": [1]}\n', "not a step"),
        (b'{"step": "x", "virtual_s": 0.4}\n', "goes back in time"),
        (b'{"step": "done", "virtual_s": 1}\n' + FIRST, "goes on after 'done'"),
        (b"x" * (status.LONGEST + 1), "a line of more than 1048576 bytes"),
        (b" " * status.LONGEST + b"1\n", "a line of more than 1048576 bytes"),
        (FIRST * (status.MOST // len(FIRST) + 1), "longer than 16 MiB"),
    ],
)
def test_what_the_first_process_does_not_write(tmp_path: Path, text: bytes, said: str) -> None:
    path = tmp_path / "status"
    path.write_bytes(FIRST)
    with Status(path) as reader:
        reader.steps()
        with path.open("ab") as file:
            file.write(text)
        with pytest.raises(GuestFailure, match=f"after step '.*': the status .*{said}") as caught:
            for _ in range(2):
                reader.steps()
    assert len(str(caught.value)) < 250


def test_what_takes_the_files_place_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "status"
    path.write_bytes(FIRST)
    with Status(path) as reader:
        assert len(reader.steps()) == 1
        path.unlink()
        os.mkfifo(path)
        assert reader.steps() == []
    with Status(path) as reader, pytest.raises(GuestFailure, match="is not a file"):
        reader.steps()
    path.unlink()
    path.symlink_to("/dev/zero")
    with Status(path) as reader, pytest.raises(GuestFailure, match="is not a file"):
        reader.steps()


def test_a_status_that_shrinks(tmp_path: Path) -> None:
    path = tmp_path / "status"
    path.write_bytes(FIRST)
    with Status(path) as reader:
        reader.steps()
        os.truncate(path, 3)
        with pytest.raises(GuestFailure, match="has become shorter"):
            reader.steps()
