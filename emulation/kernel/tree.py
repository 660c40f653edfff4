"""A kernel of a tree that somebody works in, compiled anew only where the tree has changed.

The cache keeps a patched copy of the last tree of each series with its objects, in
`trees/<key>/source`. A file is written there when its content differs, so `make` compiles what
depends on it and nothing else, also for another tree of the series. The record of a kernel
identifies the tree by its content, not its commit.
"""

import hashlib
import json
import os
import re
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from qdisclab.emulation.errors import KernelBuildError
from qdisclab.emulation.host.cache import cache_dir, lock
from qdisclab.emulation.kernel import builder, make, recipe as recipes, source as sources
from qdisclab.emulation.kernel.builder import Kernel
from qdisclab.emulation.kernel.make import Progress
from qdisclab.emulation.kernel.recipe import Recipe

#: Folders that no user-mode kernel is made of, but for the files that `_CONFIGURES` names.
_UNUSED = re.compile(r"(Documentation|arch/(?!um/|x86/)[^/]+|drivers/gpu|sound|tools/testing)/")
_CONFIGURES = ("Kconfig", "Makefile", "Kbuild")

#: What a user-mode kernel cannot do without, and what a build inside the tree leaves.
_NEEDED = ("arch/um/Makefile", "arch/x86/um/Makefile")
_BUILT = (".config", "include/config")

_PLAIN = stat.S_IFREG | 0o644

_PATCHED = re.compile(r"^(?:---|\+\+\+) [ab]/(\S+)", re.MULTILINE)

#: Of each file of a tree: its state when it was read last, and the digest of its content.
States = dict[str, tuple[list[int], str]]


def build(
    tree: Path,
    jobs: int | None = None,
    progress: Progress = builder.quiet,
    config: Path | None = None,
) -> Kernel:
    """Return the kernel of `tree`, a checkout or an unpacked source, patched and configured.

    `config` is a file of options besides.
    Files of a checkout that git ignores are left out; those that it does not track are not. Raises
    `MissingTool` and `KernelBuildError`.
    """
    tree, cache = tree.resolve(), cache_dir("kernel")
    release = sources.release(tree)
    recipe = recipes.load(sources.series(release), config)
    _check(tree, cache)
    make.check_tools()
    ingredients = recipes.inputs(recipe, make.compiler_version() or "", make.SETTINGS)
    with lock(cache, lambda: progress("wait for another build", 0)):
        place = cache / "trees" / _key(ingredients)
        place.mkdir(parents=True, exist_ok=True)
        failed = cache / f"failed-{place.name}.log"
        with (
            tempfile.TemporaryDirectory(prefix=".build-", dir=cache) as scratch,
            builder.log_of_failure(Path(scratch), failed) as log,
        ):
            progress("patch", 0)
            patched = _patched(recipe, tree, Path(scratch), log)
            progress("copy", 0)
            names, about = _names(tree), _about(tree)
            about["sha256"] = _update(tree, names, place, patched)
            digest = recipes.digest(about["sha256"], ingredients)
            if (kernel := builder.load(cache / digest)) is not None:
                return kernel
            result = builder.compiled(recipe, place / "source", log, jobs, progress)
            make.show(make.warnings(log, "../", tree), tree)
            content = {"release": release, "source": about, "inputs": ingredients}
            return builder.install(result, cache / digest, content)


def _check(tree: Path, cache: Path) -> None:
    """Raise `KernelBuildError` where `tree` cannot be a user-mode kernel, or not be built there."""
    if lacking := [name for name in _NEEDED if not (tree / name).is_file()]:
        what = f"has no {lacking[0]}, which a user-mode kernel on x86-64 is made of"
        raise KernelBuildError(what, str(tree), "name a tree with all architectures")
    if (tree / ".git").exists():
        listed = _listed(tree, "--cached", "--others", "--", *_NEEDED)
        if ignored := [name for name in _NEEDED if name not in listed]:
            what = f"git ignores {ignored[0]}, which would be left out"
            raise KernelBuildError(what, str(tree), "run `git add -f .` there, and commit")
    built = [name for name in _BUILT if (tree / name).exists()]
    if built and not (tree / ".git").exists():
        what = f"has been built in place ({built[0]}), and old objects would get into the kernel"
        raise KernelBuildError(what, str(tree), "run `make mrproper` there, or name a checkout")
    if not builder.is_buildable(cache):
        what = "has a space or a colon in its path, which the kernel's make refuses"
        raise KernelBuildError(what, str(cache), "set XDG_CACHE_HOME to another folder")


def _key(ingredients: dict[str, Any]) -> str:
    """Return the name of a kept copy. Make does not see that a compiler or profile has changed."""
    parts = [ingredients["compiler"], ingredients.get(recipes.PROFILE)]
    return f"{ingredients['series']}-{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:8]}"


def _about(tree: Path) -> dict[str, Any]:
    """Return what the record of a kernel says of its source: commit, changes, new files."""
    about: dict[str, Any] = {"file": tree.name, "version": "", "known": False}
    if (tree / ".git").exists():
        changes = git(tree, "diff", "HEAD", "--no-ext-diff")
        about["commit"] = git(tree, "rev-parse", "HEAD").strip()
        about["describe"] = git(tree, "describe", "--always", "--tags", "--dirty").strip()
        about["diff_sha256"] = hashlib.sha256(changes.encode()).hexdigest() if changes else ""
        about["untracked"] = sorted(filter(_is_used, _listed(tree, "--others")))
    return about


def git(tree: Path, *words: str) -> str:
    """Return what git prints in a folder; raise `KernelBuildError` with its reason where it
    fails."""
    result = subprocess.run(["git", "-C", tree, *words], capture_output=True, errors="replace")
    if result.returncode:
        what = (result.stderr.strip().splitlines() or ["git failed"])[0]
        raise KernelBuildError(f"git {words[0]}: {what}", str(tree))
    return result.stdout


def _listed(tree: Path, *which: str) -> list[str]:
    names = git(tree, "ls-files", "-z", "--exclude-standard", *which).split("\0")
    return list(filter(None, names))


def _names(tree: Path) -> list[str]:
    """Return the files of `tree` that a kernel can be made of, sorted."""
    if (tree / ".git").exists():
        names: Iterator[str] = iter({*_listed(tree, "--cached"), *_listed(tree, "--others")})
    else:
        walk = os.walk(tree)
        names = (str(Path(top, name).relative_to(tree)) for top, _, files in walk for name in files)
    return sorted(name for name in names if _is_used(name) and _is_file(tree / name))


def _is_file(path: Path) -> bool:
    return path.is_symlink() or path.is_file()  # git lists files that have been removed, too


def _is_used(name: str) -> bool:
    if name.startswith("build/"):  # where the objects are
        return False
    return not _UNUSED.match(name) or name.rpartition("/")[2].startswith(_CONFIGURES)


def _patched(recipe: Recipe, tree: Path, scratch: Path, log: Path) -> dict[str, bytes]:
    """Return the content of the files that the patches change, with all of them applied."""
    texts = (patch.path.read_text(errors="replace") for patch in recipe.patches)
    names = {name for text in texts for name in _PATCHED.findall(text)}
    for name in names:
        if (tree / name).is_file():
            _write(scratch / name, (tree / name).read_bytes(), _PLAIN)
    make.apply_patches(recipe, scratch, log)
    return {name: (scratch / name).read_bytes() for name in names if (scratch / name).is_file()}


def _update(tree: Path, names: list[str], place: Path, patched: dict[str, bytes]) -> str:
    """Make `place/source` what `tree` is with the `patched` files; return the digest of `tree`."""
    memory, source = place / "files.json", place / "source"
    try:
        before = json.loads(memory.read_text())
    except (OSError, ValueError):
        before = {"tree": "", "states": {}, "patched": []}
    old: States = before["states"] if before["tree"] == str(tree) else {}
    new: States = {}
    total = hashlib.sha256()
    for name in names:
        about = (tree / name).lstat()
        state = [about.st_mode, about.st_size, about.st_mtime_ns, about.st_ctime_ns]
        if name in old and old[name][0] == state and name not in before["patched"]:
            new[name] = old[name]
        else:
            content = _content(tree / name)
            new[name] = (state, hashlib.sha256(content).hexdigest())
            if name not in patched:
                _write_if_other(source / name, content, about.st_mode)
        total.update(f"{name}\0{about.st_mode & 0o170100:o}\0{new[name][1]}\n".encode())
    for name, content in patched.items():
        _write_if_other(source / name, content, new[name][0][0] if name in new else _PLAIN)
    for name in {*before["states"], *before["patched"]} - {*new, *patched}:
        (source / name).unlink(missing_ok=True)
    memory.write_text(json.dumps({"tree": str(tree), "states": new, "patched": sorted(patched)}))
    return total.hexdigest()


def _content(path: Path) -> bytes:
    """Return what is in a file, or where a link leads."""
    return bytes(path.readlink()) if path.is_symlink() else path.read_bytes()


def _write_if_other(path: Path, content: bytes, mode: int) -> None:
    """Write `content` unless `path` has it; a file that stays keeps its time, for `make`."""
    if os.path.lexists(path):
        same_kind = stat.S_IFMT(path.lstat().st_mode) == stat.S_IFMT(mode)
        if same_kind and _content(path) == content:
            return
        path.unlink()
    _write(path, content, mode)


def _write(path: Path, content: bytes, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if stat.S_ISLNK(mode):
        path.symlink_to(content.decode())
    else:
        path.write_bytes(content)
        path.chmod(0o755 if mode & 0o100 else 0o644)
