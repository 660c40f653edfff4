"""Modules of Linux itself, from the source of the kernel that they are built against.

The base kernel stays as it is: a qdisc or a congestion control that its options leave out is built
as a module for runs that use it, and is part of their identity alone.
"""

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from qdisclab.emulation.errors import KernelBuildError
from qdisclab.emulation.host import seal
from qdisclab.emulation.host.cache import cache_dir, lock
from qdisclab.emulation.kernel import builder, recipe as recipes, source
from qdisclab.emulation.kernel.source import KernelSource

#: Folders of the source whose files can become modules; each is read once and kept in the cache.
FOLDERS = ("net/sched", "net/ipv4")

#: What Linux links to several modules lies in each, and no other sees its names.
_SHARED = dict.fromkeys(("sch_mqprio", "sch_taprio"), "sch_mqprio_lib.c")
_UNSEEN = "#undef EXPORT_SYMBOL_GPL\n#define EXPORT_SYMBOL_GPL(name)\n"

_LOCAL = re.compile(r'^#include "(\w+\.h)"$', re.MULTILINE)


@contextmanager
def folder(kernel: builder.Kernel, path: str) -> Iterator[Path]:
    """Give a folder with a module's file, such as net/sched/sch_skbprio.c, and a Kbuild for it.

    Raises `KernelBuildError` where the kernel's source does not have the file, or a patch of the
    kernel changes it.
    """
    for patch in recipes.load(kernel.series).patches:
        if f"+++ b/{path}\n" in patch.path.read_text(errors="replace"):
            what = f"{path} cannot be a module: {patch.path.parent.name}/{patch.name} changes it"
            raise KernelBuildError(what, kernel.series, "build it into the kernel")
    tree = _tree(kernel)
    if not (tree / path).is_file():
        what = f"Linux {kernel.release} has no {path}"
        raise KernelBuildError(what, kernel.series, "choose another kernel")
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        file = place / Path(path).name
        shutil.copyfile(tree / path, file)
        kbuild = f"obj-m := {file.stem}.o\n"
        if shared := _SHARED.get(file.stem):
            library = (tree / path).with_name(shared)
            file.write_text(file.read_text() + _UNSEEN + library.read_text())
            kbuild += f"ccflags-y := -DCONFIG_NET_{file.stem.upper()}_MODULE=1\n"
        for header in _LOCAL.findall(file.read_text(errors="replace")):
            shutil.copyfile((tree / path).with_name(header), place / header)
        (place / "Kbuild").write_text(kbuild)
        yield place


def _tree(kernel: builder.Kernel) -> Path:
    """Return the `FOLDERS` of a kernel's source, from the cache or unpacked."""
    digest = kernel.provenance["source"]["sha256"]
    cache = cache_dir("kernel") / "in-tree"
    cache.mkdir(exist_ok=True)
    place = cache / digest[:16]
    with lock(cache):
        if not seal.is_intact(place):
            with tempfile.TemporaryDirectory(prefix=".unpack-", dir=cache) as scratch:
                seal.install(source.unpack(_package(kernel, digest), Path(scratch), FOLDERS), place)
    return Path(place)


def _package(kernel: builder.Kernel, digest: str) -> KernelSource:
    """Return the source that a kernel was built from."""
    folder = cache_dir("kernel") / "sources"
    path = folder / str(kernel.provenance["source"]["file"])
    origin = recipes.load(kernel.series).origin
    if path.is_file() or origin is None:
        package = source.of_file(path)
    else:
        package = source.fetch(origin, folder)
    if package.sha256 != digest:
        what = f"the kernel was built from {path.name} with the digest {digest[:16]}"
        raise KernelBuildError(what, str(package.path), f"put that file into {folder}")
    return package
