"""A built kernel as one file, to be used where nobody wants to wait for a compiler.

`pack` writes the same bytes for the same kernel, wherever that was built; so anybody else who has
built it can check an archive. `fetch` cannot: only a build shows what a recipe gives. It takes the
digest of the archive from its user or KERNEL.toml, and checks itself that the kernel in it has
today's recipe and a known source.
"""

import gzip
import io
import json
import lzma
import re
import shutil
import tarfile
import tempfile
import urllib.request
import zlib
from http.client import HTTPException
from pathlib import Path
from typing import Any, BinaryIO, cast

from qdisclab.emulation.errors import KernelBuildError
from qdisclab.emulation.host import bundle, seal, storage
from qdisclab.emulation.host.cache import cache_dir, lock
from qdisclab.emulation.host.debs import address
from qdisclab.emulation.host.digest import sha256
from qdisclab.emulation.kernel import builder, make, recipe as recipes
from qdisclab.emulation.kernel.builder import Kernel

#: Seconds without a byte, after which a server is given up.
PATIENCE_S = 60

_FILE = re.compile(r"linux|config|kernel\.json|build(/(?!\.\.?(/|$))[^/\0]{1,200}){1,20}")
_RELEASE = re.compile(r"\d+\.\d+[\w.+-]{0,40}")
#: What a file raises that is no archive of a kernel.
_BROKEN = (
    tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, ValueError, LookupError, RecursionError,
    gzip.BadGzipFile, FileExistsError, FileNotFoundError, IsADirectoryError, NotADirectoryError,
)  # fmt: skip


def pack(kernel: Kernel, file: Path, *others: Kernel) -> str:
    """Write the archive of `kernel`, a .tar.gz or .tar.xz, and return its SHA-256.

    With `others`, most of whose headers are the same, each lies in a folder named by its series.
    """
    partial = file.with_name(f".{file.name}.partial")
    try:
        with (
            partial.open("wb") as raw,
            _packer(file, raw) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
        ):
            for each in (kernel, *others):
                _add_kernel(tar, each, f"{each.series}/" if others else "")
        partial.replace(file)
    finally:
        partial.unlink(missing_ok=True)
    return sha256(file)


def _packer(file: Path, raw: BinaryIO) -> BinaryIO:
    if file.suffix == ".xz":
        return bundle.compress(raw)  # pack closes it
    return cast(BinaryIO, gzip.GzipFile("", "wb", 6, raw, mtime=0))


def _add_kernel(tar: tarfile.TarFile, kernel: Kernel, place: str) -> None:
    folder = kernel.path.parent
    builder.check(kernel.path)
    seal.check(folder / "build", contents=True)
    origin = {"sha256": kernel.provenance["source"]["sha256"]}
    record = {name: kernel.provenance[name] for name in ("release", *builder.FILES)}
    record |= {"inputs": kernel.provenance["inputs"], "source": origin}
    _add(tar, f"{place}kernel.json", json.dumps(record, indent=2, sort_keys=True).encode())
    paths = [folder / "linux", folder / "config"]
    # What a link leads to is in the same folder, and is packed twice.
    paths += sorted(path for path in folder.glob("build/**/*") if path.is_file())
    for path in paths:
        mode = 0o755 if path.stat().st_mode & 0o100 else 0o644
        _add(tar, f"{place}{path.relative_to(folder)}", path.read_bytes(), mode)


def _add(tar: tarfile.TarFile, name: str, content: bytes, mode: int = 0o644) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(content), mode
    tar.addfile(member, io.BytesIO(content))


def fetch(place: str, expected: str | None = None, part: str = "") -> Kernel:
    """Return the kernel of the archive at `place`, a path or an address, from the cache.

    `part` is the kernel's folder in an archive of several, such as `6.12/`.

    Raises `KernelBuildError`, and leaves the cache as it was, where the archive cannot be had, does
    not have the `expected` SHA-256, by default one of KERNEL.toml, holds anything but the files of
    a kernel, or a kernel that is not of today's recipe.
    """
    cache = cache_dir("kernel")
    with (
        storage.filling(cache),
        tempfile.TemporaryDirectory(prefix=".fetch-", dir=cache) as scratch,
    ):
        archive, result = Path(scratch) / "archive", Path(scratch) / "result"
        _copy(place, archive)
        digest = sha256(archive)
        wanted = (expected.lower(),) if expected else recipes.packed()
        if digest not in wanted:
            todo = "take the file whose digest you were given"
            what = f"has the SHA-256 {digest}, not {expected or 'one of KERNEL.toml'}"
            raise KernelBuildError(what, place, todo)
        try:
            _unpack(archive, result, part, place)
            record = _record(result, place)
        except _BROKEN as error:
            # tarfile has a line about each way in which it may be packed
            words = str(error).partition(":\n")[0] or type(error).__name__
            raise _refused(place, f"not a packed kernel ({words})") from error
        record["fetched"] = {"from": place, "sha256": digest}
        place_in_cache = cache / recipes.digest(record["source"]["sha256"], record["inputs"])
        with lock(cache):
            return builder.load(place_in_cache) or builder.install(result, place_in_cache, record)


def _refused(place: str, what: str) -> KernelBuildError:
    todo = "make one of this version with `emulate kernel pack`, or build it: emulate kernel build"
    return KernelBuildError(what, place, todo)


def _copy(place: str, target: Path) -> None:
    """Copy a path or an address into the new file `target`."""
    try:
        opened = urllib.request.urlopen(address(place), timeout=PATIENCE_S)
        with opened, target.open("wb") as file:
            shutil.copyfileobj(opened, file)
    except (OSError, ValueError, HTTPException) as error:
        if getattr(error, "errno", None) in storage.FULL:  # it is the target's disk
            raise
        reason = getattr(error, "reason", error)
        reason = getattr(reason, "strerror", None) or reason
        raise KernelBuildError(
            f"cannot be read: {reason}", place, "check that it exists"
        ) from error


def _unpack(archive: Path, result: Path, part: str, place: str) -> None:
    """Unpack what is below `part` of `archive` into the new folder `result`: files of a kernel, and
    nothing else.

    Sizes have no bound: it is the file whose digest the user has been given.
    """
    with tarfile.open(archive, "r:*") as tar:
        for member in tar:
            if not member.name.startswith(part):
                continue
            name, inner = ascii(member.name)[:80], member.name.removeprefix(part)
            if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or member.issparse():
                raise _refused(place, f"has {name}, which is not a regular file")
            if not _FILE.fullmatch(inner):
                raise _refused(place, f"has {name}, which is not a file of a kernel")
            path = result / inner
            path.parent.mkdir(parents=True, exist_ok=True)
            content = tar.extractfile(member)
            assert content is not None
            with path.open("xb") as file:
                shutil.copyfileobj(content, file)
            path.chmod(0o755 if member.mode & 0o100 else 0o644)


def _record(result: Path, place: str) -> dict[str, Any]:
    """Return the content of `kernel.json` in `result`, every entry of it checked."""
    content = json.loads((result / "kernel.json").read_text())
    try:
        inputs, origin, release = content["inputs"], content["source"]["sha256"], content["release"]
        series, compiler = str(inputs["series"]), str(inputs["compiler"])
        recipe = recipes.load(series)
        versions = recipe.origin.locked if recipe.origin else ()
        locked = {deb.sha256: deb.version for deb in versions}
        wanted = recipes.inputs(recipe, compiler, make.SETTINGS)
        differ = sorted(name for name in {*inputs, *wanted} if inputs.get(name) != wanted.get(name))
    except (AttributeError, TypeError) as error:
        raise _refused(place, f"no record of a kernel ({error})") from error
    if differ:
        raise _refused(place, f"a kernel of another recipe: different {' and '.join(differ)}")
    if origin not in locked:
        raise _refused(place, "a kernel of a source that LOCK.toml does not list")
    if not (_RELEASE.fullmatch(release) and release.startswith(f"{series}.")):
        raise _refused(place, f"a kernel of {series} that calls itself {ascii(release)[:80]}")
    for name, file in builder.FILES.items():
        if content[name] != sha256(result / file):
            raise _refused(place, f"a kernel whose {file} is not what was built")
    source = {"file": "", "version": locked[origin], "sha256": origin, "known": True}
    return {"release": release, "inputs": wanted, "source": source}
