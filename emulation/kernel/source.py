"""The kernel's source: a Debian package fetched without root, or a file of the user."""

import os
import re
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from qdisclab.emulation.errors import KernelBuildError, MissingTool
from qdisclab.emulation.host import lock
from qdisclab.emulation.host.apt import PrivateApt
from qdisclab.emulation.host.debs import PLACE, Deb, extract
from qdisclab.emulation.host.digest import sha256
from qdisclab.emulation.kernel.recipe import Origin


@dataclass(frozen=True)
class KernelSource:
    """A .deb or a tarball with the source of a kernel."""

    path: Path
    sha256: str
    version: str  # of the Debian package; empty for a file of the user
    known: bool  # whether the lock has this digest


def of_file(path: Path) -> KernelSource:
    """Return the user's own .deb or tarball; raise `KernelBuildError` if there is no such file."""
    if not path.is_file():
        what = "no such file" if not path.exists() else "not a file"
        todo = "name a kernel's source as .tar, .tar.gz, .tar.xz or .deb"
        raise KernelBuildError(what, str(path), todo)
    return KernelSource(path, sha256(path), version="", known=False)


def fetch(origin: Origin, folder: Path) -> KernelSource:
    """Return the package of `origin` from `folder`, downloaded if it is not there.

    The sources of the lock are asked for the first known version. If none has it, apt gets the
    first known version that it finds, else whatever the suites offer. Raises `KernelBuildError` if
    no version is available, or the digest of a known version is wrong.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for deb in origin.locked:
        path = folder / deb.file
        if path.is_file() and sha256(path) == deb.sha256:
            return KernelSource(path, deb.sha256, deb.version, known=True)
    first = origin.locked[:1]
    if first and not lock.load().sources().fetch(first, folder):
        return KernelSource(folder / first[0].file, first[0].sha256, first[0].version, known=True)
    with tempfile.TemporaryDirectory(prefix=".apt-", dir=folder) as scratch:
        names = [*(f"{origin.package}={deb.version}" for deb in origin.locked), origin.package]
        try:
            apt = PrivateApt(Path(scratch) / "apt", suites=origin.suites)
            came = apt.fetch_first(names, Path(scratch))
        except MissingTool as error:
            wanted = ", ".join(map(str, origin.locked[:1])) or origin.package
            what = f"no source has {wanted}: {error.what}"
            todo = "check that this machine reaches its Debian mirror, name a folder or address"
            todo += f" that has the package in {PLACE}, or name a tarball with --source"
            where = "the sources of LOCK.toml and of /etc/apt"
            raise KernelBuildError(what, where, todo) from error
        version, digest = came.name.split("_")[1].replace("%3a", ":"), sha256(came)
        digests = {deb.version: deb.sha256 for deb in origin.locked}
        if digest != digests.get(version, digest):
            what = f"{came.name} has the digest {digest}, LOCK.toml says {digests[version]}"
            todo = "find out which of the two is wrong before building anything from it"
            raise KernelBuildError(what, todo=todo)
        path = folder / Deb(origin.package, version, digest).file
        came.rename(path)
    return KernelSource(path, digest, version, known=version in digests)


def unpack(source: KernelSource, folder: Path, parts: Iterable[str] = ()) -> Path:
    """Unpack `source` into `folder`; return the top of the source tree.

    `parts`: the folders of the tree that are unpacked, instead of all. Raises `KernelBuildError` if
    that fails or there is no kernel in it.
    """
    archive = source.path
    if archive.suffix == ".deb":
        extract(archive, folder / "deb")
        tarballs = sorted((folder / "deb/usr/src").glob("*.tar.*"))
        if len(tarballs) != 1:
            raise KernelBuildError(what="holds no kernel source", where=str(archive))
        archive = tarballs[0]
    top = folder / "source"
    top.mkdir()
    result = subprocess.run(
        [
            *("tar", "-x", "-f", archive.resolve(), "-C", top, "--strip-components=1"),
            *("--wildcards", *(f"*/{part}" for part in parts)),
        ],
        env={**os.environ, "XZ_DEFAULTS": "-T0"},
        capture_output=True,
        text=True,
    )
    if result.returncode:
        lines = result.stderr.strip().splitlines() or ["tar failed"]
        raise KernelBuildError(what=f"cannot be unpacked: {lines[0]}", where=str(source.path))
    if archive != source.path:
        archive.unlink()
    return top


def release(tree: Path) -> str:
    """Return the release in the Makefile of `tree`, such as 6.12.117."""
    try:
        text = (tree / "Makefile").read_text()
    except OSError:
        text = ""
    found = re.findall(r"^(VERSION|PATCHLEVEL|SUBLEVEL|EXTRAVERSION) *= *(\S*)$", text, re.M)
    values: dict[str, str] = dict(found)
    if not {"VERSION", "PATCHLEVEL"} <= values.keys():
        what, todo = "is not the source of a kernel", "name the folder with Linux's own Makefile"
        raise KernelBuildError(what, str(tree), todo)
    numbers = (values["VERSION"], values["PATCHLEVEL"], values.get("SUBLEVEL") or "0")
    return ".".join(numbers) + values.get("EXTRAVERSION", "")


def series(release: str) -> str:
    """Return the series of a `release`: 6.12 of 6.12.117."""
    return ".".join(release.split(".")[:2])
