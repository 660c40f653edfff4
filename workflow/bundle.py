"""Pack kernels, their modules and the guest's files as a wheel: `python -m workflow.bundle DIST`.

What the user's cache lacks is built first. `emulation.host.bundle` unpacks it, once installed.
"""

import argparse
import json
import lzma
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from qdisclab.emulation import kernel, project
from qdisclab.emulation.errors import KernelBuildError, MissingTool
from qdisclab.emulation.host import bundle, debs, lock, seal
from qdisclab.emulation.host.digest import sha256
from qdisclab.emulation.host.storage import command
from qdisclab.emulation.kernel import archive, module, recipe
from qdisclab.emulation.machine import layer, rootfs

#: The kernels of all runs that ship.
SERIES = ("6.12", "7.2")

#: Authors and licences of the root file system's packages, which leaves documentation out.
COPYRIGHT = "copyright.txt.xz"

TEMPLATE = project.folder("workflow") / "guest"


def fill(folder: Path) -> None:
    """Write the archives and the list of them into `folder`."""
    entries: dict[str, dict[str, Any]] = {}

    def add(kind: str, name: str, file: Path, **about: Any) -> None:
        entries[f"{kind}/{name}"] = {"file": file.name, "sha256": sha256(file), **about}

    def pack(kind: str, name: str, content: Path, **about: Any) -> None:
        seal.check(content, contents=True)
        file = folder / f"{kind}-{name}.tar.xz"
        bundle.pack(content, file)
        add(kind, name, file, **about)

    kernels, file = [kernel.build(series=series) for series in SERIES], folder / "kernels.tar.xz"
    with tempfile.TemporaryDirectory() as scratch:
        for built in kernels:
            if archive.pack(built, Path(scratch) / "kernel.tar.gz") not in recipe.packed():
                what = "is not the one of KERNEL.toml, which everybody who builds it gets"
                todo = (
                    "remove that folder, or name another cache in XDG_CACHE_HOME: it is then "
                    "built again"
                )
                raise KernelBuildError(what, str(built.path.parent), todo)
    archive.pack(kernels[0], file, *kernels[1:])
    for built in kernels:
        series = built.series
        add("kernel", series, file, release=built.release)
        for source in sorted(path for path in module.SOURCES.iterdir() if path.is_dir()):
            try:
                made = module.build(built, source, is_ours=True)
            except KernelBuildError as error:  # some are for one series
                print(f"left out for {series}: {source.name}: {error}", file=sys.stderr)
            else:
                pack("module", made.digest, made.folder, source=source.name, series=series)
    root = rootfs.build()
    pack("rootfs", root.digest, root.path)
    system = layer.system(root)
    about = {"digest": system.digest, "packages": system.packages}
    pack("layer", layer.key(root, layer.locked()), system.path, **about)
    with lzma.open(folder / COPYRIGHT, "wt", preset=9, encoding="utf-8") as packed:
        packed.write(copyrights())
    text = json.dumps({"machine": bundle.MACHINE, "entries": entries}, indent=1, sort_keys=True)
    (folder / bundle.MANIFEST).write_text(text + "\n")


def copyrights() -> str:
    """Return what the packages of the root file system say of their licences, each text once."""
    pinned, packages = lock.load(), defaultdict[str, list[str]](list)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if lacking := pinned.sources().fetch(pinned.guest, folder):
            what = f"no source has {len(lacking)} packages, the first {lacking[0]}"
            raise MissingTool(what, todo=f"name a folder or mirror in {debs.PLACE}")
        for deb in pinned.guest:
            packages[debs.copyright(folder / deb.file)].append(str(deb))
    packages["As another package of the same source.\n"] = packages.pop("", [])
    return "\n".join(
        f"{'=' * 80}\n{', '.join(names)}\n\n{text}" for text, names in packages.items() if names
    )


@command
def main(arguments: list[str] | None = None) -> int:
    """Write the wheel into the folder that the command line names; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m workflow.bundle", description=__doc__)
    parser.add_argument("dist", type=Path, help="folder of the wheel")
    dist = parser.parse_args(arguments).dist
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch) / "guest"
        shutil.copytree(TEMPLATE, place)
        licence = project.folder("LICENSES") / "GPL-2.0-only.txt"
        shutil.copy(licence, place / licence.name)
        fill(place / bundle.PACKAGE)
        command = [sys.executable, "-m", "build", "--wheel", "--no-isolation"]
        return subprocess.run([*command, "--outdir", str(dist), str(place)]).returncode


if __name__ == "__main__":
    sys.exit(main())
