"""The user's cache folder: what is remembered in it, and until when."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from threading import Event
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

    return cache.remembered("kind", "name", of, make)["number"]


def test_what_is_remembered_is_made_anew_when_something_changes(made: list[int]) -> None:
    assert [ask("a", made), ask("a", made), ask("b", made), ask("b", made)] == [0, 0, 1, 1]
    assert ask("a", made) == 2  # one of a name


def test_of_several_parts_those_are_made_that_changed(made: list[int]) -> None:
    def values(**states: str) -> tuple[dict[str, Any], list[str]]:
        asked: list[str] = []

        def make(names: list[str]) -> list[str]:
            asked.extend(names)
            return [states[name].upper() for name in names]

        return cache.remembered_parts("kind", "name", states, make), asked

    assert values(a="x", b="y") == ({"a": "X", "b": "Y"}, ["a", "b"])
    assert values(b="y") == ({"b": "Y"}, [])
    assert values(c="z", b="u", a="x") == ({"c": "Z", "b": "U", "a": "X"}, ["c", "b"])
    assert cache.recalled("kind", "name", {"a": "x", "b": "y"}) == {"a": "X"}


def test_of_two_at_once_one_makes_it(made: list[int]) -> None:
    go = Event()

    def make() -> int:
        made.append(1)
        go.wait(10)
        return 5

    with ThreadPoolExecutor() as threads:
        both = [threads.submit(cache.remembered, "kind", "name", "a", make) for _ in range(2)]
        assert wait(both, timeout=0.5).not_done == {*both}
        go.set()
        assert [future.result() for future in both] == [5, 5]
    assert len(made) == 1


@pytest.mark.parametrize("text", ["", "[]", "{", '{"": "a"}', '{"": ["a"]}', "\xff"])
def test_what_is_damaged_is_made_anew(text: str, made: list[int], tmp_path: Path) -> None:
    assert ask("a", made) == 0
    (file,) = (tmp_path / "qdisc-lab/kind").glob("*.json")
    file.write_text(text, encoding="latin-1")
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
    before = cache.states(tmp_path, ("left",))
    assert [line.split()[1] for line in before] == ["7", "3"]
    os.utime(tmp_path / "x", (0, 0))
    assert before[1] not in cache.states(tmp_path)
