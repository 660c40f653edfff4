"""Build a kernel from a source and a recipe, and store it in the user's cache.

The cache has one folder per kernel, named by the digest of all its inputs, with `linux`, `config`,
`build.log`, `kernel.json` and, if it takes modules, `build/`, against which modules are built. The
folder is made elsewhere and renamed into place whole.
"""

import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qdisclab.emulation.errors import DamagedCache, KernelBuildError
from qdisclab.emulation.host import bundle, seal, storage
from qdisclab.emulation.host.cache import cache_dir, lock
from qdisclab.emulation.host.digest import sha256
from qdisclab.emulation.kernel import make, recipe as recipes, source as sources
from qdisclab.emulation.kernel.make import Progress
from qdisclab.emulation.kernel.recipe import Recipe
from qdisclab.emulation.kernel.source import KernelSource
from qdisclab.emulation.model.series import DEFAULT_KERNEL

#: The option, and its value, of a kernel that takes modules.
MODULES = ("CONFIG_MODULES", "y")

#: What the record of a kernel says of the checkout that it was made of.
_OF_TREE = ("commit", "describe", "diff_sha256", "untracked")

#: What `kernel.json` has of files of the kernel: digest -> file.
FILES = {"full_config_sha256": "config", "binary_sha256": "linux"}

_DIGEST = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True)
class Kernel:
    """A built kernel."""

    path: Path  # the executable
    digest: str  # of all its inputs; the name of its folder
    release: str  # such as 6.12.117
    series: str  # such as 6.12
    provenance: dict[str, Any]  # the content of kernel.json

    @property
    def identity(self) -> str:
        """Return a digest of what can affect results: where it is equal, so are the bytes."""
        if not self.provenance:
            return self.digest
        return recipes.identity(self.provenance["source"]["sha256"], self.provenance["inputs"])

    @property
    def tree(self) -> dict[str, Any]:
        """Return the state of the checkout that it was built from, for records; {} if of none."""
        source = self.provenance.get("source", {})
        return {name: source[name] for name in _OF_TREE if name in source}


def quiet(step: str, done: float) -> None:
    """Show no progress."""


def load(folder: Path) -> Kernel | None:
    """Return the kernel in the folder of a cache if it is whole, else None."""
    kernel = _recorded(folder)
    return kernel if kernel and _is_whole(kernel) else None


def _recorded(folder: Path) -> Kernel | None:
    """Return the kernel of the record in `folder`, whole or not; None without a record."""
    try:
        provenance = json.loads((folder / "kernel.json").read_text())
        release, series = provenance["release"], provenance["inputs"]["series"]
    except (OSError, ValueError, KeyError):
        return None
    return Kernel(folder / "linux", folder.name, release, series, provenance)


def _is_whole(kernel: Kernel) -> bool:
    try:
        return bool(sha256(kernel.path) == kernel.provenance["binary_sha256"])
    except (OSError, KeyError):
        return False


def check(binary: Path) -> None:
    """Raise `DamagedCache` if `binary` is a kernel of the cache and not the one that was built."""
    if (kernel := _recorded(binary.parent)) and not _is_whole(kernel):
        todo = "run it again: it is then built again"
        raise DamagedCache("is not as it was built", str(binary), todo)


def kernels() -> tuple[Kernel, ...]:
    """Return all kernels in the cache, sorted by release."""
    return tuple(filter(_is_whole, _all()))


def _all() -> list[Kernel]:
    """Return all kernels that have a record in the cache, whole or not, sorted by release."""
    kernels = [_recorded(path.parent) for path in cache_dir("kernel").glob("[0-9a-f]*/kernel.json")]
    return sorted((kernel for kernel in kernels if kernel), key=_age)


def _age(kernel: Kernel) -> tuple[list[int], str]:
    return [int(number) for number in re.findall(r"\d+", kernel.release)], kernel.digest


def named(name: str, progress: Progress = quiet) -> Kernel:
    """Return the kernel of a series, built if the cache lacks it, or the kernel with a digest.

    Raises `KernelBuildError` if no kernel in the cache has that digest.
    """
    if not _DIGEST.fullmatch(name):
        return build(series=name, progress=progress)
    if (kernel := load(cache_dir("kernel") / name)) is not None:
        return kernel
    what = f"no kernel '{name}' is in the cache"
    todo = "`emulate kernel list` shows what is"
    raise KernelBuildError(what, str(cache_dir("kernel")), todo)


def check_named(name: str) -> None:
    """Raise `KernelBuildError` where `named` would neither find a kernel nor know its source."""
    if _DIGEST.fullmatch(name):
        named(name)
    elif name not in recipes.all_series() and find(name) is None:
        raise _no_source(name)


def find(series: str = DEFAULT_KERNEL) -> Kernel | None:
    """Return the newest kernel in the cache that was built from today's recipe, or None.

    On a machine without a compiler, a kernel of any compiler is accepted; so is one that was
    fetched.
    """
    return _find(recipes.load(series), None)


def _find(recipe: Recipe, source: KernelSource | None) -> Kernel | None:
    compiler = make.compiler_version()
    for kernel in reversed(_all()):
        inputs = kernel.provenance["inputs"]
        builder = None if "fetched" in kernel.provenance else compiler
        expected = recipes.inputs(recipe, builder or inputs["compiler"], make.SETTINGS)
        origin = kernel.provenance["source"]
        if source is not None:
            wanted = origin["sha256"] == source.sha256
        else:
            wanted = bool(origin["version"]) or recipe.origin is None
        if wanted and inputs == expected and _is_whole(kernel):
            return kernel
    return None


def build(
    series: str | None = None,
    source: Path | None = None,
    jobs: int | None = None,
    progress: Progress = quiet,
    keep_source: bool = False,
    config: Path | None = None,
) -> Kernel:
    """Return the kernel of `series` (`6.12`), built with `jobs` processes if the cache lacks it.

    `source` is a tarball or .deb to use instead of the package of KERNEL.toml, and `config` a file
    of options besides. Raises `MissingTool`
    and `KernelBuildError`; a build that fails or is interrupted leaves no kernel.
    """
    bundle.check_machine()
    recipe = recipes.load(DEFAULT_KERNEL if series is None else series, config)
    given = sources.of_file(source) if source else None
    cached = _find(recipe, given)
    if cached and not keep_source:
        return cached
    if given is None and recipe.origin is None:
        raise _no_source(recipe.series)
    plain = not (keep_source or recipe.own)
    if given is None and plain and (packed := bundle.entry("kernel", recipe.series)):
        from qdisclab.emulation.kernel import archive  # which takes this module

        packed.check()
        try:
            origin = str(packed.archive)
            return archive.fetch(origin, packed.sha256, f"{recipe.series}/")
        except KernelBuildError as error:
            raise bundle.outdated(f"kernel of {recipe.series}") from error
    make.check_tools()
    cache = cache_dir("kernel")
    with lock(cache, lambda: progress("wait for another build", 0)):
        cached = _find(recipe, given)  # another process may have built it while we waited
        if cached and not keep_source:
            return cached
        if given is None:
            assert recipe.origin is not None
            progress("fetch", 0)
            given = sources.fetch(recipe.origin, cache / "sources")
        for stale in cache.glob(".build-*"):  # killed before it could clean up
            storage.remove(stale)
        place = cache if is_buildable(cache) else None  # else the temporary folder
        with tempfile.TemporaryDirectory(prefix=".build-", dir=place) as scratch:
            return _build(recipe, given, Path(scratch), cache, jobs, progress, keep_source)


def _no_source(series: str) -> KernelBuildError:
    todo = f"choose from {', '.join(recipes.all_series())}, or build it from a tarball:"
    todo += f" emulate kernel build --series {series} --source FILE"
    return KernelBuildError(f"no source is known for {series}", "KERNEL.toml", todo)


def is_buildable(folder: Path) -> bool:
    """Return whether the kernel's make accepts the path of `folder`."""
    return re.search(r"[\s:]", str(folder)) is None


def _build(
    recipe: Recipe,
    source: KernelSource,
    scratch: Path,
    cache: Path,
    jobs: int | None,
    progress: Progress,
    keep_source: bool,
) -> Kernel:
    progress("unpack", 0)
    tree = sources.unpack(source, scratch)
    release = sources.release(tree)
    if sources.series(release) != recipe.series:
        what = f"is the source of {release}, not of {recipe.series}"
        todo = f"build it with --series {sources.series(release)}"
        raise KernelBuildError(what, str(source.path), todo)
    ingredients = recipes.inputs(recipe, make.compiler_version() or "", make.SETTINGS)
    digest = recipes.digest(source.sha256, ingredients)
    with log_of_failure(scratch, cache / f"failed-{digest}.log") as log:
        progress("patch", 0)
        make.apply_patches(recipe, tree, log)
        result = compiled(recipe, tree, log, jobs, progress)
    about: dict[str, Any] = {"file": source.path.name, "version": source.version}
    about |= {"sha256": source.sha256, "known": source.known}
    if keep_source:
        shutil.rmtree(tree / "build")
        tree.rename(result / "source")
    content = {"release": release, "source": about, "inputs": ingredients}
    return install(result, cache / digest, content)


@contextmanager
def log_of_failure(scratch: Path, copy: Path) -> Iterator[Path]:
    """Yield the log of a build in `scratch`, kept where it fails as `copy`, which the error then
    names."""
    log = scratch / "build.log"
    try:
        yield log
    except KernelBuildError as error:
        if log.exists():
            shutil.copy(log, copy)
            error.where = str(copy)
        raise
    copy.unlink(missing_ok=True)


def compiled(recipe: Recipe, tree: Path, log: Path, jobs: int | None, progress: Progress) -> Path:
    """Configure and compile the patched `tree`; return a folder beside the `log` with what is
    kept."""
    progress("configure", 0)
    make.configure(recipe, tree, log)
    make.compile_tree(recipe, tree, log, jobs, progress)
    result = log.with_name("result")
    result.mkdir()
    if any((option.name, option.value) == MODULES for option in recipe.options):
        make.keep_for_modules(tree, result / "build", log)
    shutil.copy(tree / "build/linux", result / "linux")
    shutil.copy(tree / "build/.config", result / "config")
    shutil.copy(log, result / "build.log")
    return result


def install(result: Path, place: Path, provenance: dict[str, Any]) -> Kernel:
    """Seal the folder `result`, move it to `place`, whole, and return the kernel there.

    `kernel.json` has its `provenance` and the digests of its files.
    """
    for name, file in FILES.items():
        provenance[name] = sha256(result / file)
    (result / "kernel.json").write_text(json.dumps(provenance, indent=2) + "\n")
    for path in result.iterdir():
        if path.is_file():
            path.chmod(0o555 if path.name == "linux" else 0o444)
    if (result / "build").is_dir():
        seal.seal(result / "build")
    storage.remove(place)  # damaged, or built again for its source
    if result.is_relative_to(place.parent):
        result.rename(place)
    else:
        with tempfile.TemporaryDirectory(prefix=".build-", dir=place.parent) as near:
            shutil.copytree(result, Path(near) / "result", symlinks=True)
            (Path(near) / "result").rename(place)
    kernel = load(place)
    assert kernel is not None
    return kernel
