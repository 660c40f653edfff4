"""The installed bundle: unpacked once, whole, or refused in a line."""

import importlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from qdisclab.emulation.errors import DamagedCache, MissingTool
from qdisclab.emulation.host import bundle, seal
from qdisclab.emulation.host.digest import sha256
from qdisclab.emulation.kernel import builder
from qdisclab.emulation.machine import rootfs

Install = Callable[..., Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Puts a bundle with one archive of that kind and name on the path; returns the archive."""

    def install(name: str, machine: str = "x86_64") -> Path:
        content = tmp_path / "content"
        (content / "usr").mkdir(parents=True)
        (content / "usr/program").write_text("text")
        (content / "usr/program").chmod(0o755)
        (content / "link").symlink_to("usr/program")
        folder = tmp_path / "site" / bundle.PACKAGE
        folder.mkdir(parents=True)
        (folder / "__init__.py").touch()
        os.utime(content / "usr/program", (1000, 1000))
        file = folder / "one.tar.xz"
        bundle.pack(content, file)
        row = {"file": file.name, "sha256": sha256(file)}
        manifest: dict[str, Any] = {"machine": machine, "entries": {name: row}}
        (folder / bundle.MANIFEST).write_text(json.dumps(manifest))
        monkeypatch.syspath_prepend(str(tmp_path / "site"))
        importlib.invalidate_caches()
        return file

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delitem(sys.modules, bundle.PACKAGE, raising=False)
    return install


def test_without_a_bundle_there_is_no_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "PACKAGE", "no_such_package_of_guests")
    assert bundle.entry("rootfs", "0") is None
    assert not bundle.is_installed()


def test_what_is_unpacked_is_sealed_and_as_it_was(install: Install, tmp_path: Path) -> None:
    install("rootfs/0123")
    entry = bundle.entry("rootfs", "0123")
    assert entry is not None
    (tmp_path / "cache").mkdir()
    place = tmp_path / "cache" / "0123"
    entry.install(place)
    assert seal.is_intact(place)
    assert (place / "link").read_text() == "text"
    assert (place / "usr/program").stat().st_mtime == 1000  # runs depend on times, too
    assert (place / "usr/program").stat().st_mode & 0o777 == 0o555
    assert sorted(path.name for path in place.parent.iterdir()) == ["0123", "0123.seal"]
    assert bundle.entry("rootfs", "4567") is None


def test_the_same_content_gives_the_same_bytes(install: Install, tmp_path: Path) -> None:
    first = install("rootfs/0123")
    copy = tmp_path / "copy"
    (copy / "usr").mkdir(parents=True)
    (copy / "link").symlink_to("usr/program")
    (copy / "usr/program").write_text("text")
    (copy / "usr/program").chmod(0o755)
    for path in (copy / "usr", copy / "usr/program", copy / "link"):
        original = tmp_path / "content" / path.relative_to(copy)
        time = original.lstat().st_mtime
        os.utime(path, (time, time), follow_symlinks=False)
    bundle.pack(copy, tmp_path / "second.tar.xz")
    assert (tmp_path / "second.tar.xz").read_bytes() == first.read_bytes()


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-20])


def alter(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize("damage", [truncate, alter, Path.unlink])
def test_a_damaged_bundle_is_refused_and_leaves_nothing(
    install: Install, tmp_path: Path, damage: Callable[[Path], Any]
) -> None:
    root = rootfs.locked()
    damage(install(f"rootfs/{root.digest}"))
    with pytest.raises(DamagedCache) as raised:
        rootfs.build()
    assert "one.tar.xz: is not as it was packed; pip install" in str(raised.value)
    assert "\n" not in str(raised.value)
    assert {path.name for path in (tmp_path / "cache/qdisc-lab/rootfs").iterdir()} <= {"lock"}


def test_an_older_bundle_is_refused(install: Install, tmp_path: Path) -> None:
    install("rootfs/0123")
    with pytest.raises(DamagedCache, match="qdisc-lab-guest: has another root file system than"):
        rootfs.build()
    assert {path.name for path in (tmp_path / "cache/qdisc-lab/rootfs").iterdir()} <= {"lock"}


def test_a_kernel_of_another_recipe_is_refused(install: Install, tmp_path: Path) -> None:
    install("kernel/6.12")
    with pytest.raises(DamagedCache, match=r"has another kernel of 6\.12 than this version needs"):
        builder.build(series="6.12")
    assert {path.name for path in (tmp_path / "cache/qdisc-lab/kernel").iterdir()} <= {"lock"}


def test_a_bundle_for_another_processor_is_refused(install: Install) -> None:
    install("kernel/6.12", machine="aarch64")
    with pytest.raises(DamagedCache, match="is for aarch64, and this machine is x86_64"):
        bundle.entry("kernel", "6.12")


def test_an_unreadable_list_is_refused(install: Install) -> None:
    install("kernel/6.12").with_name(bundle.MANIFEST).write_text("{")
    with pytest.raises(DamagedCache, match=r"guest.json: cannot be read: .*; pip install"):
        bundle.entry("kernel", "6.12")


def test_another_processor_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle.platform, "machine", lambda: "aarch64")
    with pytest.raises(MissingTool, match="guests need x86-64, and this machine is aarch64"):
        builder.build(series="6.12")
