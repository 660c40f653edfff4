"""Modules of our own or the user's, built against a kernel of the cache.

A module is a folder with C files and a `Kbuild` file that names it (`obj-m := NAME.o`): the link
drivers in `qdisc/src`, a qdisc that somebody is writing. It is built once for a kernel and its
sources, and kept in the user's cache in a folder named by the digest of both. A file `q_<kind>.c`
beside it is a plugin that teaches the options of a qdisc to `tc`, and becomes `q_<kind>.so`; so
does `preload_<name>.c`, a library for the guest's first process.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from emulation.errors import DamagedCache, KernelBuildError
from emulation.host import confine, seal
from emulation.host.cache import cache_dir
from emulation.kernel import make
from emulation.kernel.builder import Kernel
from emulation.kernel.recipe import RECIPE_DIR
from emulation.model.qdisc import INPUTS, ModuleSource

#: Where the product's own modules are, a folder each.
SOURCES = RECIPE_DIR / "src"

#: Where the guest finds modules, below the folder of its job.
PLACE = "modules"

_NAMED = re.compile(r"^obj-m\s*[:+]?=\s*([\w-]+)\.o\s*$", re.MULTILINE)
_PLUGINS = ("q_*.c", "preload_*.c")


@dataclass(frozen=True)
class Module:
    """A built module."""

    name: str  # as the guest's kernel calls it
    path: Path  # the .ko file
    digest: str  # of its sources and the kernel; the name of its folder
    plugins: tuple[Path, ...] = ()  # of tc and of the first process: .so files


def source(folder: Path) -> ModuleSource:
    """What the module in `folder` is called and made of; `KernelBuildError` where it is none."""
    files = _sources(folder)
    named = _NAMED.findall((folder / "Kbuild").read_text(errors="replace"))
    if len(named) != 1:
        raise KernelBuildError(
            what=f"it names {len(named)} modules, not one",
            where=str(folder / "Kbuild"),
            todo="write one line `obj-m := NAME.o`",
        )
    total = hashlib.sha256()
    for path in files:
        total.update(f"{path.name} {_sha256(path)}\n".encode())
    return ModuleSource(named[0].replace("-", "_"), folder, total.hexdigest()[:16])


def build(kernel: Kernel, folder: Path, cache: Path | None = None) -> Module:
    """The module in `folder`, built against `kernel` if the cache lacks it.

    Raises `KernelBuildError` where the folder or the kernel cannot make one or the compiler finds a
    fault, and `MissingTool`. A build that fails leaves nothing but its log.
    """
    if not folder.resolve().is_relative_to(SOURCES):
        confine.require()
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
    try:
        seal.check(tree)
    except DamagedCache as error:
        error.todo = f"remove {tree.parent} (chmod -R u+w first) and run `emulate kernel build`"
        raise
    make.check_tools()
    with tempfile.TemporaryDirectory(prefix=".build-", dir=cache) as scratch:
        place = Path(scratch) / "result"
        (built,) = _compile(tree, sources, place, cache / f"failed-{digest}.log")
        plugins = [
            _compile_plugin(path, cache / f"failed-{digest}.log") for path in _plugins(place)
        ]
        told = {"kernel": kernel.digest, "sources": {one.name: _sha256(one) for one in sources}}
        (place / "module.json").write_text(json.dumps(told, indent=1, sort_keys=True) + "\n")
        for path in place.iterdir():
            if path not in (built, place / "module.json", *plugins):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        if _find(cache / digest) is None:  # another process may have been faster
            seal.install(place, cache / digest)
    (cache / f"failed-{digest}.log").unlink(missing_ok=True)
    module = _find(cache / digest)
    assert module is not None
    return module


def needed(
    kernel: Kernel, job: dict[str, Any], sources: Iterable[ModuleSource] = ()
) -> tuple[Module, ...]:
    """The drivers of the links of `job` and the modules of its qdiscs' `sources`, built.

    None for most jobs. Raises as `build`.
    """
    folders = [SOURCES / name for name in job.get("drivers", ())]
    return tuple(build(kernel, folder) for folder in (*folders, *(one.folder for one in sources)))


def put(modules: Iterable[Module], job: Path) -> None:
    """Lay `modules` into the folder of a guest's `job`, where the guest loads them from."""
    for module in modules:
        (job / PLACE).mkdir(exist_ok=True)
        for path in (module.path, *module.plugins):
            shutil.copyfile(path, job / PLACE / path.name)


def _sources(folder: Path) -> list[Path]:
    """The files that a module is made of; raises `KernelBuildError` where there is no Kbuild."""
    if not (folder / "Kbuild").is_file():
        raise KernelBuildError(
            what="there is no file Kbuild in it, so it is no module",
            where=str(folder),
            todo="write one: `obj-m := NAME.o`, and NAME.c beside it",
        )
    found = (path for pattern in INPUTS for path in folder.glob(pattern))
    return sorted(path for path in found if path.is_file())


def _digest(kernel: Kernel, sources: list[Path]) -> str:
    total = hashlib.sha256(kernel.identity.encode())
    for path in sources:
        total.update(f"{path.name} {_sha256(path)}\n".encode())
    return total.hexdigest()[:16]


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _find(place: Path) -> Module | None:
    files = list(place.glob("*.ko"))
    if len(files) != 1 or not seal.is_intact(place):
        return None
    return Module(files[0].stem, files[0], place.name, tuple(sorted(place.glob("*.so"))))


def _plugins(place: Path) -> list[Path]:
    return sorted(path for pattern in _PLUGINS for path in place.glob(pattern))


def _compile_plugin(path: Path, kept: Path) -> Path:
    """Make the plugin at `path`; its .so file. What the compiler said goes to `kept`."""
    made = path.with_suffix(".so")
    command = ["gcc", "-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror=implicit"]
    log = path.with_suffix(".log")
    reach = make.reach(path.parent)
    if make.run([*command, "-o", made.name, path.name], path.parent, log, reach=reach):
        shutil.copyfile(log, kept)
        fault = make.first_error(log.read_text()) or "the compiler failed"
        raise KernelBuildError(
            what=f"the plugin {path.name} does not build: {fault}",
            where=str(kept),
            todo="see the log",
        )
    return made


def _compile(tree: Path, sources: list[Path], place: Path, kept: Path) -> list[Path]:
    """Build in `place`; the .ko file. The log of a failure goes to `kept`."""
    place.mkdir()
    for path in sources:
        shutil.copyfile(path, place / path.name)
    log = place.parent / "build.log"
    maps = f"-ffile-prefix-map={place}=. -ffile-prefix-map={tree}=."
    command = ["make", "-C", str(tree), f"M={place}", *make.SETTINGS, f"KCFLAGS={maps}", "modules"]
    status = make.run(command, place, log, reach=make.reach(place, tree))
    built = [path for path in place.glob("*.ko") if path.is_file() and not path.is_symlink()]
    if status or len(built) != 1:
        shutil.copyfile(log, kept)
        fault = make.first_error(log.read_text()) or f"{len(built)} modules came of it, not one"
        raise KernelBuildError(
            what=f"the module does not build: {fault}", where=str(kept), todo="see the log"
        )
    return built
