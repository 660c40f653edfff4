"""The bundle: kernels, modules and files of the guest as a Python package, `qdisc-lab-guest`.

It has an archive of each, and `guest.json`, which names them with their digests. What the cache
lacks is unpacked from there, once, beside its place, and then renamed; what the bundle lacks is
built or downloaded, as it is without one. `python -m workflow.bundle` makes it.
"""

import importlib.util
import json
import lzma
import platform
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from qdisclab.emulation.errors import DamagedCache, MissingTool
from qdisclab.emulation.host import seal, storage
from qdisclab.emulation.host.digest import sha256

PACKAGE, MANIFEST = "qdisc_lab_guest", "guest.json"

#: Of all kernels and programs of guests.
MACHINE = "x86_64"

#: Of xz: calls in machine code as addresses that repeat, and both kernels to look back on.
_FILTERS = (
    {"id": lzma.FILTER_X86},
    {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": 128 << 20},
)

_TODO = "pip install --force-reinstall the qdisc-lab-guest of this version, or uninstall it"


@dataclass(frozen=True)
class Entry:
    """An archive of the bundle."""

    archive: Path
    sha256: str
    about: dict[str, Any]

    def check(self) -> None:
        """Raise `DamagedCache` where the archive is not the one that was packed."""
        if not self.archive.is_file() or sha256(self.archive) != self.sha256:
            raise DamagedCache("is not as it was packed", str(self.archive), _TODO)

    def install(self, place: Path) -> None:
        """Unpack the archive as `place`, a sealed folder of the cache, whose lock is held."""
        self.check()
        with (
            storage.filling(place.parent),
            tempfile.TemporaryDirectory(dir=place.parent, prefix="building-") as scratch,
        ):
            safe = {"filter": "tar"} if hasattr(tarfile, "tar_filter") else {}  # Python 3.11.4 on
            with tarfile.open(self.archive, "r|xz") as packed:
                packed.extractall(Path(scratch) / "made", **safe)  # type: ignore[arg-type]
            seal.install(Path(scratch) / "made", place)


def entry(kind: str, name: str) -> Entry | None:
    """Return what the installed bundle has of this kind and name, or None.

    Raises `DamagedCache` for a bundle that cannot be read, or is for another kind of processor.
    """
    about = importlib.util.find_spec(PACKAGE)
    if about is None or about.origin is None:
        return None
    folder = Path(about.origin).parent
    try:
        manifest = json.loads((folder / MANIFEST).read_text())
        machine, row = manifest["machine"], manifest["entries"].get(f"{kind}/{name}")
        packed = Entry(folder / row["file"], row["sha256"], row) if row else None
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise DamagedCache(f"cannot be read: {error}", str(folder / MANIFEST), _TODO) from error
    if machine != platform.machine():
        what = f"is for {machine}, and this machine is {platform.machine()}"
        raise DamagedCache(what, str(folder), "uninstall qdisc-lab-guest; see docs/container.md")
    return packed


def check_machine() -> None:
    """Raise `MissingTool` on a machine that runs no guests."""
    if platform.machine() != MACHINE:
        what = f"guests need x86-64, and this machine is {platform.machine()}"
        todo = "use another one, or a container of that platform (docs/container.md)"
        raise MissingTool(what, todo=todo)


def outdated(what: str) -> DamagedCache:
    """Return the error that the bundle, which is installed, is of another version."""
    return DamagedCache(f"has another {what} than this version needs", "qdisc-lab-guest", _TODO)


def is_installed() -> bool:
    """Return whether there is a bundle."""
    return importlib.util.find_spec(PACKAGE) is not None


def compress(raw: BinaryIO) -> BinaryIO:
    """Return a file whose content is written to `raw` by xz, as small as it can."""
    return cast(BinaryIO, lzma.LZMAFile(raw, "wb", filters=_FILTERS))


def pack(folder: Path, file: Path) -> None:
    """Write what is in `folder` into the archive `file`: same files and times, same bytes."""
    with (
        file.open("wb") as raw,
        compress(raw) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        # Files of a kind side by side, as they are alike.
        for path in sorted(folder.rglob("*"), key=lambda path: (path.suffix, path.name, path)):
            member = tar.gettarinfo(path, str(path.relative_to(folder)))
            if member.islnk():  # to another name of it: packed twice
                member.type, member.size = tarfile.REGTYPE, path.stat().st_size
            member.uid = member.gid = 0
            # A guest's programs see it: runs depend on it.
            member.mtime = int(path.lstat().st_mtime)
            member.uname = member.gname = ""
            member.mode |= 0o200 if member.isdir() else 0
            if member.isreg():
                with path.open("rb") as content:
                    tar.addfile(member, content)
            else:
                tar.addfile(member)
