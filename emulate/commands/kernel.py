"""`emulate kernel`: build one, list those built, pack one as a file and fetch it."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from qdisclab.emulate.arguments import positive
from qdisclab.emulate.kernels import named, shown_progress
from qdisclab.emulation import kernel
from qdisclab.emulation.errors import ConfigError, KernelBuildError
from qdisclab.emulation.host.terminal import note
from qdisclab.emulation.kernel import archive, module, tree
from qdisclab.emulation.kernel.recipe import OWN
from qdisclab.emulation.model.series import DEFAULT_KERNEL


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the actions of `emulate kernel`."""
    listed = f"{', '.join(kernel.all_series())} (default: {DEFAULT_KERNEL})"
    actions = parser.add_subparsers(dest="action", required=True)
    build = actions.add_parser("build", help="build a kernel, if the cache lacks it")
    build.add_argument("--series", help=f"series of releases: {listed}")
    build.add_argument("--source", type=Path, help="a tarball or .deb instead of Debian's package")
    build.add_argument(
        "--tree",
        type=Path,
        help="a checkout of Linux, or an unpacked source, as it is now; only what it changes is "
        "compiled",
    )
    build.add_argument(
        "--config", type=Path, help="a file of additional options, e.g. CONFIG_SYN_COOKIES=y"
    )
    build.add_argument("--jobs", type=positive, help="processes (default: one per processor)")
    build.add_argument("--keep-source", action="store_true", help="keep the patched source")
    build.add_argument("--json", action="store_true", help="print what went into the kernel")
    own = actions.add_parser("module", help="build a module, e.g. your own qdisc")
    own.add_argument("folder", type=Path, help="folder with its C files and its Kbuild")
    own.add_argument("--series", help=f"series of the kernel to build it for: {listed}")
    pack = actions.add_parser("pack", help="write a kernel as one file, and print its SHA-256")
    pack.add_argument("file", type=Path, help="the file to write, e.g. kernel.tar.gz")
    pack.add_argument("--series", help=f"series of the kernel: {listed}")
    fetch = actions.add_parser("fetch", help="use a kernel that somebody else has built and packed")
    fetch.add_argument("place", metavar="URL|FILE", help="where the packed kernel is")
    fetch.add_argument(
        "--sha256",
        help="digest of the file, from somebody whom you trust as its builder (default: from "
        "KERNEL.toml)",
    )
    listing = actions.add_parser("list", help="list the kernels in the cache")
    listing.add_argument("--json", action="store_true", help="print what went into each")


def run(args: argparse.Namespace) -> int:
    """Build, list, pack or fetch a kernel, and return the exit status."""
    if args.action == "build":
        built = _build(args)
        if args.tree or args.config:
            note(f"--kernel {built.digest} uses it")
        print(json.dumps(_record(built), indent=2) if args.json else built.path)
        return 0
    if args.action == "pack":
        print(f"{archive.pack(named(args.series), args.file)}  {args.file}")
        return 0
    if args.action == "fetch":
        print(archive.fetch(args.place, args.sha256).path)
        return 0
    if args.action == "module":
        made = module.build(named(args.series), args.folder)
        print(*(path for path in (made.path, *made.plugins) if path is not None), sep="\n")
        return 0
    kernels = kernel.kernels()
    if args.json:
        print(json.dumps([_record(built) for built in kernels], indent=2))
        return 0
    current = set()
    for series in kernel.all_series():
        try:
            newest = kernel.find(series)
        except KernelBuildError as error:  # a recipe of the user's own, maybe half-written
            note(f"{series}: {error}")
        else:
            current |= {newest.digest} if newest else set()
    for built in kernels:
        mark = "current" if built.digest in current else "-"
        mark = built.provenance["source"].get("describe") or mark
        mark += " with options" if OWN in built.provenance["inputs"] else ""
        print(f"{built.series:6} {built.release:12} {built.digest} {mark:8} {built.path}")
    if not kernels:
        print("no kernel yet: emulate kernel build", file=sys.stderr)
    return 0


def _build(args: argparse.Namespace) -> kernel.Kernel:
    if args.tree and (args.series or args.source or args.keep_source):
        what = "has its own series and source"
        raise ConfigError(what, "--tree", "leave out --series, --source and --keep-source")
    with shown_progress() as progress:
        if args.tree:
            return tree.build(args.tree, args.jobs, progress, config=args.config)
        built = kernel.build(
            series=args.series,
            source=args.source,
            jobs=args.jobs,
            progress=progress,
            keep_source=args.keep_source,
            config=args.config,
        )
    source = built.provenance["source"]
    if source["version"] and not source["known"]:
        note(
            f"{source['file']} is not among the known versions of KERNEL.toml; its digest "
            f"{source['sha256']} is recorded with the kernel"
        )
    return built


def _record(built: kernel.Kernel) -> dict[str, Any]:
    names = {"path": str(built.path), "digest": built.digest, "series": built.series}
    return {**names, **built.provenance}
