"""Tests of `emulate lock`: what is shown, and how a new lock differs."""

from dataclasses import replace
from pathlib import Path

import pytest

from qdisclab.emulate.cli import main
from qdisclab.emulation.host import lock as locks
from qdisclab.emulation.machine import lockstate, rootfs


def test_what_a_new_lock_changes_is_told() -> None:
    old = locks.load()
    new = replace(old, guest=(replace(old.guest[0], version="9"), *old.guest[1:]))
    assert list(lockstate.changes(old, new)) == [
        f"{old.guest[0]} -> {old.guest[0].package} 9",
        "1 packages differ",
    ]


def test_an_update_is_told_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    old = locks.load()
    new = replace(old, guest=old.guest[1:])
    file = tmp_path / "LOCK.toml"
    locks.save(old, file)
    monkeypatch.setattr(locks, "FILE", file)
    monkeypatch.setattr(lockstate, "updated", lambda lock: new)
    assert main(["lock", "--update"]) == 0
    assert f"{old.guest[0]} -> nothing" in capsys.readouterr().out
    assert locks.load() == new


def test_what_the_cache_has_instead_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    packages = {**rootfs.locked().packages, "bash": "0.1"}
    monkeypatch.setattr(rootfs, "find", lambda: rootfs.RootFs(tmp_path, "0123", packages))
    assert main(["lock"]) == 0
    told = capsys.readouterr()
    assert "not built; 0123 stands for it" in told.out
    bash = next(deb for deb in locks.load().guest if deb.package == "bash")
    assert told.err == f"the guest of this cache differs: bash 0.1 (locked: {bash.version})\n"
