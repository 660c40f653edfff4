"""Tests of the seals of the cache's folders: whatever changes in one is found and named."""

import json
import logging
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from qdisclab.emulation.errors import DamagedCache
from qdisclab.emulation.host import seal
from qdisclab.emulation.host.digest import sha256
from qdisclab.emulation.kernel import module
from qdisclab.emulation.machine import layer, rootfs
from qdisclab.emulation.machine.rootfs import RootFs
from qdisclab.emulation.machine.vm import Machine
from tests import captured


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A sealed folder."""
    made = tmp_path / "making"
    (made / "usr/bin").mkdir(parents=True)
    (made / "usr/bin/tc").write_text("tc")
    (made / "usr/bin/tc").chmod(0o755)
    (made / "usr/bin/link").symlink_to("tc")
    (made / "etc").mkdir()
    (made / "etc/hosts").write_text("localhost")
    place = tmp_path / "cache/folder"
    place.parent.mkdir()
    seal.install(made, place)
    return place


def _same_size_and_time(path: Path) -> None:
    about = path.stat()
    path.chmod(0o755)
    path.write_text("xy")
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))
    path.chmod(0o555)


def _another_inode(path: Path) -> None:
    path.unlink()
    path.write_text("xy")
    path.chmod(0o555)


def _another_link(path: Path) -> None:
    path.with_name("link").unlink()
    path.with_name("link").symlink_to("/bin/sh")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (_same_size_and_time, "usr/bin/tc"),
        (_another_inode, "usr/bin/tc"),
        (lambda path: path.chmod(0o777), "usr/bin/tc"),
        (Path.unlink, "usr/bin/tc"),
        (_another_link, "usr/bin/link"),
        (lambda path: path.with_name("more\nlines").touch(), r"usr/bin/more\nlines"),
    ],
)
def test_a_change_is_found_and_named(
    folder: Path, change: Callable[[Path], None], named: str, caplog: pytest.LogCaptureFixture
) -> None:
    seal.check(folder)
    assert seal.is_intact(folder)
    (folder / "usr/bin").chmod(0o755)
    change(folder / "usr/bin/tc")
    (folder / "usr/bin").chmod(0o555)
    for contents in (False, True):
        with pytest.raises(DamagedCache) as caught:
            seal.check(folder, contents)
        assert caught.value.where == f"{folder}/{named}"
        assert "run it again" in str(caught.value)
    with caplog.at_level(logging.WARNING):
        assert not seal.is_intact(folder)
    assert f"{folder}/{named}: is not as it was made; it is made again" in caplog.text


def test_everything_is_read_only(folder: Path) -> None:
    paths = [folder, *folder.rglob("*")]
    assert not any(path.lstat().st_mode & 0o222 for path in paths if not path.is_symlink())
    assert (folder / "usr/bin/tc").stat().st_mode & 0o777 == 0o555


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="there is no setpriv")
def test_its_owner_cannot_write_and_can_remove(folder: Path, tmp_path: Path) -> None:
    for path in (folder.parent, *folder.parent.rglob("*")):
        os.chown(path, 65534, 65534, follow_symlinks=False)
    above = (path for path in tmp_path.parents if path.is_relative_to(tempfile.gettempdir()))
    for path in (tmp_path, *above):
        if path != Path(tempfile.gettempdir()):
            path.chmod(0o755)
    as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    script = f"cd {folder}; echo x >usr/bin/tc; rm -f usr/bin/tc; touch new; ls usr/bin"
    done = captured([*as_nobody, "sh", "-c", script])
    assert done.stdout.split() == ["link", "tc"]
    assert done.stderr.count("Permission denied") == 3
    subprocess.run([*as_nobody, "chmod", "-R", "u+rwX", str(folder)], check=True)
    subprocess.run([*as_nobody, "rm", "-r", str(folder)], check=True)


def test_a_copy_is_what_it_was(folder: Path, tmp_path: Path) -> None:
    """Its times are others: the contents decide, once."""
    copy = tmp_path / "copy/folder"
    subprocess.run(["cp", "-a", folder.parent, copy.parent], check=True)
    seal.check(copy)
    assert seal.note(copy).read_text().splitlines()[0] == seal._glance(copy)
    assert seal.note(copy).read_text() != seal.note(folder).read_text()
    _same_size_and_time(copy / "usr/bin/tc")
    with pytest.raises(DamagedCache):
        seal.check(copy)


def test_a_damaged_seal_is_one(folder: Path) -> None:
    seal.note(folder).unlink()
    assert not seal.is_intact(folder)
    seal.note(folder).write_bytes(b"\xff\n")
    assert not seal.is_intact(folder)
    seal.note(folder).write_text("")
    assert not seal.is_intact(folder)


def test_a_name_may_have_what_text_takes_for_the_end_of_a_line(tmp_path: Path) -> None:
    made = tmp_path / "making"
    made.mkdir()
    (made / "a\u2028b\x1cc").write_text("x")
    place = tmp_path / "place"
    seal.install(made, place)
    seal.check(place, contents=True)
    twice = seal.note(place).read_text().splitlines(keepends=True)
    seal.note(place).chmod(0o644)
    seal.note(place).write_text("".join([*twice, twice[-1]]))
    with pytest.raises(DamagedCache):
        seal.check(place, contents=True)


def test_what_is_in_the_place_goes(folder: Path, tmp_path: Path) -> None:
    made = tmp_path / "making"
    made.mkdir()
    (made / "new").touch()
    seal.install(made, folder)
    assert [path.name for path in folder.iterdir()] == ["new"]
    assert seal.is_intact(folder)
    seal.remove(folder)
    assert not list(folder.parent.iterdir())


def test_a_machine_boots_nothing_that_has_changed(folder: Path, tmp_path: Path) -> None:
    binary = tmp_path / "kernel/linux"
    binary.parent.mkdir()
    binary.write_text("kernel")
    digest = sha256(binary)
    about = {"release": "6.12.7", "inputs": {"series": "6.12"}, "binary_sha256": digest}
    binary.with_name("kernel.json").write_text(json.dumps(about))
    fine = tmp_path / "fine"
    fine.mkdir()
    (fine / "x.ko").touch()
    seal.seal(fine)
    small = module.Module("x", fine / "x.ko", "0")
    layers = (layer.Layer(fine, "0", {}),)
    Machine(binary, fine, 1, modules=(small,), layers=layers, probe=small).check()
    Machine(binary, folder, 1).check()
    _same_size_and_time(folder / "usr/bin/tc")
    changed = module.Module("x", folder / "x.ko", "0")
    for machine in (
        Machine(binary, folder, 1),
        Machine(binary, fine, 1, modules=(changed,)),
        Machine(binary, fine, 1, layers=(layer.Layer(folder, "0", {}),)),
        Machine(binary, fine, 1, probe=changed),
    ):
        with pytest.raises(DamagedCache, match="usr/bin/tc: is not as it was made"):
            machine.check()
    binary.write_text("kernel!")
    with pytest.raises(DamagedCache, match="kernel/linux: is not as it was built"):
        Machine(binary, fine, 1).check()


def test_a_root_file_system_that_has_changed_is_none(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(rootfs, "cache_dir", lambda kind: folder.parent)
    record = rootfs._record()
    record.write_text('{"digest": "folder", "packages": {}}')
    assert rootfs.find() == RootFs(folder, "folder", {})
    _same_size_and_time(folder / "usr/bin/tc")
    assert rootfs.find() is None
    assert "usr/bin/tc: is not as it was made" in caplog.text


@pytest.mark.kernel
def test_a_root_file_system_that_a_guest_changed_is_found(tmp_path: Path) -> None:
    """That of the cache, copied: what the boot does not find, the content's check does."""
    root = rootfs.build()
    copy = tmp_path / "root"
    subprocess.run(["cp", "-a", root.path, copy], check=True)
    shutil.copyfile(seal.note(root.path), seal.note(copy))
    seal.check(copy, contents=True)
    _same_size_and_time(copy / "usr/sbin/guest-init")
    with pytest.raises(DamagedCache, match="usr/sbin/guest-init"):
        seal.check(copy)
    seal.remove(copy)
