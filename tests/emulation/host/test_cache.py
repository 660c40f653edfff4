"""The user's cache folder: what is kept in it, and until when."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from emulation.host import cache


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What was made so far, with a cache of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return []


def ask(of: str, made: list[int]) -> Any:
    def make() -> dict[str, int]:
        made.append(len(made))
        return {"number": made[-1]}

    return cache.kept("kind", "name", of, make)["number"]


def test_what_is_kept_is_made_anew_when_something_changes(made: list[int]) -> None:
    assert [ask("a", made), ask("a", made), ask("b", made), ask("b", made)] == [0, 0, 1, 1]
    assert ask("a", made) == 2  # one of a name


@pytest.mark.parametrize("text", ["", "[]", "{", '{"of": "a"}', "\xff"])
def test_what_is_damaged_is_made_anew(text: str, made: list[int], tmp_path: Path) -> None:
    assert ask("a", made) == 0
    (tmp_path / "qdisc-lab/kind/name.json").write_text(text, encoding="latin-1")
    assert [ask("a", made), ask("a", made)] == [1, 1]


def test_without_a_place_it_is_made_each_time(
    made: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(kind: str) -> Path:
        raise PermissionError(kind)

    monkeypatch.setattr(cache, "cache_dir", none)
    assert [ask("a", made), ask("a", made)] == [0, 1]


def test_states_tell_of_each_file_and_of_links_that_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "left").mkdir()
    (tmp_path / "left/out").touch()
    (tmp_path / "x").write_text("abc")
    (tmp_path / ".#x").symlink_to("nowhere")  # as editors leave
    before = sorted(cache.states(tmp_path, ("left",)))
    assert [line.split()[1] for line in before] == ["7", "3"]
    os.utime(tmp_path / "x", (0, 0))
    assert before[1] not in cache.states(tmp_path)
