"""Tests of emulation.machine.rootfs: the lock, and what happens where it cannot be had."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from qdisclab.emulation.errors import MissingTool
from qdisclab.emulation.host import debs, lock as locks, seal
from qdisclab.emulation.machine import rootfs


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "qdisc-lab/rootfs"


def test_the_lock_has_every_tool() -> None:
    assert set(rootfs.wanted()) <= set(rootfs.locked().packages)


def test_shipped_runs_are_of_the_lock(root: Path) -> None:
    """Until the lock moves: then this names the digest that the new runs have."""
    record = json.loads(
        next(root.glob("data/gbw2015/rrul@2014/10-10/codel/cubic/seed-*.json")).read_text()
    )
    assert set(record["identity"]["root"]["tools"].items()) <= set(rootfs.locked().packages.items())


def test_a_digest_is_that_of_the_files(tmp_path: Path) -> None:
    (tmp_path / "b_1%3a2_all.deb").write_bytes(b"b")
    (tmp_path / "a_1_amd64.deb").write_bytes(b"a")
    packages, name = rootfs.identity(tuple(tmp_path.glob("*.deb")), rootfs._recipe())
    sha256 = debs.hashlib.sha256
    pins = (
        debs.Deb("b", "1:2", sha256(b"b").hexdigest(), "pool/b_2_all.deb"),
        debs.Deb("a", "1", sha256(b"a").hexdigest(), "pool/a_1_amd64.deb"),
    )
    assert (name, packages) == (rootfs.locked(pins).digest, {"b": "1:2", "a": "1"})
    other = (replace(pins[0], sha256="0" * 64), pins[1])
    assert rootfs.locked(other).digest != name


def test_the_locks_root_is_found_without_a_record(cache: Path) -> None:
    cache.mkdir(parents=True)
    place = cache / rootfs.locked().digest
    assert rootfs.find() is None
    made = cache / "made"
    made.mkdir()
    seal.install(made, place)
    assert rootfs.find() == rootfs.locked()
    seal.remove(place)


def test_a_root_that_stood_for_another_lock_is_not_taken(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = cache / "0123"
    (cache / "made").mkdir(parents=True)
    seal.install(cache / "made", place)
    rootfs._record().write_text('{"digest": "0123", "packages": {"a": "1"}}')
    assert rootfs.find() == rootfs.RootFs(place, "0123", {"a": "1"})
    lock = locks.load()
    monkeypatch.setattr(locks, "load", lambda: replace(lock, guest=lock.guest[1:]))
    assert rootfs.find() is None
    seal.remove(place)


def test_what_a_killed_build_has_left_is_removed(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = cache / ".build-killed/root"
    left.mkdir(parents=True)
    left.chmod(0o555)

    def download(scratch: Path) -> tuple[Path, ...]:
        assert [*cache.glob(".build-*")] == [scratch]
        raise MissingTool("no network")

    monkeypatch.setattr(rootfs, "_download", download)
    with pytest.raises(MissingTool, match="no network"):
        rootfs.build()
    assert not [*cache.glob(".build-*")]


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """No source has anything."""
    monkeypatch.setattr(debs.Sources, "fetch", lambda self, wanted, folder: list(wanted))


@pytest.mark.usefixtures("nowhere")
def test_what_cannot_be_had_is_told_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))  # no apt
    with pytest.raises(
        MissingTool,
        match=r"no source has adduser 3\S+, .*apt-get is not installed.*QDISC_LAB_PACKAGES",
    ):
        rootfs._download(tmp_path)


@pytest.mark.usefixtures("nowhere")
@pytest.mark.parametrize("version", ["1", "2"])
def test_another_version_is_another_identity_and_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, version: str
) -> None:
    """apt may have by its own ways what is locked (version 1), or another version."""
    pin = debs.Deb("tool", "1", debs.hashlib.sha256(b"1").hexdigest(), "pool/tool_1_all.deb")
    lock = replace(locks.load(), guest=(pin,))
    monkeypatch.setattr(locks, "load", lambda: lock)
    monkeypatch.setattr(rootfs, "wanted", lambda: ("tool",))
    preferred: list[debs.Deb] = []

    class Apt:
        def __init__(self, folder: Path, components: tuple[str, ...]) -> None:
            self.folder = folder

        def prefer(self, pins: tuple[debs.Deb, ...]) -> None:
            preferred.extend(pins)

        def download(self, packages: tuple[str, ...]) -> tuple[Path, ...]:
            path = self.folder.with_name(f"{packages[0]}_{version}_all.deb")
            path.write_text(version)
            return (path,)

    monkeypatch.setattr(rootfs, "PrivateApt", Apt)
    (came,) = rootfs._download(tmp_path)
    assert (came.name, preferred) == (f"tool_{version}_all.deb", [pin])
    told = "runs have another identity, since there is no tool 1" in caplog.text
    assert told == (version == "2")
