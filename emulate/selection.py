"""Options that select runs of an experiment, and the runs that they select."""

import argparse
from collections.abc import Iterable
from typing import Any

from qdisclab.emulate.arguments import Once, kernel_name, whole
from qdisclab.emulation.config.catalogue import experiment, select
from qdisclab.emulation.errors import ConfigError, KernelLacks
from qdisclab.emulation.kernel import check_named
from qdisclab.emulation.model.run import Run
from qdisclab.emulation.model.units import Duration, quantity
from qdisclab.emulation.study import trust
from qdisclab.emulation.study.source import ParsedFile

#: What belongs to a run and not to a point has options of its own.
OPTIONS = ("seed", "length", "kernel")

#: What takes an option of a qdisc away.
NULL = ("null", "~")


def add_selection(parser: argparse.ArgumentParser, *, needed: bool = True) -> None:
    """Add the options that select runs of an experiment."""
    parser.add_argument(
        "experiment",
        nargs=None if needed else "?",
        help="a name from 'emulate list', e.g. mine/first, or one from a study's folder: "
        "my-study/first",
    )
    trust.add_option(parser)
    parser.add_argument("--link", action="append", help="download/upload in Mbit/s: 10/1, 50/10")
    parser.add_argument(
        "--qdisc",
        action="append",
        help="a name from the study, or a kind that Linux has, e.g. cake",
    )
    parser.add_argument("--cc", action="append", help="congestion control: cubic, reno, bbr")
    parser.add_argument(
        "--seed",
        action="append",
        type=whole,
        help="a repetition, from 1 to 999999 (default: the study's)",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        dest="settings",
        metavar="AXIS=VALUE",
        help="an axis of the study or any parameter: rig.base_rtt=20ms, qdisc.target=10ms, "
        "traffic.flows=8; several values for one make a sweep",
    )
    parser.add_argument(
        "--era",
        action=Once,
        help="behaviour of the kernel: modern, 2014, or one with a switch added or removed: "
        "2014-no_gso (docs/eras.md; default: the study's, or else modern)",
    )
    parser.add_argument(
        "--kernel",
        action=Once,
        type=kernel_name,
        help="series of the kernel, e.g. 6.12, or the digest of one that 'emulate kernel list' "
        "shows (default: the study's)",
    )


def add_length(parser: argparse.ArgumentParser) -> None:
    """Add `--length`, of runs that have a load."""
    parser.add_argument(
        "--length",
        action=Once,
        help="length of the load: 20 (seconds) or '20 s' (default: the study's)",
    )


def selection(
    args: argparse.Namespace, lacking: dict[str, KernelLacks] | None = None
) -> tuple[Run, ...]:
    """Return the runs that the options of `add_selection` and `add_length` (if any) select, and put
    those that the kernel lacks something for into `lacking`, where that is given."""
    if args.kernel is not None:
        check_named(args.kernel)
    trust.ask(args.experiment, args.trust)
    runs = select(
        experiment(args.experiment),
        link=args.link,
        qdisc=args.qdisc,
        cc=args.cc,
        seed=args.seed,
        length=quantity(Duration.of_seconds, getattr(args, "length", None), "--length"),
        era=args.era,
        kernel=args.kernel,
        settings=settings(args.settings),
        lacking=lacking,
    )
    if not runs and lacking:
        raise next(iter(lacking.values()))
    if not runs:
        what = "its sweep has none of these values together"
        raise ConfigError(what, args.experiment, "see its points: emulate list")
    return runs


def with_rig(args: argparse.Namespace) -> Run:
    """Return the first run that the options select; raise `ConfigError` if it has no rig."""
    run = selection(args)[0]
    if not run.topology.nodes:
        raise ConfigError("has no rig", run.id, "choose a run that has one")
    return run


def settings(given: Iterable[str]) -> dict[str, list[Any]]:
    """Return the values by axis of options `--set`; raise `ConfigError` for one that is none."""
    values: dict[str, list[Any]] = {}
    for option in given:
        axis, sign, text = option.partition("=")
        source = ParsedFile.read(text)
        nothing = source.value is None and text not in NULL
        if not axis or not sign or source.problems or nothing:
            what = f"'{option[:40]}' is not AXIS=VALUE"
            if source.problems and axis and sign:
                what = f"the value of '{axis}' {source.problems[0].what}"
            raise ConfigError(what, "--set", "e.g. rig.base_rtt=20ms")
        if axis in OPTIONS:
            raise ConfigError(f"'{axis}' is an option of its own", "--set", f"write --{axis}")
        values.setdefault(axis, []).append(source.value)
    return values
