"""Tests of `emulate lock`: what is shown, and which runs a new lock makes another identity."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from emulate.cli import main
from emulate.commands import lock as command
from emulation.checks.verify import Shipped
from emulation.host import lock as locks
from emulation.machine import rootfs


def run(name: str, series: str, digest: str) -> Shipped:
    identity = {"kernel": {"series": series}, "root": {"digest": digest}}
    return Shipped(Path("data"), {"run": name, "identity": identity})


def test_runs_of_a_new_lock_are_counted_by_experiment() -> None:
    old = locks.load()
    mine = rootfs.locked().digest
    runs = [
        run("a/b/10-1/codel/cubic/seed-001", "6.12", mine),
        run("a/b/10-1/codel/cubic/seed-002", "7.2", mine),
        run("a/c/10-1/codel/cubic/seed-001", "6.12", "0123"),  # was of another before
    ]
    moved_guest = replace(old, guest=(replace(old.guest[0], version="9"), *old.guest[1:]))
    assert command.moved(runs, old, old) == {}
    assert command.moved(runs, old, moved_guest) == {"a/b": 2}
    kernels = {**old.kernels, "7.2": (replace(old.kernels["7.2"][0], version="9"),)}
    assert command.moved(runs, old, replace(old, kernels=kernels)) == {"a/b": 1}
    assert list(command.changes(old, moved_guest)) == [
        f"{old.guest[0]} -> {old.guest[0].package} 9",
        "1 packages differ",
    ]


def test_an_update_is_told_and_written(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    old = locks.load()
    new = replace(old, guest=old.guest[1:])
    file = tmp_path / "LOCK.toml"
    locks.save(old, file)
    monkeypatch.setattr(locks, "FILE", file)
    monkeypatch.setattr(command, "updated", lambda lock: new)
    assert main(["lock", "--update", "--data", str(root / "data")]) == 0
    out = capsys.readouterr().out
    assert f"{old.guest[0]} -> nothing" in out
    assert "runs of gbw2015/rrul" in out
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
    assert main(["lock", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["root"] == rootfs.locked().digest
