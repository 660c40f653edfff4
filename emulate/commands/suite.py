"""`emulate suite TEST…`: packetdrill's tests and the kernel's own, in virtual time.

Run tests that others wrote, each in its own network namespace and starting at its own virtual
second: packetdrill's (.pkt, or a folder of them), tdc's (.json), and programs that print TAP or end
with a status, like the kernel's selftests. A test that hangs is ended, and the others go on. Exit
status: 0 if none fails, 1 if one does.
"""

import argparse
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

from qdisclab.emulate.arguments import add_commands, kernel_name, memory, seconds
from qdisclab.emulate.kernels import named
from qdisclab.emulation.errors import ConfigError, printable
from qdisclab.emulation.host.cache import cache_dir
from qdisclab.emulation.host.terminal import warn
from qdisclab.emulation.machine import layer, rootfs, vm
from qdisclab.emulation.model.series import DEFAULT_KERNEL
from qdisclab.emulation.model.units import Duration
from qdisclab.emulation.programs import instructions
from qdisclab.emulation.programs.taken import taken
from qdisclab.emulation.runs import execution, suite


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `emulate suite`."""
    parser.add_argument("test", nargs="+", help="a file or folder below the current one")
    parser.add_argument(
        "--packetdrill",
        default="packetdrill",
        metavar="FILE",
        help="your build of packetdrill (default: %(default)s in the current folder)",
    )
    parser.add_argument(
        "--ip",
        action="append",
        choices=tuple(suite.VARIANTS),
        help="run packetdrill's tests in this variant alone; can be given more than once",
    )
    add_commands(parser)
    parser.add_argument(
        "--module",
        action="append",
        default=[],
        metavar="FILE",
        help="a module of Linux for the guest to load that the kernel lacks: net/sched/sch_teql.c",
    )
    parser.add_argument(
        "--kernel",
        type=kernel_name,
        default=DEFAULT_KERNEL,
        help="series, digest or path of the kernel (default: %(default)s)",
    )
    parser.add_argument(
        "--memory", default="1 GiB", help="memory of the guest (default: %(default)s)"
    )
    for name, default, what in (
        ("timeout", 60.0, "virtual time that a test may take"),
        ("patience", vm.HANG_S, "wall time that a test may compute without sleeping"),
    ):
        parser.add_argument(
            f"--{name}",
            type=seconds,
            default=default,
            metavar="SECONDS",
            help=f"{what} (default: %(default)g)",
        )
    parser.add_argument(
        "--output", type=Path, metavar="DIR", help="folder for results.csv and results.tap"
    )


def run(args: argparse.Namespace) -> int:
    """Run the tests, and return the exit status."""
    names = [os.path.relpath(name) for name in args.test]
    tests = list(suite.cases(names, args.packetdrill, args.ip or tuple(suite.VARIANTS)))
    folders = sorted({test.folder for test in tests} - {"."})
    needed = [args.packetdrill] if any(".pkt" in test.name for test in tests) else []
    if needed and not os.path.isfile(args.packetdrill):  # noqa: PTH113 - it may be too long
        where, todo = f"--packetdrill {args.packetdrill}", "name your build of packetdrill"
        raise ConfigError("is not a file", where, todo)
    needed += suite.includes(tests)
    files = taken([], [*needed, *args.file, *names, *folders], Path.cwd())
    built, root = named(args.kernel), rootfs.build()
    wanted = execution.Execution(
        command=(),
        seed=args.seed,
        files=files,
        layers=layer.of_commands(root, args.package, warn),
        memory=memory(args.memory),
        timeout=Duration.of_seconds("100000 s"),
        looks=True,
        linux=tuple(args.module),
    )
    wanted.check_room()
    for text in instructions.of_programs(wanted.guest(root), (), files):
        warn(text)
    keep = cache_dir("failed") / f"suite-{os.getpid()}"
    if args.output is not None:  # refused before the tests are done
        args.output.mkdir(parents=True, exist_ok=True)
    table = []
    with tempfile.TemporaryDirectory() as scratch:

        def execute(this: execution.Execution, folder: Path) -> execution.Outcome:
            return execution.execute(this, built, root, folder, (), args.patience, keep)

        for row in suite.run(tests, wanted, args.timeout, Path(scratch), execute, keep):
            table.append(row)
            print(printable(f"{row.outcome:8} {row.name}  {row.note[:200]}".rstrip()), flush=True)
    if args.output is not None:
        suite.write(table, args.output)
    count = Counter(row.outcome for row in table)
    print(", ".join(f"{count[outcome]} {outcome}" for outcome in sorted(count)), file=sys.stderr)
    return 0 if set(count) <= {"ok", "skipped"} else 1
