"""Modules of our own or the user's, built against a kernel of the cache.

A module is a folder with C files and a `Kbuild` file that names it (`obj-m := NAME.o`): the link
drivers in `qdisc/src`, a qdisc that somebody is writing. It is built once for a kernel and its
sources, and kept in the user's cache in a folder named by the digest of both.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from emulation.cache import cache_dir
from emulation.errors import KernelBuildError
from emulation.kernel import make
from emulation.kernel.builder import Kernel
from emulation.kernel.recipe import RECIPE_DIR

#: Where the product's own modules are, a folder each.
SOURCES = RECIPE_DIR / "src"

#: Where the guest finds modules, below the folder of its job.
PLACE = "modules"

_INPUTS = ("Kbuild", "*.c", "*.h")


@dataclass(frozen=True)
class Module:
    """A built module."""

    name: str  # as the guest's kernel calls it
    path: Path  # the .ko file
    digest: str  # of its sources and the kernel; the name of its folder


def build(kernel: Kernel, folder: Path, cache: Path | None = None) -> Module:
    """The module in `folder`, built against `kernel` if the cache lacks it.

    Raises `KernelBuildError` where the folder or the kernel cannot make one or the compiler finds a
    fault, and `MissingTool`. A build that fails leaves nothing but its log.
    """
    sources = _sources(folder)
    digest = _digest(kernel, sources)
    cache = cache or cache_dir("module")
    if found := _find(cache / digest):
        return found
    tree = kernel.path.parent / "build"
    if not tree.is_dir():
        raise KernelBuildError(
            what="nothing to build modules against is kept with this kernel",
            where=str(kernel.path.parent),
            todo="remove that folder and run `emulate kernel build`",
        )
    make.check_tools()
    with tempfile.TemporaryDirectory(prefix=".build-", dir=cache) as scratch:
        place = Path(scratch) / "result"
        (built,) = _compile(tree, sources, place, cache / f"failed-{digest}.log")
        told = {"kernel": kernel.digest, "sources": {one.name: _sha256(one) for one in sources}}
        (place / "module.json").write_text(json.dumps(told, indent=1, sort_keys=True) + "\n")
        for path in place.iterdir():
            if path.name not in (built.name, "module.json"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        if not (cache / digest).exists():  # another process may have been faster
            place.rename(cache / digest)
    (cache / f"failed-{digest}.log").unlink(missing_ok=True)
    module = _find(cache / digest)
    assert module is not None
    return module


def put(modules: Iterable[Module], job: Path) -> None:
    """Lay `modules` into the folder of a guest's `job`, where the guest loads them from."""
    for module in modules:
        (job / PLACE).mkdir(exist_ok=True)
        shutil.copyfile(module.path, job / PLACE / module.path.name)


def _sources(folder: Path) -> list[Path]:
    """The files that a module is made of; raises `KernelBuildError` where there is no Kbuild."""
    if not (folder / "Kbuild").is_file():
        raise KernelBuildError(
            what="there is no file Kbuild in it, so it is no module",
            where=str(folder),
            todo="write one: `obj-m := NAME.o`, and NAME.c beside it",
        )
    return sorted(path for pattern in _INPUTS for path in folder.glob(pattern))


def _digest(kernel: Kernel, sources: list[Path]) -> str:
    total = hashlib.sha256(kernel.digest.encode())
    for path in sources:
        total.update(f"{path.name} {_sha256(path)}\n".encode())
    return total.hexdigest()[:16]


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _find(place: Path) -> Module | None:
    files = list(place.glob("*.ko"))
    return Module(files[0].stem, files[0], place.name) if len(files) == 1 else None


def _compile(tree: Path, sources: list[Path], place: Path, kept: Path) -> list[Path]:
    """Build in `place`; the .ko file. The log of a failure goes to `kept`."""
    place.mkdir()
    for path in sources:
        shutil.copyfile(path, place / path.name)
    log = place.parent / "build.log"
    maps = f"-ffile-prefix-map={place}=. -ffile-prefix-map={tree}=."
    command = ["make", "-C", str(tree), f"M={place}", *make.SETTINGS, f"KCFLAGS={maps}", "modules"]
    status = make.run(command, place, log)
    built = list(place.glob("*.ko"))
    if status or len(built) != 1:
        shutil.copyfile(log, kept)
        fault = make.first_error(log.read_text()) or f"{len(built)} modules came of it, not one"
        raise KernelBuildError(
            what=f"the module does not build: {fault}", where=str(kept), todo="see the log"
        )
    return built
