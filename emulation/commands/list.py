"""`emulate list [EXPERIMENT]`: the shipped experiments, their cells and the time that they take."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from emulation import speed
from emulation.config import experiment, experiments
from emulation.model import Cell, Experiment, Qdisc
from emulation.units import Duration

if TYPE_CHECKING:
    from argparse import _SubParsersAction


def add_parser(subparsers: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the parser of `emulate list`."""
    parser = subparsers.add_parser(
        "list",
        description="List the shipped experiments, or the cells of one. Nothing is run.",
    )
    parser.add_argument("experiment", nargs="?", help="list its cells: gbw2015/rrul")
    parser.add_argument("--json", action="store_true", help="print JSON, for machines")


def run(args: argparse.Namespace) -> int:
    """Print the experiments, or the cells of one."""
    if args.experiment:
        chosen = experiment(args.experiment)
        rows = [_cell_row(chosen, cell) for cell in chosen.cells]
    else:
        rows = [_experiment_row(found) for found in experiments()]
    if args.json:
        print(json.dumps(rows, indent=2))
    else:
        _print_table(rows)
    return 0


def wall_seconds(
    experiment: Experiment, cells: Iterable[Cell], length: Duration | None = None
) -> float:
    """How long one repetition of `cells` takes on one core of this machine, in seconds.

    `length`: of the load, the experiment's where None.
    """
    model = speed.model()
    length_s = (length or experiment.traffic.length).seconds
    return sum(model.predict(experiment, cell, length_s) for cell in cells)


def _experiment_row(found: Experiment) -> dict[str, Any]:
    runs = len(found.cells) * len(found.seeds)
    wall = wall_seconds(found, found.cells) * len(found.seeds)
    return {
        "experiment": found.id,
        "section": found.section,
        "title": found.title,
        "cells": len(found.cells),
        "seeds": len(found.seeds),
        "runs": runs,
        "virtual_s": runs * found.traffic.length.seconds,
        "wall_s": round(wall / _cores()),
    }


def _cell_row(found: Experiment, cell: Cell) -> dict[str, Any]:
    return {
        "link": cell.link.name,
        "qdisc": cell.qdisc,
        "cc": cell.cc,
        "up": _words(cell.up),
        "down": _words(cell.down),
        "virtual_s": found.traffic.length.seconds,
        "wall_s": round(wall_seconds(found, [cell])),
    }


def _words(qdisc: Qdisc) -> str:
    """The qdisc as `tc` gets it, behind it the interface's queue length where it sets one."""
    length = f" (txqueuelen {qdisc.txqueuelen.count})" if qdisc.txqueuelen else ""
    return " ".join(qdisc.tc_arguments()) + length


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _print_table(rows: list[dict[str, Any]]) -> None:
    """A table for people; tab-separated where the output is no terminal."""
    columns = list(rows[0])
    cells = [[_shown(column, row[column]) for column in columns] for row in rows]
    titles = [column.removesuffix("_s").replace("_", " ") for column in columns]
    if not sys.stdout.isatty():
        for line in (titles, *cells):
            print("\t".join(line))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for column, title in zip(columns, titles, strict=True):
        number = isinstance(rows[0][column], int | float)
        table.add_column(title, justify="right" if number else "left", overflow="fold")
    for line in cells:
        table.add_row(*line)
    console = Console()
    console.print(table)
    if "cells" in columns:
        console.print(
            f"wall: estimated, on {_cores()} cores, from the runs that this machine has done",
            style="dim",
        )


def _shown(column: str, value: Any) -> str:
    if column in ("virtual_s", "wall_s"):
        return _clock(Duration(round(value) * 10**9))
    return str(value)


def _clock(duration: Duration) -> str:
    """`2 h 05 min`, `3 min 20 s`, `12 s`."""
    minutes, seconds = divmod(round(duration.seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {seconds:02d} s" if minutes else f"{seconds} s"
