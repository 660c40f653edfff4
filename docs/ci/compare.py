"""Compare the runs in a folder with the same ones in another, as a table in Markdown.

    python docs/ci/compare.py --where 'induced_latency_ms > 60' data-of-base data

One row for each number that differs; the kernel of a tree may be another one in each folder. Exit
status: 1 where --where holds of the mean over the runs of the second folder, 0 otherwise.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from qdisclab.analysis.measures.table import measure_beside
from qdisclab.emulation.errors import ConfigError, EmulationError
from qdisclab.emulation.runs.bisect import Condition
from qdisclab.emulation.runs.index import run_file

#: In a run's path: the kernel of a tree, which is another one after each change.
BUILT = re.compile(r"@linux-[0-9a-f]{16}\b")


def measured(data: Path) -> dict[str, dict[str, float]]:
    """Return what each run below `data` measured, by the path of its provenance.

    That is without the digest of its kernel, unless runs differ in nothing else.
    """
    measure = measure_beside(data)
    paths = sorted(data.rglob("seed-*.json"))
    if not paths:
        raise ConfigError("there are no runs", str(data), "do them: emulate run … --output FOLDER")
    runs = {}
    for path in paths:
        values = measure(run_file(data, path)).items()
        numbers = {name: value for name, value in values if not math.isnan(value)}
        runs[str(path.relative_to(data))] = numbers
    without = {BUILT.sub("", run): values for run, values in runs.items()}
    return without if len(without) == len(runs) else runs


def table(base: Mapping[str, Mapping[str, float]], now: Mapping[str, Mapping[str, float]]) -> str:
    """Return one row for each number that is not as in the base, and for each run of one alone."""
    lines = ["| run | number | base | now | change |", "| --- | --- | ---: | ---: | ---: |"]
    equal = 0
    for run, values in now.items():
        name = run.removesuffix(".json")
        if run not in base:
            lines.append(f"| {name} | not in the base | | | |")
            continue
        for number in sorted(base[run].keys() | values.keys()):
            before, value = base[run].get(number), values.get(number)
            if before == value:
                equal += 1
                continue
            change = f"{100 * (value / before - 1):+.1f} %" if before and value is not None else ""
            shown = ("" if each is None else f"{each:.6g}" for each in (before, value))
            lines.append(f"| {name} | {number} | {' | '.join(shown)} | {change} |")
    gone = sorted(base.keys() - now.keys())
    lines += [f"| {run.removesuffix('.json')} | only in the base | | | |" for run in gone]
    return "\n".join([*lines, "", f"{equal} numbers are equal."])


def main(arguments: list[str] | None = None) -> int:
    """Print the table, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--where", help="what must not hold of the runs: 'induced_latency_ms > 60'")
    parser.add_argument("base", type=Path, help="data of the runs before the change")
    parser.add_argument("now", type=Path, help="data of the same runs with it")
    args = parser.parse_args(arguments)
    try:
        condition = Condition.parse(args.where) if args.where else None
        base, now = measured(args.base), measured(args.now)
        if not any(now.values()):
            todo = "add 'measure: NAME' to the experiment (docs/studies.md)"
            raise ConfigError("the runs measure nothing", str(args.now), todo)
        print(table(base, now))
        if condition is None:
            return 0
        value = condition.value(list(now.values()))
    except EmulationError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_status
    holds = condition.holds(value)
    print(f"\n{args.where}: {'**yes**' if holds else 'no'}, {condition.name} is {value:.6g}.")
    return int(holds)


if __name__ == "__main__":
    sys.exit(main())
