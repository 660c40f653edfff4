"""`emulate verify [N]`: do N of the shipped runs again and compare the bytes.

Repeat shipped runs, spread over the cells, and compare data and counters byte for byte. Where the
kernel, tools or code differ and so do the bytes, compare values with the spread over the shipped
seeds, and say so. Without --all and --only the sample is of runs with this kernel and guest, if
there are any. Exit status: 9 if the same inputs give other bytes, 11 if values are outside the
spread, 10 if a data file is not the recorded one, 2 if the studies no longer have a run.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from qdisclab.emulate.arguments import add_flags, add_jobs, add_unconfined, positive
from qdisclab.emulation import kernel
from qdisclab.emulation.checks import identities, verify as checks
from qdisclab.emulation.config.catalogue import all_labels, experiments
from qdisclab.emulation.errors import ConfigError, printable
from qdisclab.emulation.host import seal
from qdisclab.emulation.host.pool import workers
from qdisclab.emulation.machine import rootfs
from qdisclab.emulation.runs.index import RunFile

#: The file that collects evidence, in the folder of the data.
EVIDENCE = "verified.csv"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `emulate verify`."""
    parser.add_argument(
        "number", nargs="?", type=positive, default=3, metavar="N",
        help="how many runs (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--only", action="append", default=[], metavar="RUN",
        help="only runs whose names begin like this (mine/first@2014/20-5/); can be given more "
        "than once",
    )  # fmt: skip
    add_jobs(parser)
    parser.add_argument(
        "--data", type=Path, default=Path("data"), help="folder of the runs (default: data)"
    )
    add_flags(
        parser,
        all="every run",
        record=f"append the outcome to DATA/{EVIDENCE}",
        code="N runs of each digest of the guest's code that differ in nothing else; where all "
        f"give the same bytes, today's digest is written to DATA/{identities.FILE}",
        json="print a line of JSON per run, for machines",
    )
    add_unconfined(parser)


def run(args: argparse.Namespace) -> int:
    """Verify the chosen runs; raise the error of the worst verdict."""
    runs = checks.beginning(checks.shipped(args.data), args.only)
    root = rootfs.build()
    seal.check(root.path, contents=True)
    pairs = _changed(runs, root) if args.code else {}
    if args.code:
        chosen = [shipped for group in pairs.values() for shipped in group[: args.number]]
    elif args.all:
        chosen = runs
    else:
        here = runs if args.only else checks.repeatable(runs, _kernels(runs), root)
        if len(here) < len(runs):
            note = f"{len(here)} of {len(runs)} runs have this kernel and guest: a sample of those"
            print(note, file=sys.stderr)
        chosen = checks.sample(here, args.number)
    series = {run.series for run in chosen}
    kernels = {name: kernel.build(series=name) for name in sorted(series)}
    verdicts = []
    try:
        for verdict in _verdicts(chosen, kernels, root, args.jobs, not args.code):
            verdicts.append(verdict)
            print(json.dumps(vars(verdict)) if args.json else printable(str(verdict)), flush=True)
    finally:  # what was compared before ^C is evidence, too
        if args.record:
            checks.add_evidence(args.data / EVIDENCE, verdicts)
        if args.code:
            counts = {pair: len(group) for pair, group in pairs.items()}
            rows = identities.add(args.data, verdicts, args.number, counts)
            print(f"{rows} of {len(pairs)} digests of code are as good as today's", file=sys.stderr)
    if not args.json:
        print(checks.summary(verdicts), file=sys.stderr)
    if (error := checks.worst(verdicts)) is not None:
        raise error
    return 0


def _changed(
    runs: list[checks.Shipped], root: rootfs.RootFs
) -> dict[identities.Pair, list[checks.Shipped]]:
    """Return runs that today's guest code alone tells apart; `ConfigError` where there is none."""
    pairs = identities.changed(runs, all_labels(experiments()), _kernels(runs), root)
    if not pairs:
        what = "nothing to repeat: no run differs in the guest's code alone"
        raise ConfigError(what, identities.FILE, "see: python -m workflow.stale data")
    return pairs


def _kernels(runs: list[checks.Shipped]) -> dict[str, str]:
    """Return by series the identity of each kernel of `runs` that is built here."""
    built = {series: kernel.find(series) for series in {run.series for run in runs}}
    return {series: of.identity for series, of in built.items() if of}


def measured(run: RunFile) -> checks.Measured:
    """Return the numbers of a run that claims are about, with their units."""
    from qdisclab.analysis.measures.registry import metrics  # pandas takes a second to import
    from qdisclab.analysis.measures.table import measure_run

    return {name: (value, metrics()[name].unit) for name, value in measure_run(run).items()}


def _verdicts(
    runs: list[checks.Shipped],
    kernels: dict[str, kernel.Kernel],
    root: rootfs.RootFs,
    jobs: int,
    probing: bool,
) -> Iterator[checks.Repetition]:
    """Yield the verdicts, in the order of `runs`, of which `jobs` are repeated at a time."""
    if jobs == 1:
        for run in runs:
            yield checks.verify(run, kernels[run.series], root, measured, probing=probing)
        return
    with workers(jobs, "spawn") as pool:
        again = partial(checks.verify, root=root, measure=measured, probing=probing)
        waiting = [pool.submit(again, run, kernels[run.series]) for run in runs]
        try:
            for verdict in waiting:
                yield verdict.result()
        finally:  # the first error ends it, once the guests at work have ended
            pool.shutdown(cancel_futures=True)
