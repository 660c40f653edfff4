"""The user's cache folder: what is remembered in it, and until when."""

import os
import pwd
import tempfile
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from qdisclab.emulation.host import cache, storage


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


def test_a_cache_that_cannot_be_written_is_read_where_it_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    digest = "0123456789abcdef"
    sealed = tmp_path / "image/qdisc-lab/kernel"
    (sealed / digest).mkdir(parents=True)
    for name in (f"{digest}/linux", f"{digest}.seal", f"{digest}.json", "lock"):
        (sealed / name).write_text("sealed")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "image"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    may = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path != sealed and may(path, mode))
    used = cache.cache_dir("kernel")
    assert used == tmp_path / f"cache-{os.getuid()}/qdisc-lab/kernel"
    assert {path.name for path in used.iterdir()} == {digest, f"{digest}.seal", f"{digest}.json"}
    assert (used / digest / "linux").read_text() == "sealed"
    storage.remove(used / digest)  # as one that is damaged is
    (used / digest).mkdir()
    assert cache.cache_dir("kernel") == used
    assert not list((used / digest).iterdir())
    assert (sealed / digest / "linux").exists()
    assert [record.getMessage() for record in caplog.records] == [
        f"{sealed.parent} cannot be written: what can be read of it is used, and new files go "
        f"to {used.parent}"
    ]


def test_no_folder_that_somebody_else_made_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/none")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "planted").mkdir(mode=0o777)
    place = tmp_path / "cache-12345"
    place.symlink_to(tmp_path / "planted")
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    with pytest.raises(PermissionError, match="set XDG_CACHE_HOME") as raised:
        cache.cache_dir("kernel")
    assert str(storage.of(raised.value)).startswith("/proc/none: no cache folder can be written")


def test_a_user_without_a_home_has_a_folder_below_the_temporary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    uid = next(number for number in range(54321, 60000) if not _has_name(number))
    monkeypatch.setattr(os, "getuid", lambda: uid)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    place = tmp_path / f"cache-{uid}/qdisc-lab/kernel"
    place.mkdir(parents=True)
    if os.geteuid() == 0:
        os.chown(place.parents[1], uid, uid)
        assert cache.cache_dir("kernel") == place
    else:  # it belongs to somebody else
        with pytest.raises(PermissionError) as raised:
            cache.cache_dir("kernel")
        assert "set XDG_CACHE_HOME" in str(storage.of(raised.value))
    assert not caplog.records


def _has_name(uid: int) -> bool:
    with suppress(KeyError):
        return bool(pwd.getpwuid(uid))
    return False


def test_a_relative_folder_is_one_of_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "mine")
    assert cache.cache_dir("kernel") == tmp_path / "mine/qdisc-lab/kernel"
