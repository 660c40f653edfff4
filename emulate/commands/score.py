"""`emulate score QDISC`, `emulate score --cc NAME`: a page of the numbers that RFCs ask about.

Run the study rfc7928 with a queue discipline, or with a congestion control over pfifo_fast, codel
and fq_codel and in the cases of the study bbr, and make a page of its numbers beside those of known
ones (docs/score.md). Existing runs are not repeated.
"""

import argparse
import sys
from pathlib import Path

from qdisclab.emulate.arguments import add_jobs, add_unconfined, kernel_name
from qdisclab.emulate.kernels import named
from qdisclab.emulation.errors import ConfigError
from qdisclab.emulation.host.cache import cache_dir
from qdisclab.emulation.machine import rootfs
from qdisclab.emulation.model.run import Run
from qdisclab.emulation.runs import campaign
from qdisclab.emulation.runs.run import Result

#: A queue is scored with CUBIC's flows, a control over a FIFO, an AQM and fair queueing.
CC = "cubic"
QDISCS = ("pfifo_fast", "codel", "fq_codel")

OUTPUT = Path("results/score")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `emulate score`."""
    parser.add_argument(
        "qdisc", nargs="*", metavar="QDISC",
        help="a kind that Linux has, e.g. cake; or one of yours in qdisc/own.yaml, whose `papers` "
        "must include rfc7928",
    )  # fmt: skip
    parser.add_argument(
        "--cc", metavar="NAME", help=f"congestion control of the flows (default: {CC})"
    )
    parser.add_argument(
        "--kernel", type=kernel_name, help="series of the kernel: 7.2 has dualpi2 (default: 6.12)"
    )
    add_jobs(parser)
    parser.add_argument(
        "--output",
        type=Path,
        default=OUTPUT,
        help=f"folder for the page and the runs (default: {OUTPUT})",
    )
    parser.add_argument(
        "--record", type=Path, metavar="FILE",
        help="also put the measured numbers into this table, e.g. studies/rfc7928/known.csv",
    )  # fmt: skip
    add_unconfined(parser)


def run(args: argparse.Namespace) -> int:
    """Do the runs, print the numbers and write the page."""
    if not args.qdisc and args.cc is None:
        raise ConfigError("neither a qdisc nor --cc", "score", "write e.g. emulate score cake")
    twice = [qdisc for qdisc in args.qdisc if args.qdisc.count(qdisc) > 1]
    if twice:
        raise ConfigError(f"'{twice[0]}' is named twice", "score", "name each qdisc once")
    if args.cc == "":
        raise ConfigError("names no congestion control", "--cc", f"write e.g. --cc {CC}")
    contestants = [(qdisc, args.cc or CC) for qdisc in args.qdisc or QDISCS]
    from qdisclab.analysis.measures import score  # pandas takes a second to import
    from qdisclab.analysis.runs.study import study_at
    from qdisclab.analysis.site import scorecard

    others = score.known(study_at(score.STUDY).folder)
    if args.record:
        scorecard.recorded(args.record)  # which a mistake should not cost the runs
    data = args.output / "data"
    runs = score.all_runs(contestants, args.kernel)
    if args.cc:
        runs += score.case_runs(args.cc, args.kernel)
    results = _do(runs, data, args.jobs)
    ours = score.measured(data, [result.provenance for result in results])
    card = scorecard.compare(ours, others)
    name = "_".join(filter(None, (*args.qdisc, args.cc, args.kernel)))
    page = args.output / f"{name}.html"
    cases = scorecard.compare(ours, others, score.CASES) if args.cc else None
    page.write_text(scorecard.page(card, cases), encoding="utf-8")
    print(scorecard.text(card))
    if cases:
        print("", scorecard.text(cases), sep="\n")
    print(f"page: {page}", file=sys.stderr)
    if args.record:
        scorecard.record(ours, args.record)
    return 0


def _do(runs: list[Run], data: Path, jobs: int) -> list[Result]:
    """Do `runs` into the folder `data`, with a bar on a terminal and else a line each."""
    built, root = named(runs[0].kernel), rootfs.build()
    visible = sys.stderr.isatty()

    def report(run: Run, result: Result) -> None:
        if not visible:
            print(f"{run.id}: {'done' if result.ending else 'there already'}", file=sys.stderr)

    options = campaign.Options(cache_dir("failed"), stale=True)
    return campaign.do(
        runs, built, root, data, jobs=jobs, options=options, bars=visible, on_result=report
    )
