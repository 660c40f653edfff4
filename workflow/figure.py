"""Make one figure from runs of another length than the paper's.

`python -m workflow.figure studies/gbw2015/figures/fig2b.yaml --length 20s --data results/data
--results results/emulated-smoke` does what `analysis.site.execute` does, with runs of that
length in place of the figure's own.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from analysis.errors import DataError
from analysis.site.execute import execute
from analysis.site.figurefile import read_figure
from emulation.host import storage


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m workflow.figure", description=__doc__)
    parser.add_argument("figure", type=Path, help="parameter file of the figure")
    parser.add_argument("--length", default="", help="of the runs: 20s (default: the paper's)")
    parser.add_argument("--data", type=Path, required=True, help="root of the runs")
    parser.add_argument("--results", type=Path, required=True, help="where results go")
    given = parser.parse_args(arguments)
    try:
        figure = read_figure(given.figure)
        chosen = {**figure.parameters, **({"length": given.length} if given.length else {})}
        print(execute(replace(figure, parameters=chosen), given.data, given.results))
    except DataError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        told = storage.of(error)
        print(f"error: {told}", file=sys.stderr)
        return told.exit_status
    return 0


if __name__ == "__main__":
    sys.exit(main())
