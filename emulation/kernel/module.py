"""Kernel modules, the product's or the user's, built against a kernel of the cache.

A module is a folder with C files and a `Kbuild` file that names it (`obj-m := NAME.o`): the link
drivers in `qdisc/src`, or a qdisc that somebody is writing. It is built once per kernel and
sources, in a folder of the user's cache that is named by the digest of both. A file `q_<kind>.c`
in it is a plugin that teaches the options of a qdisc to `tc`, and becomes `q_<kind>.so`; likewise,
`preload_<name>.c` becomes a library for the guest's first process. Folders of `plugged`
kinds have a plugin and no module.
"""

import hashlib
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qdisclab.emulation import datafile
from qdisclab.emulation.errors import DamagedCache, KernelBuildError
from qdisclab.emulation.host import bundle, confine, seal
from qdisclab.emulation.host.cache import cache_dir, lock
from qdisclab.emulation.host.digest import sha256
from qdisclab.emulation.kernel import intree, make, recipe
from qdisclab.emulation.kernel.builder import Kernel
from qdisclab.emulation.kinds import qdiscs
from qdisclab.emulation.model.qdisc import INPUTS, ModuleSource
from qdisclab.emulation.model.series import DEFAULT_KERNEL

#: Where the product's own modules are, one folder each.
SOURCES = recipe.RECIPE_DIR / "src"

#: Where the guest finds modules, below the folder of its job.
PLACE = "modules"

_NAMED = re.compile(r"^obj-m\s*[:+]?=\s*([\w-]+)\.o\s*$", re.MULTILINE)
KBUILD = "Kbuild"
_PLUGINS = ("q_*.c", "preload_*.c")


@dataclass(frozen=True)
class Module:
    """A built module."""

    name: str  # as the guest's kernel calls it; that of the folder if there is a plugin alone
    path: Path | None  # the .ko file
    digest: str  # of its sources and the kernel; the name of its folder
    plugins: tuple[Path, ...] = ()  # of tc and of the first process: .so files

    @property
    def folder(self) -> Path:
        """Return the folder of the cache that has it."""
        return (self.path or self.plugins[0]).parent


def source(folder: Path) -> ModuleSource:
    """Return the name and sources of the module in `folder`.

    Raises `KernelBuildError` if there is no module in it.
    """
    digest = _digest(None, _sources(folder))
    if _is_plugged(folder):
        return ModuleSource(folder.name, folder, digest, plugin=True)
    todo = "write one line `obj-m := NAME.o`"
    text = datafile.read(folder / KBUILD, todo=todo).decode(errors="replace")
    named = _NAMED.findall(text)
    if len(named) != 1:
        what = f"it names {len(named)} modules instead of 1"
        raise KernelBuildError(what, str(folder / KBUILD), todo)
    return ModuleSource(named[0].replace("-", "_"), folder, digest)


def build(kernel: Kernel, folder: Path, cache: Path | None = None, is_ours: bool = False) -> Module:
    """Return the module in `folder`, built against `kernel` if the cache lacks it.

    Raises `KernelBuildError` if the folder has no module, the kernel was not kept for modules or
    the compiler finds an error, and `MissingTool`. A failed build leaves nothing but its log.
    `is_ours` says that the sources are neither a stranger's nor the user's: their warnings are not
    shown.
    """
    if not (is_ours or folder.resolve().is_relative_to(SOURCES)):
        confine.require()
    sources = _sources(folder)
    digest = _digest(kernel, sources)
    cache = cache or cache_dir("module")
    if cached := _find(cache / digest, folder):
        return cached
    if (packed := bundle.entry("module", digest)) is not None:
        return _install(packed.install, cache / digest, folder)
    tree = kernel.path.parent / "build"
    if not tree.is_dir():
        what = "this kernel has no files to build modules against"
        todo = "remove that folder and run `emulate kernel build`"
        raise KernelBuildError(what, str(kernel.path.parent), todo)
    try:
        seal.check(tree)
    except DamagedCache as error:
        error.todo = f"remove {tree.parent} (chmod -R u+w first) and run `emulate kernel build`"
        raise
    make.check_tools()
    failed_log = cache / f"failed-{digest}.log"
    with tempfile.TemporaryDirectory(prefix=".build-", dir=cache) as scratch:
        place = Path(scratch) / "result"
        built = _compile(kernel, sources, place, failed_log)
        paths = (path for pattern in _PLUGINS for path in place.glob(pattern))
        plugins = [_compile_plugin(path, failed_log) for path in sorted(paths)]
        warnings = make.warnings(Path(scratch) / "build.log", f"{place}/", folder)
        for plugin in plugins:
            warnings += make.warnings(plugin.with_suffix(".log"), "", folder)
        for path in place.iterdir():
            if path not in (*built, *plugins):
                shutil.rmtree(path) if path.is_dir() else path.unlink()

        def install(target: Path) -> None:
            seal.install(place, target)
            make.show([] if is_ours else warnings, folder)

        module = _install(install, cache / digest, folder)
    failed_log.unlink(missing_ok=True)
    return module


def _install(install: Callable[[Path], None], place: Path, folder: Path) -> Module:
    """Return the module of `folder` that `install` brings to its `place` in the cache."""
    with lock(place.parent):
        if _find(place, folder) is None:  # another process may have been faster
            install(place)
    module = _find(place, folder)
    assert module is not None
    return module


def needed(
    kernel: Kernel, job: dict[str, Any], sources: Iterable[ModuleSource] = ()
) -> tuple[Module, ...]:
    """Build the drivers of the links of `job` and the modules of its qdiscs' `sources`.

    Most jobs need none. Raises what `build` raises, and `KernelBuildError` for a module that cannot
    register a congestion control that it was named for.
    """
    drivers = [build(kernel, SOURCES / name) for name in job.get("drivers", ())]
    return (*drivers, *(_built(kernel, source) for source in sources))


def _built(kernel: Kernel, source: ModuleSource) -> Module:
    """Return the module of `source`, in which the names of its congestion controls have to be."""
    if source.linux:
        with intree.folder(kernel, source.linux) as folder:
            module = build(kernel, folder, is_ours=True)
    else:
        try:
            module = build(kernel, source.folder)
        except KernelBuildError as error:
            if source.folder.resolve().parent == SOURCES and kernel.series != DEFAULT_KERNEL:
                error.todo = f"choose another era, or the kernel {DEFAULT_KERNEL}; {error.todo}"
            raise
    text = module.path.read_bytes() if module.path else b""
    for name in source.controls:
        if f"{name}\0".encode() not in text:
            what = f"registers no congestion control '{name}'"
            todo = "call it as its struct tcp_congestion_ops does, under `controls:` and by --cc"
            raise KernelBuildError(what, str(source.folder), todo)
    return module


def put(modules: Iterable[Module], job: Path) -> None:
    """Copy `modules` into the folder of a guest's `job`, from which the guest loads them."""
    for module in modules:
        (job / PLACE).mkdir(exist_ok=True)
        for path in (module.path, *module.plugins):
            if path is not None:
                shutil.copyfile(path, job / PLACE / path.name)


def _sources(folder: Path) -> list[Path]:
    """Return the files that a module is made of; raise `KernelBuildError` where there is none."""
    if not (folder / KBUILD).is_file() and not _is_plugged(folder):
        what = "there is no file Kbuild in it, so it is not a module"
        todo = "write one: `obj-m := NAME.o`, and NAME.c next to it"
        raise KernelBuildError(what, str(folder), todo)
    paths = (path for pattern in INPUTS for path in folder.glob(pattern))
    return sorted(path for path in paths if path.is_file())


def _digest(kernel: Kernel | None, sources: list[Path]) -> str:
    total = hashlib.sha256(kernel.identity.encode() if kernel else b"")
    for path in sources:
        total.update(f"{path.name} {sha256(path)}\n".encode())
    return total.hexdigest()[:16]


def _find(place: Path, folder: Path) -> Module | None:
    """Return the module in `place` of the cache, built from `folder`, if it is whole."""
    files, plugins = list(place.glob("*.ko")), tuple(sorted(place.glob("*.so")))
    if len(files) != (not _is_plugged(folder)) or not seal.is_intact(place):
        return None
    if not files:
        return Module(folder.name, None, place.name, plugins)
    return Module(files[0].stem, files[0], place.name, plugins)


def _is_plugged(folder: Path) -> bool:
    """Return whether `folder` has the plugin for a qdisc of the kernel, and no module."""
    kind = qdiscs.KINDS.get(folder.name)
    return kind is not None and kind.needs_plugin and folder.resolve().parent == SOURCES


def _compile_plugin(path: Path, failed_log: Path) -> Path:
    """Compile the plugin at `path` and return its .so file; on failure leave the `failed_log`."""
    made = path.with_suffix(".so")
    command = ["gcc", "-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror=implicit"]
    log = path.with_suffix(".log")
    reach = make.reach(path.parent)
    if make.run([*command, "-o", made.name, path.name], path.parent, log, reach=reach):
        shutil.copyfile(log, failed_log)
        fault = make.first_error(log.read_text()) or "the compiler failed"
        what = f"the plugin {path.name} does not build: {fault}"
        raise KernelBuildError(what, str(failed_log), "see the log")
    return made


def _compile(kernel: Kernel, sources: list[Path], place: Path, failed_log: Path) -> list[Path]:
    """Build the module in `place` and return its .ko file; on failure leave the `failed_log`.

    Without a Kbuild there is nothing to build.
    """
    tree = kernel.path.parent / "build"
    place.mkdir()
    for path in sources:
        shutil.copyfile(path, place / path.name)
    if not (place / KBUILD).is_file():
        return []
    log = place.parent / "build.log"
    maps = f"-ffile-prefix-map={place}=. -ffile-prefix-map={tree}=."
    command = ["make", "-C", str(tree), f"M={place}", *make.SETTINGS, f"KCFLAGS={maps}", "modules"]
    status = make.run(command, place, log, reach=make.reach(place, tree))
    built = [path for path in place.glob("*.ko") if path.is_file() and not path.is_symlink()]
    if status or len(built) != 1:
        shutil.copyfile(log, failed_log)
        fault = make.first_error(log.read_text()) or f"it made {len(built)} modules instead of 1"
        fault = fault.replace(f"{place}/", "")  # a copy, which is gone by now
        what = f"does not build for Linux {kernel.release}: {fault}"
        raise KernelBuildError(what, str(sources[0].parent), f"see {failed_log}")
    return built
