"""`emulate list [STUDY|EXPERIMENT]`: experiments, their points and the time that they take.

List the experiments of the shipped studies, or of one, or the points of one experiment, with the
virtual and wall time of their runs. Nothing is run.
"""

import argparse
import json
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from qdisclab.emulate.table import print_table
from qdisclab.emulation.config.catalogue import experiment, experiments, load
from qdisclab.emulation.kinds.probes.probe import recorded
from qdisclab.emulation.model.qdisc import Qdisc
from qdisclab.emulation.model.run import DEFAULT_ERA, NONE, Experiment, Point, Run
from qdisclab.emulation.model.units import Duration
from qdisclab.emulation.runs.run import paths
from qdisclab.emulation.runs.speed import wall_seconds
from qdisclab.emulation.study import studies, trust

#: Columns that are left out where no row has a value.
OPTIONAL = ("probes", "recorded")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `emulate list`."""
    parser.add_argument(
        "experiment",
        nargs="?",
        help="a study or its folder, or an experiment whose points are listed: mine/first",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, for machines")
    trust.add_option(parser)


def run(args: argparse.Namespace) -> int:
    """Print the experiments, or the points of one."""
    if args.experiment is not None:
        trust.ask(args.experiment, args.trust)
    of_study = _experiments(args.experiment)
    if of_study is None:
        chosen = experiment(args.experiment)
        axes = dict.fromkeys(axis for point in chosen.points for axis, _ in point.axes)
        data = studies.data_folder(Path(chosen.folder)) if chosen.folder else Path(studies.DATA)
        rows = [_point_row(chosen, point, [*axes], data) for point in chosen.points]
    else:
        rows = [_experiment_row(experiment) for experiment in of_study]
    if args.json:
        print(json.dumps(rows, indent=2))
    else:
        _print_table(rows)
    return 0


def _experiments(name: str | None) -> tuple[Experiment, ...] | None:
    """Return those of all studies, or of the one called `name`; None where it is no study."""
    if name is None:
        return experiments()
    try:
        folder = studies.find(name)
    except studies.NoStudy:
        return None
    return load(folder).experiments


def _experiment_row(chosen: Experiment) -> dict[str, Any]:
    points, seeds = chosen.points, len(chosen.seeds)
    return {
        "experiment": chosen.id,
        "section": chosen.section,
        "title": chosen.title,
        "points": len(points),
        "seeds": seeds,
        "runs": len(points) * seeds,
        "virtual_s": sum(point.traffic.length.seconds for point in points) * seeds,
        "wall_s": round(wall_seconds(chosen, points) * seeds / _cores()),
        "probes": " ".join(probe.kind for probe in chosen.probes),
    }


def _point_row(chosen: Experiment, point: Point, axes: Sequence[str], data: Path) -> dict[str, Any]:
    """Return a row; `axes` are all that vary in the experiment, of which the point may lack one.

    It says how many of its runs are in `data`, and of how many a probe has recorded what.
    """
    era = point.era or DEFAULT_ERA
    runs = [
        Run(chosen, point, seed, point.traffic.length, era, chosen.kernel) for seed in chosen.seeds
    ]
    there = [record for run in runs if (record := paths(run, data)[1]).exists()]
    has = Counter(kind for record in there for kind in recorded(record))
    values = dict(point.axes)
    tested = point.link.name != NONE and point.queues
    return {
        "label": point.label,
        "link": point.link.name,
        "qdisc": point.qdisc,
        "cc": point.cc,
        **{axis: values.get(axis, "") for axis in axes if axis not in ("link", "qdisc", "cc")},
        "up": _words(point.up) if tested else "",
        "down": _words(point.down) if tested else "",
        "virtual_s": point.traffic.length.seconds,
        "wall_s": round(wall_seconds(chosen, [point])),
        "runs": f"{len(there)} of {len(runs)}",
        "recorded": ", ".join(f"{count} {kind}" for kind, count in has.items()),
    }


def _words(qdisc: Qdisc) -> str:
    """Return the words for `tc`, and the interface's queue length where the qdisc sets one."""
    length = f" (txqueuelen {qdisc.txqueuelen.count})" if qdisc.txqueuelen else ""
    return " ".join(qdisc.tc_arguments()) + length


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _print_table(rows: list[dict[str, Any]]) -> None:
    """Print a table for people; tab-separated where the output is no terminal."""
    columns = [name for name in rows[0] if name not in OPTIONAL or any(row[name] for row in rows)]
    cells = [[_text(column, row[column]) for column in columns] for row in rows]
    titles = [column.removesuffix("_s").replace("_", " ") for column in columns]
    pairs = zip(titles, columns, strict=True)
    numbers = [title for title, column in pairs if isinstance(rows[0][column], int | float)]
    estimate = f"wall: estimated, on {_cores()} cores, from the runs that this machine has done"
    notes = [(estimate, "dim")] if "points" in columns else []
    print_table(titles, cells, numbers=numbers, notes=notes)


def _text(column: str, value: Any) -> str:
    if column in ("virtual_s", "wall_s"):
        return _clock(Duration(round(value) * 10**9))
    return str(value)


def _clock(duration: Duration) -> str:
    """Return a time as `2 h 05 min`, `3 min 20 s` or `12 s`."""
    minutes, seconds = divmod(round(duration.seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {seconds:02d} s" if minutes else f"{seconds} s"
