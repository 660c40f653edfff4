"""What a campaign of all papers costs: `python -m workflow.cost DATA` prints docs/campaigns.md's
table.

Seconds of a core are the means of the runs in the folder DATA by experiment and link (`cpu_s` of
their provenance); for what was never run, those that `emulate list` expects.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from emulate.commands.list import wall_seconds
from emulation.config.catalogue import experiments
from emulation.model.run import Experiment


@dataclass
class Cost:
    """Of all runs of a paper's experiment file, every repetition of every cell."""

    paper: str
    points: int = 0
    runs: int = 0
    measured: int = 0  # runs of experiments and links whose cost was measured
    core_s: float = 0.0
    virtual_s: float = 0.0  # of load

    @property
    def row(self) -> str:
        """A row of a table."""
        share = round(100 * self.measured / self.runs)
        cells = [self.paper, f"{self.points}", f"{self.runs:,}".replace(",", " ")]
        cells += [f"{self.virtual_s / 3600:.0f} h", f"{self.core_s / 3600:.1f}"]
        cells += [f"{self.core_s / self.runs:.1f} s", f"{share} %"]
        return f"| {' | '.join(cells)} |"


def measured(data: Path) -> dict[tuple[str, str, str], float]:
    """Seconds of a core of a run, by paper, experiment and link."""
    found: dict[tuple[str, str, str], list[float]] = {}
    for path in data.glob("*/*/*/*/*/seed-*.json"):
        told = json.loads(path.read_text(encoding="utf-8"))
        key = (told["paper"], told["experiment"], told["link"])
        found.setdefault(key, []).append(told["cpu_s"])
    return {key: mean(values) for key, values in found.items()}


def costs(known: dict[tuple[str, str, str], float], of: Iterable[Experiment]) -> list[Cost]:
    """A cost a paper."""
    found: dict[str, Cost] = {}
    for one in of:
        cost = found.setdefault(one.paper, Cost(one.paper))
        seeds = len(one.seeds)
        for point in one.points:
            key = (one.paper, point.label, point.link.name)
            cost.points += 1
            cost.runs += seeds
            cost.measured += seeds if key in known else 0
            cost.core_s += seeds * (known.get(key) or wall_seconds(one, [point]))
            cost.virtual_s += seeds * point.traffic.length.seconds
    return list(found.values())


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m workflow.cost")
    parser.add_argument(
        "data",
        type=Path,
        help="folder of runs whose seconds count: of one machine, kernel and day, as those in data/"
        " are of many",
    )
    data = parser.parse_args(arguments).data
    if not (known := measured(data)):
        parser.error(f"{data}: has no runs; make some with 'emulate run … --output {data}'")
    print("| paper | points | runs | load | core hours | a run | measured |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for cost in costs(known, experiments()):
        print(cost.row)
    return 0


if __name__ == "__main__":
    sys.exit(main())
