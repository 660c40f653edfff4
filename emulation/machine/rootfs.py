"""The guest's root file system: Debian packages, unpacked into a folder of the cache.

The guest does not see the host's files. Every tool that it runs comes from the packages of `TOOLS`
and their dependencies, in the versions of the lock (`emulation.host.lock`), unpacked without
maintainer scripts, so that nothing needs root or Debian, nothing is installed on the host, and two
machines run the same bytes. The folder is sealed (`emulation.host.seal`).
"""

import hashlib
import json
import logging
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from qdisclab.emulation.errors import MissingTool
from qdisclab.emulation.host import bundle, lock as locks, seal, storage
from qdisclab.emulation.host.apt import PrivateApt
from qdisclab.emulation.host.cache import cache_dir, lock
from qdisclab.emulation.host.debs import PLACE, Deb, extract

_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))

#: What the guest runs: (path in the guest, Debian package).
TOOLS: tuple[tuple[str, str], ...] = tuple(_TABLE["tools"].items())

#: Of Debian's archive: netperf is not free.
COMPONENTS = ("main", "non-free")

_log = logging.getLogger(__name__)

#: Counts changes of the recipe below; part of the cache's key.
RECIPE = 3

#: The guest's first process; part of the cache's key.
INIT = Path(__file__).parents[1] / "guest" / "init.sh"

_MERGED = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_LEFT_OUT = tuple(f"./usr/share/{name}/*" for name in ("doc", "man", "locale", "info"))
_MOUNT_POINTS = ("proc", "sys", "dev", "run", "tmp", "mnt", "job", "root")


@dataclass(frozen=True)
class Unpacked:
    """Debian packages in a folder of the cache.

    `path`: the folder; `digest`: SHA-256 over names, versions and digests of the packages and the
    recipe, which is also the folder's name; `packages`: version by package name.
    """

    path: Path
    digest: str
    packages: dict[str, str]

    @classmethod
    def recorded(cls, record: Path) -> Self | None:
        """Return what the file `record`, beside the folder, tells of, if it is there and intact."""
        try:
            content = json.loads(record.read_text())
        except FileNotFoundError:
            return None
        path = record.with_name(content["digest"])
        return cls(path, content["digest"], content["packages"]) if seal.is_intact(path) else None

    def record(self, record: Path) -> None:
        """Write the file `record` for `recorded`."""
        content = {"digest": self.digest, "packages": self.packages}
        storage.write(record, json.dumps(content, indent=1, sort_keys=True) + "\n")


class RootFs(Unpacked):
    """A root file system, from which a guest boots."""

    def check(self) -> None:
        """Raise `MissingTool` with each tool of `TOOLS` that is missing, and its package."""
        missing = (of for of in TOOLS if not (self.path / of[0][1:]).exists())
        if listed := ", ".join(f"{tool} (package {package})" for tool, package in missing):
            todo = "remove that folder (chmod -R u+w first): the next run makes it again"
            raise MissingTool(f"the guest lacks {listed}", str(self.path), todo)


def wanted() -> tuple[str, ...]:
    """Return the packages that `TOOLS` names, each once, sorted."""
    return tuple(sorted({package for _, package in TOOLS}))


def locked(debs: Iterable[Deb] | None = None) -> RootFs:
    """Return the root file system of `debs` or else the lock, whether or not the cache has it."""
    debs = tuple(locks.load().guest if debs is None else debs)
    name = digest(((deb.file, bytes.fromhex(deb.sha256)) for deb in debs), _recipe())
    return RootFs(cache_dir("rootfs") / name, name, {deb.package: deb.version for deb in debs})


def find() -> RootFs | None:
    """Return the cached root file system: the lock's, or what stands for it here, or None."""
    root = locked()
    if root.packages.keys() >= set(wanted()) and seal.is_intact(root.path):
        return root
    return RootFs.recorded(_record())


def build() -> RootFs:
    """Return the root file system of the lock: cached, of the bundle, or downloaded and unpacked.

    Where a package of the lock cannot be had anywhere, apt chooses another version of it, a warning
    says so, and the root file system has another digest. Needs no root. Raises `MissingTool` if
    that fails, too. An interrupted build leaves nothing that could be mistaken for a root file
    system; of two builds at once, the second waits for the first.
    """
    with lock(cache_dir("rootfs")):
        if (cached := find()) is not None:
            cached.check()
            return cached
        if bundle.is_installed():
            root = locked()
            if (packed := bundle.entry("rootfs", root.digest)) is None:
                raise bundle.outdated("root file system")
            packed.install(root.path)
            root.check()
            return root
        with storage.building(cache_dir("rootfs")) as scratch:
            debs = _download(scratch)
            packages, name = identity(debs, _recipe())
            place = scratch / "root"
            unpack(debs, place, _LEFT_OUT)
            _furnish(place, _ldconfig(scratch))
            RootFs(place, name, packages).check()
            root = RootFs(cache_dir("rootfs") / name, name, packages)
            seal.install(place, root.path)
            root.record(_record())
    return root


def _download(scratch: Path) -> tuple[Path, ...]:
    """Return the .deb files of the lock, or those that apt takes in their stead."""
    pinned = locks.load()
    folder = scratch / "debs"
    missing = pinned.sources().fetch(pinned.guest, folder)
    unknown = set(wanted()) - {deb.package for deb in pinned.guest}
    if not missing and not unknown:
        return tuple(sorted(folder.glob("*.deb")))
    names = ", ".join([*map(str, missing), *sorted(unknown)])
    try:
        apt = PrivateApt(scratch / "apt", components=COMPONENTS)
        apt.prefer(pinned.guest)
        debs = apt.download(wanted())
    except MissingTool as error:
        todo = f"name a folder or address that has them in {PLACE}; or else: {error.todo}"
        raise MissingTool(f"no source has {names}; {error.what}", str(locks.FILE), todo) from error
    if identity(debs, _recipe())[1] != locked().digest:
        _log.warning(
            "the guest is not the locked one, and its runs have another identity, since there is "
            "no %s",
            names,
        )
    return debs


def _recipe() -> bytes:
    return str(RECIPE).encode() + INIT.read_bytes()


def _record() -> Path:
    """Return the file that says what stands for the lock's root file system in this cache."""
    parts = json.dumps([RECIPE, INIT.read_text(), TOOLS, locked().digest])
    return cache_dir("rootfs") / f"{hashlib.sha256(parts.encode()).hexdigest()[:16]}.json"


def identity(debs: tuple[Path, ...], recipe: bytes) -> tuple[dict[str, str], str]:
    """Return version by package, and the digest that names what `recipe` makes of `debs`."""
    packages: dict[str, str] = {}
    for deb in sorted(debs):
        name, version, _ = deb.name.removesuffix(".deb").split("_")
        packages[name] = version.replace("%3a", ":")
    contents = ((deb.name, hashlib.sha256(deb.read_bytes()).digest()) for deb in debs)
    return packages, digest(contents, recipe)


def digest(files: Iterable[tuple[str, bytes]], recipe: bytes) -> str:
    """Return what names the outcome of `recipe` for packages: (name of the file, its SHA-256)."""
    total = hashlib.sha256(recipe)
    for name, content in sorted(files):
        total.update(name.encode() + content)
    return total.hexdigest()[:16]


def unpack(debs: tuple[Path, ...], root: Path, left_out: tuple[str, ...]) -> None:
    """Unpack `debs` into `root`, with /bin, /sbin and /lib* merged into /usr."""
    (root / "usr").mkdir(parents=True)
    for name in _MERGED:
        (root / "usr" / name).mkdir()
        (root / name).symlink_to(f"usr/{name}")
    for deb in sorted(debs):
        extract(deb, root, left_out)


def _ldconfig(scratch: Path) -> Path | str:
    """Return the lock's ldconfig, since its name is in what it writes, or else the host's."""
    pinned, folder = locks.load(), scratch / "tools"
    if pinned.sources().fetch(pinned.tools, folder):
        return shutil.which("ldconfig", path=os.defpath + ":/sbin:/usr/sbin") or "ldconfig"
    for deb in folder.glob("*.deb"):
        extract(deb, folder)
    return folder / "sbin/ldconfig"


def _furnish(root: Path, ldconfig: Path | str) -> None:
    """Do what maintainer scripts would have done, as far as the guest needs it."""
    for name, text in _TABLE["files"].items():
        path = root / name
        path.unlink(missing_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name in _MOUNT_POINTS:
        (root / name).mkdir(exist_ok=True)
    for link, target in _TABLE["alternatives"].items():
        (root / link).symlink_to(target)
    shutil.copyfile(INIT, root / "usr/sbin/guest-init")
    (root / "usr/sbin/guest-init").chmod(0o755)
    strip_set_uid(root)
    subprocess.run([ldconfig, "-X", "-r", root], check=True)
    _compile_python(root)


def strip_set_uid(root: Path) -> None:
    """Clear set-uid bits, and let the owner read all files.

    An ordinary user owns these files: with such a bit, the guest's root would become that user.
    """
    for path in root.rglob("*"):
        if not path.is_symlink():
            mode = path.stat().st_mode & 0o7777
            path.chmod((mode & 0o777) | (0o700 if path.is_dir() else 0o400))


def _compile_python(root: Path) -> None:
    """Byte-compile the guest's Python with its own interpreter, independent of file times."""
    (python,) = (p for p in (root / "usr/bin").glob("python3.*") if re.search(r"3\.\d+$", p.name))
    libraries = ":".join(str(root / "usr/lib" / triple) for triple in ("x86_64-linux-gnu", "."))
    loader = (str(root / "usr/lib64/ld-linux-x86-64.so.2"), "--library-path", libraries)
    options = ("-q", "-s", str(root), "-p", "/", "--invalidation-mode", "unchecked-hash")
    names = ("lib/" + python.name, "lib/python3/dist-packages", "share/flent")
    folders = (root / "usr" / name for name in names)
    subprocess.run(
        [*loader, python, "-S", "-m", "compileall", *options, *folders],
        check=False,  # a few packages have templates that are not Python
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={"PYTHONHOME": str(root / "usr"), "PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8"},
    )
