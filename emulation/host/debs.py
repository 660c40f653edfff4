"""Debian packages by version and digest: where they can be had, and what is in them.

Nothing of Debian's is needed: a .deb is an `ar` archive of two tarballs, and mirrors speak HTTP.
The stages of the container image that build kernels and the guest have no Python packages.
"""

import hashlib
import io
import json
import lzma
import os
import re
import tarfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import IO
from urllib.parse import quote, urlsplit

from qdisclab.emulation.errors import MissingTool
from qdisclab.emulation.host import storage

#: The variable of the environment with the user's own place: a folder or an address of .deb files.
PLACE = "QDISC_LAB_PACKAGES"

#: Seconds without a byte, after which a server is given up.
PATIENCE_S = 20

#: Downloads at a time.
AT_ONCE = 8

_ADDRESS = re.compile(r"https?://", re.IGNORECASE)
_AR_MAGIC, _AR_HEADER = b"!<arch>\n", 60


@dataclass(frozen=True)
class Deb:
    """A package. `path`: of its file in a mirror of Debian; empty where nobody has looked."""

    package: str
    version: str
    sha256: str
    path: str = ""

    @property
    def architecture(self) -> str:
        """Return `amd64` or `all`, which the sources of kernels are."""
        return self.path.removesuffix(".deb").rpartition("_")[2] or "all"

    @property
    def file(self) -> str:
        """Return the name of its file, as apt writes it: with the epoch of the version."""
        return f"{self.package}_{self.version.replace(':', '%3a')}_{self.architecture}.deb"

    def __str__(self) -> str:
        return f"{self.package} {self.version}"


@dataclass
class Sources:
    """Where packages are looked for, in this order.

    `mirrors`: addresses with a folder `pool`, those for security named so; `archive`: the address
    of Debian's archive of old packages, with the interface of snapshot.debian.org; `place`: a
    folder or an address of .deb files, or "".
    """

    mirrors: tuple[str, ...]
    archive: str
    place: str = field(default_factory=lambda: os.environ.get(PLACE, ""))
    _silent: set[str] = field(default_factory=set, repr=False)  # servers that are given up
    _heard: set[str] = field(default_factory=set, repr=False)  # servers that have answered

    def fetch(self, debs: Iterable[Deb], folder: Path) -> list[Deb]:
        """Download `debs` into `folder`; return those that no source has with their digest."""
        folder.mkdir(exist_ok=True)
        missing = list(debs)
        for look_in in (self._in_mirrors, self._in_archive, self._in_place):
            with ThreadPoolExecutor(AT_ONCE) as pool:
                came = pool.map(partial(self._first, folder), missing, map(look_in, missing))
                missing = [deb for deb, it_came in zip(missing, came, strict=True) if not it_came]
        return missing

    def _in_mirrors(self, deb: Deb) -> Iterator[str]:
        security = deb.path.startswith("pool/updates/")
        for mirror in self.mirrors if deb.path else ():
            if ("security" in mirror) == security:
                yield f"{mirror.rstrip('/')}/{quote(deb.path)}"

    def _in_archive(self, deb: Deb) -> Iterator[str]:
        """Ask for the files of a version; the archive serves files by their SHA-1."""
        archive = self.archive.rstrip("/")
        address = f"{archive}/mr/binary/{quote(deb.package)}/{quote(deb.version)}/binfiles"
        with self._open(address) as answer:
            files = json.load(answer)["result"] if answer else []
        for file in files:
            if file["architecture"] == deb.architecture:
                yield f"{archive}/file/{quote(file['hash'])}"

    def _in_place(self, deb: Deb) -> Iterator[str]:
        if self.place:
            for name in dict.fromkeys((deb.file, Path(deb.path).name or deb.file)):
                yield f"{address(self.place).rstrip('/')}/{quote(name)}"

    def _first(self, folder: Path, deb: Deb, addresses: Iterator[str]) -> bool:
        """Download `deb` from the first address that has it; return whether one did."""
        half = folder / f"{deb.file}.partial"
        try:
            for address in addresses:
                with self._open(address) as answer:
                    if answer and _copy(answer, half) == deb.sha256:
                        half.rename(folder / deb.file)
                        return True
        except (OSError, ValueError, LookupError, TypeError) as error:
            if isinstance(error, OSError) and error.errno in storage.FULL:
                raise storage.of(OSError(error.errno, error.strerror, str(folder))) from error
            # broken off, or no answer of such an archive: the next source may have it
        finally:
            half.unlink(missing_ok=True)
        return False

    @contextmanager
    def _open(self, address: str) -> Iterator[IO[bytes] | None]:
        """Yield what an address answers, or None. A server that is silent is given up, one that
        has answered before if it is so twice in a row.

        An answer that breaks off raises an `OSError`.
        """
        # Imported here since each command has this module, and next to none downloads.
        from http.client import HTTPException
        from urllib.error import HTTPError
        from urllib.request import urlopen

        if (server := urlsplit(address).netloc) in self._silent:
            yield None
            return
        answer = None
        for _ in range(1 + (server in self._heard)):  # a busy one may pause
            try:
                answer = urlopen(address, timeout=PATIENCE_S)
                self._heard.add(server)
                break
            except HTTPError:
                break
            except (OSError, HTTPException):
                pass
        else:
            if server:
                self._silent.add(server)
        if answer is None:
            yield None
            return
        with answer:
            try:
                yield answer
            except HTTPException as error:
                raise ConnectionError(str(error)) from error


def address(place: str) -> str:
    """Return the address of `place`, a path or an address."""
    return place if _ADDRESS.match(place) else Path(place).absolute().as_uri()


def _copy(source: IO[bytes], target: Path) -> str:
    """Write `source` into a file; return the SHA-256."""
    total = hashlib.sha256()
    with target.open("wb") as file:
        while block := source.read(1 << 20):
            total.update(block)
            file.write(block)
    return total.hexdigest()


def extract(deb: Path, root: Path, left_out: tuple[str, ...] = ()) -> None:
    """Unpack the files of a package into `root`, with their modes, all of them the caller's.

    A folder for which `root` has a link is that link's target. `left_out`: patterns of names that
    begin with `./`. Raises `MissingTool` for a file that is no package.
    """
    with _tarball(deb, "data") as tar:
        tar.extraction_filter = lambda member, path: member  # all modes, as before Python 3.14
        tar.extractall(root, _chosen(deb, tar, left_out), numeric_owner=True)


def _chosen(
    deb: Path, tar: tarfile.TarFile, left_out: tuple[str, ...]
) -> Iterator[tarfile.TarInfo]:
    for member in tar:
        if ".." in Path(member.name).parts or member.name.startswith("/"):
            raise _broken(deb, f"has a file {member.name}")
        if not any(fnmatchcase(member.name, pattern) for pattern in left_out):
            member.uid, member.gid = os.getuid(), os.getgid()
            yield member


def script(deb: Path) -> str:
    """Return the script that runs when the package is installed, or ""."""
    return _text(deb, "control", "./postinst")


def copyright(deb: Path) -> str:
    """Return the text on the authors and licences of a package, or "" where its documentation is
    that of another package of the same source."""
    return _text(deb, "data", "./usr/share/doc/*/copyright")


def _text(deb: Path, part: str, pattern: str) -> str:
    """Return the first file of a package whose name fits, or ""."""
    with _tarball(deb, part) as tar:
        for member in tar:
            if member.isreg() and fnmatchcase(member.name, pattern):
                content = tar.extractfile(member)
                return content.read().decode(errors="replace") if content else ""
    return ""


@contextmanager
def _tarball(deb: Path, part: str) -> Iterator[tarfile.TarFile]:
    """Yield the tarball `control` or `data` of a package."""
    try:
        name, content = next(each for each in _members(deb) if each[0].startswith(f"{part}.tar"))
        if name.endswith(".zst"):
            raise _broken(deb, "is packed by zstd, which Debian's own are not")
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:*") as tar:
            yield tar
    except (StopIteration, tarfile.TarError, lzma.LZMAError, EOFError, ValueError) as error:
        raise _broken(deb, "is not a Debian package") from error


def _members(deb: Path) -> Iterator[tuple[str, bytes]]:
    """Yield (name, content) of the files of an `ar` archive."""
    with deb.open("rb") as file:
        if file.read(len(_AR_MAGIC)) != _AR_MAGIC:
            raise ValueError("not an ar archive")
        while len(header := file.read(_AR_HEADER)) == _AR_HEADER:
            size = int(header[48:58])
            yield header[:16].decode().rstrip(" /"), file.read(size)
            file.seek(size % 2, os.SEEK_CUR)


def _broken(deb: Path, what: str) -> MissingTool:
    return MissingTool(f"{deb.name} {what}", str(deb), "run it again: it is then downloaded again")
