"""`emulate run EXPERIMENT`: the runs of an experiment that the options select, one by one.

Run an experiment, or the part of it that the options select; without an option, all of it. --link,
--qdisc, --cc, --seed and --set can be given more than once. Runs that the output folder already has
are not repeated.
"""

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from qdisclab.emulate.arguments import add_flags, add_jobs, add_unconfined
from qdisclab.emulate.kernels import named
from qdisclab.emulate.selection import add_length, add_selection, selection
from qdisclab.emulation.checks import notes
from qdisclab.emulation.config import request
from qdisclab.emulation.config.job import job_of
from qdisclab.emulation.errors import ConfigError, EmulationError, KernelLacks, printable
from qdisclab.emulation.host.cache import cache_dir
from qdisclab.emulation.kinds.probes.probe import Probe, check, forms, of_run
from qdisclab.emulation.machine import rootfs
from qdisclab.emulation.model.run import Run
from qdisclab.emulation.runs import campaign
from qdisclab.emulation.runs.run import Measure, Result, require_flent
from qdisclab.emulation.study import studies, trust


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `emulate run`."""
    add_selection(parser, needed=False)
    add_length(parser)
    parser.add_argument(
        "--run-file",
        type=Path,
        metavar="FILE",
        help="instead of an experiment and its options: a file that lists the runs, as a "
        "cluster's job gets it",
    )
    parser.add_argument(
        "--output",
        type=Path,
        help="folder for the data (default: data, where the shipped runs are, or the one in the "
        "study's folder); results/data keeps yours apart",
    )
    add_jobs(parser)
    parser.add_argument(
        "--keep",
        type=Path,
        default=cache_dir("failed"),
        help="folder for what a failed guest leaves: console, kernel log, logs of tools (default: "
        "'failed' in the cache folder)",
    )
    parser.add_argument(
        "--probe",
        action="append",
        default=[],
        help="what to record besides the data, whose bytes stay the same: "
        + forms()
        + " (docs/probes.md); can be given more than once",
    )
    add_flags(
        parser,
        again="repeat runs that already exist",
        stale="repeat existing runs of another kernel, guest or job than today's",
        keep_going="go on with the other runs where one fails, or the kernel lacks what it needs; "
        "the exit status is that of the first failure",
        raw="also keep what flent wrote, from which the data are made: all digits and raw values, "
        "as .raw.flent.gz",
        reduced="keep only what was measured, in the provenance, and no data: enough for claims, "
        "for seeds that nobody looks at one by one; 'emulate verify' repeats such runs, too",
        dry_run="print the runs without doing them",
        json="print a line of JSON per run, for machines",
    )
    add_unconfined(parser)


def _requested(args: argparse.Namespace, lacking: dict[str, KernelLacks]) -> tuple[Run, ...]:
    """Return the runs that a file or the options ask for; with `--keep-going` put what the kernel
    lacks something for into `lacking`."""
    if args.run_file is None:
        if args.experiment is None:
            raise ConfigError("names no experiment", "emulate run", "see: emulate list")
        return selection(args, lacking if args.keep_going else None)
    options = (args.experiment, args.link, args.qdisc, args.cc, args.seed, args.settings)
    if any(options) or any((args.era, args.kernel, args.length)):
        raise ConfigError(
            "says which runs to make", "--run-file", "leave out other options that select runs"
        )
    requests = request.read(args.run_file)
    for study in dict.fromkeys(map(request.study_of, requests)):
        trust.ask(study, args.trust)
    return request.runs_of(requests)


def data_folder(runs: Iterable[Run]) -> Path:
    """Return the default folder for runs: a study of the user's own has its own."""
    folder = next((run.experiment.folder for run in runs), "")
    return studies.data_folder(Path(folder)) if folder else Path(studies.DATA)


def run(args: argparse.Namespace) -> int:
    """Do the runs, and return the exit status."""
    lacking: dict[str, KernelLacks] = {}
    runs = _requested(args, lacking)
    for cell, error in lacking.items():
        print(f"emulate: error: {cell}: {error.what}; left out", file=sys.stderr)
    notes.of_settings(runs)
    probes = tuple(map(Probe.parse, args.probe))
    for run in runs:
        check(of_run(run, probes), run)  # refuses before anything is booted
        if args.raw:
            require_flent(run)
        if args.reduced:
            _require_measure(run, args.raw)
    if args.dry_run or not runs:
        for run in runs:
            print(json.dumps({"run": run.id, "job": job_of(run)}) if args.json else run.id)
        return 0
    built = named(runs[0].kernel)
    root = rootfs.build()
    output = args.output or data_folder(runs)
    measure: Measure | None = None
    if args.reduced:
        from qdisclab.analysis.measures.table import measure_beside  # takes a second to import

        measure = measure_beside(output)
    options = campaign.Options(args.keep, args.again, args.stale, probes, args.raw, measure)
    failed: list[EmulationError] = []

    def fail(run: Run, error: EmulationError) -> None:
        failed.append(error)
        print(f"emulate: error: {printable(str(error))}", file=sys.stderr, flush=True)

    def report(run: Run, result: Result) -> None:
        notes.of_result(run, result, built, root, "--again")
        _print(run, result, args.json)

    campaign.do(
        runs,
        built,
        root,
        output,
        jobs=args.jobs,
        options=options,
        bars=sys.stderr.isatty(),
        on_result=report,
        on_failure=fail if args.keep_going else None,
    )
    notes.of_seeds(runs, output)
    if failed:
        print(f"{len(failed)} of {len(runs)} runs failed", file=sys.stderr)
    errors = [*lacking.values(), *failed]
    return errors[0].exit_status if errors else 0


def _require_measure(run: Run, raw: bool) -> None:
    """Raise `ConfigError` where nothing would be measured, or more is to be kept than that."""
    if run.experiment.measure is None:
        raise ConfigError("names no 'measure'", run.experiment.id, "leave out --reduced")
    if raw:
        what = "keeps no data, and --raw keeps more than those"
        raise ConfigError(what, "--reduced", "leave out one or the other")


def _print(run: Run, result: Result, as_json: bool) -> None:
    ending = result.ending
    if as_json:
        line: dict[str, Any] = {"run": run.id, "data": str(result.data), "cached": ending is None}
        if ending is not None:
            line |= {"virtual_s": ending.virtual_s, "wall_s": ending.wall_s}
        print(json.dumps(line), flush=True)
    elif ending is None:
        print(f"{run.id}: there already", flush=True)
    else:
        virtual_s, wall_s = ending.virtual_s, ending.wall_s
        times = f"{virtual_s:.1f} s in {wall_s:.1f} s of wall time, x{virtual_s / wall_s:.1f}"
        print(f"{run.id}: {times}", flush=True)
