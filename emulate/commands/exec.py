"""`emulate exec -- COMMAND`: a command or script as root in a guest, in virtual time.

Boot a guest and run a command in it as root, in virtual time. The same seed gives the same output.
Each word of the command that names a file below the current folder is copied into the guest at the
same relative path; everything else is the guest's: programs of its Debian packages, paths that
begin with '/'. An unchanged Mininet script runs with 'python3 SCRIPT'. The exit status is the
command's.
"""

import argparse
import os
import shlex
import shutil
import stat
import sys
import tempfile
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from qdisclab.emulate.arguments import add_commands, add_flags, kernel_name, memory, seconds
from qdisclab.emulate.kernels import named
from qdisclab.emulation.errors import ConfigError, EmulationError, GuestHung, NotReproduced
from qdisclab.emulation.host import cpus, seal
from qdisclab.emulation.host.cache import cache_dir
from qdisclab.emulation.host.terminal import note, warn
from qdisclab.emulation.machine import layer, rootfs, vm
from qdisclab.emulation.model.run import Run
from qdisclab.emulation.model.series import DEFAULT_KERNEL
from qdisclab.emulation.model.units import Duration, quantity
from qdisclab.emulation.programs.taken import taken
from qdisclab.emulation.runs import execution

_HUNG = (
    "something computes without sleeping, or sends over a link without a rate (docs/exec.md); "
    "--patience waits longer"
)


_INPUT = (
    "standard input is not passed to the command; put it into a file: "
    "--file FILE -- sh -c 'COMMAND < FILE'"
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `emulate exec`."""
    parser.usage = "emulate exec [OPTION]... -- COMMAND [ARGUMENT]..."
    parser.add_argument(
        "--rig",
        metavar="SELECTION",
        help="build the rig of the first run that this selects, with the options of 'emulate "
        "shell': 'mine/first --link 10/1 --qdisc codel'; 'on NODE COMMAND' then runs "
        "something on a node",
    )
    parser.add_argument(
        "--node", help="node of the rig to run the command on (default: outside the rig)"
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        help="folder for stdout, stderr, the files that the command leaves and a record of all "
        "that they depend on; replaced each time",
    )
    add_commands(parser)
    parser.add_argument("--memory", help="memory of the guest (default: the rig's, or '384 MiB')")
    parser.add_argument(
        "--timeout",
        help="virtual time since boot after which the command is given up (default: '1 h')",
    )
    parser.add_argument(
        "--patience",
        type=seconds,
        default=vm.HANG_S,
        metavar="SECONDS",
        help="wall time in s that the command may compute without sleeping (default: %(default)g)",
    )
    parser.add_argument(
        "--kernel",
        type=kernel_name,
        help=f"series or digest of the kernel (default: the rig's, or {DEFAULT_KERNEL})",
    )
    add_flags(
        parser,
        looks="let each call by which a program waits without sleeping take 256 ns: times(2), "
        "coarse clocks, CPU time, sched_yield(2), a poll without a timeout (docs/exec.md)",
        check="run it twice, the second time beside processes that compete for the same CPUs, and "
        "name the first byte that differs",
    )
    parser.add_argument("command_line", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    """Execute the command, and return its exit status."""
    wanted, series = requested(args)
    if _has_input():
        warn(_INPUT)
    built, root = named(series), rootfs.build()
    wanted = replace(wanted, layers=layer.of_commands(root, args.package, warn))
    from qdisclab.emulation.programs import instructions

    guest = wanted.guest(root)
    warnings = instructions.of_programs(guest, wanted.command[:1], wanted.files)
    for text in (*guest.missing(wanted.command[1:]), *warnings):
        warn(text)
    keep = cache_dir("failed") / f"exec-{os.getpid()}"
    place = None if args.output is None else args.output.absolute()
    if place is not None:
        place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".exec-", dir=place and place.parent) as scratch:

        def execute(name: str) -> execution.Outcome:
            return execution.execute(
                wanted, built, root, Path(scratch) / name, warnings, args.patience, keep
            )

        try:
            outcome = execute("outcome")
        except EmulationError as error:
            if isinstance(error, GuestHung) and vm.MORE_MEMORY not in error.todo:
                error.todo = _HUNG
            execution.show(keep / "job" / "out" / "programs" / execution.NAME)
            raise
        execution.show(outcome.folder)
        for text in outcome.ending.notes:
            note(text)
        if place is None and (files := outcome.files):
            shown = ", ".join(files[:3]) + (", …" if len(files) > 3 else "")
            note(f"the command left {len(files)} files ({shown}); --output DIR keeps them")
        if args.check:
            for folder in (root.path, *(layer.path for layer in wanted.layers)):
                seal.check(folder, contents=True)
            with cpus.hogs():
                again = execute("again")
            _compare(outcome, again, place)
        if place is not None:
            _replace(outcome.folder, place)
    return outcome.status


def _has_input() -> bool:
    """Return whether standard input is a pipe, or a file that has not been read to its end."""
    with suppress(OSError):  # it is closed
        about = os.fstat(0)
        of_file = stat.S_ISREG(about.st_mode) and os.lseek(0, 0, os.SEEK_CUR) < about.st_size
        return of_file or stat.S_ISFIFO(about.st_mode)
    return False


def _replace(folder: Path, place: Path) -> None:
    """Put `folder` at `place`, where an earlier execution may have left another."""
    _check_output(place)
    shutil.rmtree(place, ignore_errors=True)
    folder.rename(place)


def _compare(first: execution.Outcome, again: execution.Outcome, place: Path | None) -> None:
    """Raise `NotReproduced` if they differ, and keep both, at `place` and next to it."""
    difference = execution.difference(first.folder, again.folder)
    if difference is not None:
        if place is not None:
            _replace(first.folder, place)
            _replace(again.folder, place.with_name(f"{place.name}-again"))
        what = f"a second execution with the same seed gave other bytes: {difference}"
        raise NotReproduced(what, "--check", "docs/exec.md says what a program can see of the host")
    print(
        f"reproduced: {len(first.record['outputs'])} files are the same bytes, "
        f"{first.ending.virtual_s:.3f} virtual s",
        file=sys.stderr,
    )


def requested(args: argparse.Namespace) -> tuple[execution.Execution, str]:
    """Return the execution that the options ask for, without layers, and the name of its kernel."""
    words = args.command_line[1:] if args.command_line[:1] == ["--"] else args.command_line
    if not any(words[:1]):
        raise ConfigError("no command is given", "emulate exec", "write it after '--'")
    rig, series = _rig(args)
    if words[0] == "on":  # in the guest, another program would report the error
        _node(" ".join(words[1:2]), rig, "on")
        if len(words) == 2:
            raise ConfigError("no command is given", f"on {words[1]}", "write it after the node")
    wanted = execution.Execution(
        command=tuple(words),
        seed=args.seed,
        files=taken(words, args.file, Path.cwd()),
        rig=rig,
        node=None if args.node is None else _node(args.node, rig, "--node"),
        memory=memory(args.memory),
        timeout=_timeout(args.timeout),
        looks=args.looks,
    )
    _check_output(args.output)
    wanted.check_room()
    return wanted, series


def _rig(args: argparse.Namespace) -> tuple[Run | None, str]:
    """Return the run whose rig is wanted, if any, and the name of the kernel."""
    if args.rig is None:
        return None, DEFAULT_KERNEL if args.kernel is None else args.kernel
    from qdisclab.emulate.selection import add_selection, with_rig

    parser = argparse.ArgumentParser(prog="emulate exec --rig", add_help=False)
    add_selection(parser)
    try:
        words = shlex.split(args.rig)
    except ValueError as error:
        what = f"cannot be read: {error}"
        raise ConfigError(what, f"--rig {args.rig}", "close the quotation") from None
    selected = parser.parse_args(words)
    if selected.seed:
        what = f"its --seed {selected.seed[0]} has no effect"
        raise ConfigError(what, f"--rig {args.rig}", "give --seed to `emulate exec` itself")
    if args.kernel is not None:
        selected.kernel = args.kernel
    run = with_rig(selected)
    return run, run.kernel


def _node(name: str, rig: Run | None, where: str) -> str:
    nodes = [] if rig is None else [node.name for node in rig.topology.nodes]
    if name not in nodes:
        todo = f"nodes: {', '.join(nodes)}" if nodes else "name a rig with --rig"
        raise ConfigError("there is no such node", f"{where} {name}".strip(), todo)
    return name


def _timeout(text: str | None) -> Duration:
    timeout = quantity(partial(Duration.parse, example="10 min"), text, "--timeout")
    if timeout is not None and not timeout.nanoseconds:
        raise ConfigError("a timeout of 0 leaves no time", "--timeout", "give more than 0")
    return execution.TIMEOUT if timeout is None else timeout


def _check_output(place: Path | None) -> None:
    """Raise `ConfigError` if there is something at `place` that no execution has left."""
    if place is None or not (place.exists() or place.is_symlink()):
        return
    is_folder = place.is_dir() and not place.is_symlink()
    names = {path.name for path in place.iterdir()} if is_folder else set()
    if not is_folder or names - execution.LEFT or (names and execution.RECORD not in names):
        what = "already exists, and was not left by an execution"
        raise ConfigError(what, f"--output {place}", "name another folder, or remove it")
