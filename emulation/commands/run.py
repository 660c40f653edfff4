"""`emulate run EXPERIMENT`: the runs of an experiment that the options select, one by one."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emulation import kernel, rootfs
from emulation.cache import cache_dir
from emulation.config import experiment, select
from emulation.errors import ConfigError
from emulation.kernel import Kernel
from emulation.model import DEFAULT_ERA, DEFAULT_KERNEL, Run
from emulation.rootfs import RootFs
from emulation.run import Result, execute, today
from emulation.units import Duration, UnitError
from emulation.verify import other_identity

if TYPE_CHECKING:
    from argparse import _SubParsersAction

#: flent's pauses before and after the load, and what the guest does around them, in virtual s.
AROUND_LOAD_S = 12.0


def add_parser(subparsers: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the parser of `emulate run`."""
    parser = subparsers.add_parser(
        "run",
        description="Run an experiment, or the part of it that the options select; each option can "
        "be given more than once. A run that the output folder has already is not done again.",
    )
    add_selection(parser)
    parser.add_argument(
        "--output", type=Path, default=Path("data"), help="folder of the data (default: data)"
    )
    parser.add_argument("--again", action="store_true", help="do runs anew that are there already")
    parser.add_argument(
        "--keep",
        type=Path,
        default=cache_dir("failed"),
        help="folder for what a failed guest leaves: console, kernel log, tools' logs (default: "
        "'failed' in the cache folder)",
    )
    parser.add_argument(
        "--capture",
        action="store_true",
        help="keep the packets at both bottlenecks, as .pcap.gz beside the data; they take no "
        "virtual time, and the data stay the same bytes",
    )
    parser.add_argument(
        "--trace",
        action="store_true",
        help="keep a trace of simulated time beside the data, for 'emulate diff'; 1 MB and more a "
        "virtual second",
    )
    parser.add_argument("--dry-run", action="store_true", help="print the runs and do none")
    parser.add_argument("--json", action="store_true", help="a line of JSON a run, for machines")


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Add the options that select runs of an experiment."""
    parser.add_argument("experiment", help="as 'emulate list' shows it: gbw2015/rrul")
    parser.add_argument("--link", action="append", help="download/upload in Mbit/s: 10/1")
    parser.add_argument("--qdisc", action="append", help="the paper's name: fq_codel")
    parser.add_argument("--cc", action="append", help="congestion control: cubic, reno")
    parser.add_argument("--seed", action="append", type=int, help="a repetition (default: all)")
    parser.add_argument(
        "--length", help="of the load: 20 (seconds) or '20 s' (default: the paper's)"
    )
    parser.add_argument("--era", default=DEFAULT_ERA, help="behaviour of the kernel")
    parser.add_argument(
        "--kernel",
        default=DEFAULT_KERNEL,
        help="series of the kernel, 6.12, or the digest of one that 'emulate kernel list' shows",
    )


def selection(args: argparse.Namespace) -> tuple[Run, ...]:
    """The runs that the options of `add_selection` select."""
    return select(
        experiment(args.experiment),
        link=args.link,
        qdisc=args.qdisc,
        cc=args.cc,
        seed=args.seed,
        length=_length(args.length),
        era=args.era,
        kernel=args.kernel,
    )


def _length(text: str | None) -> Duration | None:
    if text is None:
        return None
    try:
        return Duration.parse(f"{text} s" if text.replace(".", "", 1).isdigit() else text)
    except UnitError as error:
        raise ConfigError(str(error), "--length") from error


def run(args: argparse.Namespace) -> int:
    """Do the runs; the exit status."""
    runs = selection(args)
    if args.dry_run:
        for one in runs:
            print(json.dumps({"run": one.id, "job": one.job()}) if args.json else one.id)
        return 0
    built = kernel.named(args.kernel)
    root = rootfs.build()
    for number, one in enumerate(runs, start=1):
        with _progress(one, f"{number}/{len(runs)}", sys.stderr.isatty()) as on_step:
            result = execute(
                one,
                built,
                root,
                args.output,
                on_step,
                keep=args.keep,
                again=args.again,
                captures=args.capture,
                traced=args.trace,
            )
        _print(one, result, args.json)
        if result.ending is None:
            _warn_stale(one, result, built, root)
    return 0


def _warn_stale(run: Run, result: Result, built: Kernel, root: RootFs) -> None:
    """Say so where a run that was there already is not what it would be today."""
    old = json.loads(result.provenance.read_text())["identity"]
    differences = other_identity(old, today(run, built, root))
    if differences:
        print(
            f"note: {run.id} was made with a different {', '.join(differences)}; "
            "--again makes it anew",
            file=sys.stderr,
        )


def _print(run: Run, result: Result, as_json: bool) -> None:
    ending = result.ending
    if as_json:
        told: dict[str, Any] = {"run": run.id, "data": str(result.data), "cached": ending is None}
        if ending is not None:
            told |= {"virtual_s": ending.virtual_s, "wall_s": ending.wall_s}
        print(json.dumps(told), flush=True)
    elif ending is None:
        print(f"{run.id}: there already", flush=True)
    else:
        factor = ending.virtual_s / ending.wall_s
        print(
            f"{run.id}: {ending.virtual_s:.1f} s in {ending.wall_s:.1f} s of wall time,"
            f" x{factor:.1f}",
            flush=True,
        )


@contextmanager
def _progress(run: Run, count: str, terminal: bool) -> Iterator[Callable[[dict[str, Any]], None]]:
    """What to call with each step of the guest: a bar of virtual time on a terminal."""
    if not terminal:
        yield lambda step: None
        return
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    total = run.length.seconds + AROUND_LOAD_S
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f} virtual s, wall"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, transient=True) as bar:
        task = bar.add_task(f"{count} {run.id}", total=total)
        yield lambda step: bar.update(task, completed=min(step["virtual_s"], total))
