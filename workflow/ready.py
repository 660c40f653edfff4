"""Have the kernel, its modules or the guest's root file system ready, and write down which it is.

`python -m workflow.ready kernel results/setup/kernel-6.12.json --series 6.12` builds what the
user's cache lacks. The file says only what runs depend on, so that the same kernel built again is
no news to what comes after it.
"""

import argparse
import json
import sys
from pathlib import Path

from qdisclab.emulation import kernel
from qdisclab.emulation.errors import KernelBuildError, MissingTool
from qdisclab.emulation.host.storage import command
from qdisclab.emulation.machine import layer, rootfs
from qdisclab.emulation.model.series import DEFAULT_KERNEL


def identity(part: str, series: str | None) -> dict[str, str]:
    """Return what names the kernel (of `series`), the product's modules for it, or the root file
    system, built if it is not there. The default kernel has all modules, others those that fit."""
    if part == "rootfs":
        root = rootfs.build()
        try:
            layer.system(root)  # of commands of the user's, on which no run depends
        except MissingTool as error:
            print(f"left out: {error}", file=sys.stderr)
        return {"digest": root.digest}
    built = kernel.build(series=series)
    if part == "kernel":
        return {"series": built.series, "release": built.release, "digest": built.digest}
    from qdisclab.emulation.kernel import module  # takes more of this package than a kernel does

    digests = {}
    for folder in sorted(path for path in module.SOURCES.iterdir() if path.is_dir()):
        try:
            digests[folder.name] = module.build(built, folder, is_ours=True).digest
        except (KernelBuildError, MissingTool) as error:
            # Some parts of eras are code of the default kernel's; the bundle has none for others.
            if built.series == DEFAULT_KERNEL:
                raise
            print(f"left out for {built.series}: {folder.name}: {error}", file=sys.stderr)
    return digests


@command
def main(arguments: list[str] | None = None) -> int:
    """Build what the command line names; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m workflow.ready", description=__doc__)
    parser.add_argument("part", choices=("kernel", "modules", "rootfs"))
    parser.add_argument("output", type=Path)
    parser.add_argument("--series", help="of the kernel: 6.12")
    given = parser.parse_args(arguments)
    names = identity(given.part, given.series)
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(json.dumps(names, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
