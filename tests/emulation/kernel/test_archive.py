"""Tests of `emulation.kernel.archive`: on a kernel of a few bytes, and one on the real one."""

import errno
import gzip
import io
import json
import os
import shutil
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from qdisclab.emulate.cli import main
from qdisclab.emulation import kernel
from qdisclab.emulation.errors import DamagedCache, KernelBuildError
from qdisclab.emulation.host import lock, seal
from qdisclab.emulation.host.cache import cache_dir
from qdisclab.emulation.host.debs import Deb
from qdisclab.emulation.host.digest import sha256
from qdisclab.emulation.kernel import archive, builder, make, recipe as recipes
from tests import write_files
from tests.serving import serving

SOURCE = "5" * 64

Change = Callable[[dict[str, Any]], object]


@pytest.fixture
def recipe_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recipe with one option, no patch and a source that is known."""
    texts = {
        "KERNEL.toml": '[series."6.12"]\npackage = "linux"\nobjects = 1\n',
        "config/a.config": "CONFIG_A=y\n",
        "patches/series": "",
    }
    known = {"6.12": (Deb("linux", "6.12.7-1", SOURCE),)}
    folder = write_files(tmp_path / "qdisc", texts)
    monkeypatch.setattr(lock, "FILE", folder / "LOCK.toml")
    monkeypatch.setattr(recipes, "RECIPE_DIR", folder)
    lock.save(lock.Lock((), (), (), known, (), ""))
    return folder


@pytest.fixture
def built(tmp_path: Path, cache: Path) -> kernel.Kernel:
    """A kernel as a build leaves it in a cache, of a compiler that this machine does not have."""
    inputs = recipes.inputs(recipes.load("6.12"), "gcc 3", make.SETTINGS)
    place = tmp_path / "built" / recipes.digest(SOURCE, inputs)
    texts = {
        "linux": "\x7fELF", "config": "CONFIG_A=y\n", "build.log": "made here, on this day",
        "build/scripts/modpost": "#!/bin/true\n", "build/Makefile": "all:\n",
    }  # fmt: skip
    write_files(place, texts)
    (place / "linux").chmod(0o555)
    (place / "build/scripts/modpost").chmod(0o755)
    (place / "build/link").symlink_to("Makefile")
    record = {
        "release": "6.12.7",
        "source": {"file": "a.deb", "version": "6.12.7-1", "sha256": SOURCE, "known": True},
        "inputs": inputs,
        "full_config_sha256": sha256(place / "config"),
        "binary_sha256": sha256(place / "linux"),
        "build_seconds": 480.0,
    }
    (place / "kernel.json").write_text(json.dumps(record))
    seal.seal(place / "build")
    found = builder.load(place)
    assert found is not None
    return found


def written(file: Path, entries: Mapping[str, bytes | tarfile.TarInfo]) -> str:
    """Write an archive of these `entries`; its digest."""
    with tarfile.open(file, "w:gz") as tar:
        for name, content in entries.items():
            member = content if isinstance(content, tarfile.TarInfo) else tarfile.TarInfo(name)
            member.name = name
            text = content if isinstance(content, bytes) else b""
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text))
    return sha256(file)


def contents(file: Path) -> dict[str, bytes | tarfile.TarInfo]:
    """Content by name of an archive."""
    with tarfile.open(file) as tar:
        return {one.name: tar.extractfile(one).read() for one in tar}  # type: ignore[union-attr]


def test_packed_and_fetched_it_is_the_same_kernel(
    built: kernel.Kernel, tmp_path: Path, cache: Path
) -> None:
    file = tmp_path / "kernel.tar.gz"
    digest = archive.pack(built, file)
    assert digest == sha256(file)
    got = archive.fetch(str(file), digest.upper())
    assert (got.digest, got.identity, got.release) == (built.digest, built.identity, "6.12.7")
    assert got.path.read_bytes() == b"\x7fELF"
    assert os.access(got.path, os.X_OK) and not got.path.stat().st_mode & 0o222
    build = got.path.parent / "build"
    seal.check(build, contents=True)
    assert os.access(build / "scripts/modpost", os.X_OK)
    assert (build / "link").read_text() == "all:\n" and not (build / "link").is_symlink()
    assert got.provenance["source"] == {**built.provenance["source"], "file": ""}
    assert got.provenance["fetched"] == {"from": str(file), "sha256": digest}
    assert builder.find() == got  # although no gcc here is 'gcc 3'
    assert archive.pack(got, tmp_path / "again.tar.gz") == digest
    assert archive.fetch(str(file), digest) == got
    assert [path.name for path in cache.iterdir() if path.is_dir()] == [built.digest]


def test_without_a_digest_that_of_the_recipe_is_wanted(
    built: kernel.Kernel, tmp_path: Path, recipe_dir: Path
) -> None:
    file = tmp_path / "kernel.tar.xz"
    digest = archive.pack(built, file)
    with pytest.raises(KernelBuildError, match=r"has the SHA-256 \w+, not one of KERNEL.toml"):
        archive.fetch(str(file), None)
    with (recipe_dir / "KERNEL.toml").open("a") as table:
        table.write(f'packed = "{digest}"\n')
    assert archive.fetch(str(file), None).digest == built.digest


def test_of_several_kernels_one_is_fetched(built: kernel.Kernel, tmp_path: Path) -> None:
    file = tmp_path / "kernels.tar.xz"
    digest = archive.pack(built, file, replace(built, series="7.2"))
    assert {name.partition("/")[0] for name in contents(file)} == {"6.12", "7.2"}
    with pytest.raises(KernelBuildError, match=r"not a packed kernel \(.*kernel.json"):
        archive.fetch(str(file), digest, "6.1/")
    got = archive.fetch(str(file), digest, "6.12/")
    assert got.identity == built.identity
    folder = got.path.parent
    assert {path.name for path in folder.iterdir()} >= {"linux", "config", "build", "kernel.json"}
    assert (folder / "build/link").read_text() == "all:\n"


def test_a_damaged_kernel_is_not_packed(built: kernel.Kernel, tmp_path: Path) -> None:
    built.path.chmod(0o755)
    built.path.write_bytes(b"other")
    with pytest.raises(DamagedCache):
        archive.pack(built, tmp_path / "kernel.tar.gz")
    assert not list(tmp_path.glob("*kernel.tar.gz*"))


def test_other_bytes_are_refused_before_they_are_unpacked(
    built: kernel.Kernel, tmp_path: Path, cache: Path
) -> None:
    file = tmp_path / "kernel.tar.gz"
    digest = archive.pack(built, file)
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    with pytest.raises(KernelBuildError, match=rf"has the SHA-256 \w+, not {digest}; take"):
        archive.fetch(str(file), digest)
    assert not list(cache.iterdir())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda told: told["inputs"].update(config_sha256="0"), "recipe: different config_sha256"),
        (lambda told: told["inputs"].update(patches=[], settings=[]), "recipe: different settings"),
        (lambda told: told["inputs"].update(more=1), "recipe: different more"),
        (lambda told: told["source"].update(sha256="6" * 64), "source that LOCK.toml does not"),
        (lambda told: told.update(release="6.13.1"), "a kernel of 6.12 that calls itself '6.13.1'"),
        (lambda told: told.update(binary_sha256="0"), "whose linux is not what was built"),
        (lambda told: told.update(full_config_sha256="0"), "whose config is not what was built"),
        (lambda told: told.update(inputs=None), "no record of a kernel"),
        (lambda told: told.pop("release"), "not a packed kernel"),
    ],
)
def test_another_kernel_is_refused(
    built: kernel.Kernel, tmp_path: Path, cache: Path, change: Change, message: str
) -> None:
    file = tmp_path / "kernel.tar.gz"
    archive.pack(built, file)
    entries = contents(file)
    told = json.loads(entries["kernel.json"])  # type: ignore[arg-type]
    change(told)
    digest = written(file, {**entries, "kernel.json": json.dumps(told).encode()})
    with pytest.raises(KernelBuildError, match=message) as caught:
        archive.fetch(str(file), digest)
    assert "\n" not in str(caught.value)
    assert not list(cache.iterdir())


def member(kind: bytes, target: str = "") -> tarfile.TarInfo:
    """An entry that is not a regular file."""
    info = tarfile.TarInfo("x")
    info.type, info.linkname = kind, target
    return info


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("../escaped", b"x", "not a file of a kernel"),
        ("build/../../escaped", b"x", "not a file of a kernel"),
        ("build/..", b"x", "not a file of a kernel"),
        ("build/a/./b", b"x", "not a file of a kernel"),
        ("/etc/escaped", b"x", "not a file of a kernel"),
        ("build//escaped", b"x", "not a file of a kernel"),
        ("escaped", b"x", "not a file of a kernel"),
        ("build/" + "d/" * 40 + "f", b"x", "not a file of a kernel"),
        ("build", member(tarfile.SYMTYPE, "/etc"), "not a regular file"),
        ("build/a", member(tarfile.LNKTYPE, "linux"), "not a regular file"),
        ("build/a", member(tarfile.CHRTYPE), "not a regular file"),
        ("build/a", member(tarfile.FIFOTYPE), "not a regular file"),
        ("build/a", member(tarfile.DIRTYPE), "not a regular file"),
        ("build/Makefile/a", b"x", "not a packed kernel"),
    ],
)
def test_hostile_entries_are_refused(
    built: kernel.Kernel,
    tmp_path: Path,
    cache: Path,
    name: str,
    content: bytes | tarfile.TarInfo,
    message: str,
) -> None:
    file = tmp_path / "kernel.tar.gz"
    archive.pack(built, file)
    digest = written(file, {**contents(file), name: content})
    with pytest.raises(KernelBuildError, match=message):
        archive.fetch(str(file), digest)
    assert not list(cache.iterdir())
    assert not list(tmp_path.rglob("*escaped"))


@pytest.mark.parametrize(
    "text", [b"", b"no archive", gzip.compress(b"no tar", mtime=0), b"\x1f\x8b\x08"]
)
def test_what_is_no_archive_is_refused(tmp_path: Path, cache: Path, text: bytes) -> None:
    file = tmp_path / "kernel.tar.gz"
    file.write_bytes(text)
    with pytest.raises(KernelBuildError, match=r"not a packed kernel \([^\n]*\); make one"):
        archive.fetch(str(file), sha256(file))
    with pytest.raises(KernelBuildError, match=r"cannot be read: No such file"):
        archive.fetch(f"{file}.not", "0")


def test_a_full_disk_is_told_as_such(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(source: Any, target: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "kernel.tar.gz").touch()
    monkeypatch.setattr(shutil, "copyfileobj", full)
    with pytest.raises(OSError, match=f"No space left on device: '{cache}'"):
        archive.fetch(str(tmp_path / "kernel.tar.gz"), "0")


def test_from_a_server(built: kernel.Kernel, tmp_path: Path) -> None:
    digest = archive.pack(built, tmp_path / "kernel.tar.gz")
    with serving(tmp_path) as (server, _):
        assert archive.fetch(f"{server}/kernel.tar.gz", digest).digest == built.digest
        with pytest.raises(KernelBuildError, match="cannot be read: File not found"):
            archive.fetch(f"{server}/other.tar.gz", digest)


@pytest.mark.kernel
def test_a_run_with_the_fetched_kernel_has_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = kernel.find()
    if found is None:
        pytest.skip("no kernel in the cache: emulate kernel build")
    file = tmp_path / "kernel.tar.gz"
    assert main(["kernel", "pack", str(file)]) == 0
    digest = capsys.readouterr().out.split()[0]
    options = ["gbw2015/rrul", "--link", "10/10", "--qdisc", "codel", "--cc", "cubic"]
    options += ["--seed", "1", "--length", "5s", "--output"]
    assert main(["run", *options, str(tmp_path / "built")]) == 0

    rest = cache_dir("rootfs")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    (tmp_path / "home/qdisc-lab").mkdir(parents=True)
    (tmp_path / "home/qdisc-lab/rootfs").symlink_to(rest)
    assert kernel.find() is None
    assert main(["kernel", "fetch", str(file), "--sha256", digest]) == 0
    assert main(["run", *options, str(tmp_path / "fetched")]) == 0
    (one,) = (tmp_path / "built").rglob("*.flent.gz")
    (other,) = (tmp_path / "fetched").rglob("*.flent.gz")
    assert one.read_bytes() == other.read_bytes()
