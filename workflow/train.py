"""Count the branches of the kernel under load, for the compiler.

    python -m workflow.train 6.12

builds the kernel with `qdisc/profile/training.patch`, runs RRUL on it, and packs what it counted
as a `.tar.xz` there, named after the series and the compiler. Builds with that release of gcc read
it from then on, others go without. Kernels that differ in their profile alone have one identity and
give the same bytes.

Make the counts anew when a patch changes code that matters under load: the compiler leaves out
those of functions that changed. The kernel that counts writes beside its objects, so it runs
outside of the wall that other guests have.
"""

import argparse
import os
import sys
import tarfile
import tempfile
from dataclasses import replace
from pathlib import Path

from qdisclab.emulation.checks import bench
from qdisclab.emulation.errors import KernelBuildError
from qdisclab.emulation.host import confine
from qdisclab.emulation.host.cache import cache_dir
from qdisclab.emulation.host.storage import command
from qdisclab.emulation.kernel import make, recipe as recipes, source as sources
from qdisclab.emulation.machine import rootfs

PATCH = "training.patch"
SCENARIOS = ("rrul-10", "rrul-100", "rrul-40-3")
LENGTH_S = 20.0


def pack(counts: Path, archive: Path) -> int:
    """Pack the .gcda files below `counts`; return how many. The same counts make the same bytes."""
    files = sorted(counts.rglob("*.gcda"))
    with tarfile.open(archive, "w:xz", preset=9, format=tarfile.USTAR_FORMAT) as packed:
        for path in files:
            member = tarfile.TarInfo(path.relative_to(counts).as_posix())
            member.size = path.stat().st_size
            with path.open("rb") as content:
                packed.addfile(member, content)
    return len(files)


def train(series: str, folder: Path, archive: Path) -> int:
    """Build the kernel that counts in `folder`, run it, and pack what it counted."""
    make.check_tools()
    recipe = recipes.load(series)
    patch = recipes.RECIPE_DIR / "profile" / PATCH
    recipe = replace(
        recipe, patches=(*recipe.patches, recipes.Patch(PATCH, patch, "")), profiles={}
    )
    if recipe.origin is None:
        raise KernelBuildError(f"no source is known for {series}", "KERNEL.toml", "add one")
    source = sources.fetch(recipe.origin, cache_dir("kernel") / "sources")
    tree, log = sources.unpack(source, folder), folder / "build.log"
    make.apply_patches(recipe, tree, log)
    make.configure(recipe, tree, log)
    make.compile_tree(recipe, tree, log, None, lambda step, done: None)
    os.environ[confine.VARIABLE] = confine.Wall.NONE.value
    kernel = bench.find_kernel(str(tree / "build" / "linux"))
    for scenario in bench.scenarios(list(SCENARIOS)):
        bench.measure(scenario, LENGTH_S, kernel, rootfs.build())
    return pack(tree / "build", archive)


@command
def main() -> int:
    """Make the profile of one series."""
    about = __doc__.splitlines()[0]
    parser = argparse.ArgumentParser("python -m workflow.train", description=about)
    parser.add_argument("series", help="of kernels, as 6.12")
    series = parser.parse_args().series
    release = recipes.major(make.compiler_version() or "")
    archive = recipes.RECIPE_DIR / "profile" / f"{series}-gcc-{release}.tar.xz"
    if not release:
        raise KernelBuildError("its release is not known", "gcc", "install gcc")
    with tempfile.TemporaryDirectory() as folder:
        count = train(series, Path(folder), archive)
    print(f"{archive}: {count} files, {archive.stat().st_size / 1024:.0f} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
