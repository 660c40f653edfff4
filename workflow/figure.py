"""Make one figure, from runs of the paper's length or of another.

`python -m workflow.forks figure studies/gbw2015/figures/fig2b.yaml --length 20s --data results/data
--results results/emulated-smoke` does what `analysis.site.execute` does, with runs of that
length in place of the figure's own, and shows it on the page that grows.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

#: Seconds between two states of the page that grows; to make one takes up to three.
GROWS_S = 10


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m workflow.forks figure", description=__doc__)
    parser.add_argument("figure", type=Path, help="parameter file of the figure")
    parser.add_argument(
        "--length", action="append", default=[],
        help="of the runs: 20s; of those of some experiments: rrul=20s, for each (default: the "
        "paper's)",
    )  # fmt: skip
    parser.add_argument("--data", type=Path, required=True, help="root of the runs")
    parser.add_argument("--results", type=Path, required=True, help="where results go")
    return parser.parse_args(arguments)


def _was_written(page: Path, figure: Path) -> bool:
    """Whether another figure has just shown itself on `page`, which need not be made again yet for
    the one whose file is `figure`."""
    with suppress(OSError):
        return figure.stat().st_mtime - page.stat().st_mtime < GROWS_S
    return False


def _length(given: list[str]) -> dict[str, str | dict[str, str]]:
    """The notebook's parameter `length`, if it is given."""
    if given and "=" in given[0]:
        return {"length": dict(one.split("=") for one in given)}
    return {"length": given[0]} if given else {}


def draw(given: argparse.Namespace, kernels: str | None = None) -> int:
    """Draw it, with a kernel of the manager `kernels`; returns the exit status."""
    from analysis.errors import DataError  # these take seconds, which a fork does not need
    from analysis.site import pages, report
    from analysis.site.execute import PAGE, execute
    from analysis.site.figurefile import read_figure
    from emulation.host import storage

    try:
        figure = read_figure(given.figure)
        figure = replace(figure, parameters={**figure.parameters, **_length(given.length)})
        made = execute(figure, given.data, given.results, kernels=kernels)
        print(made)
        if not _was_written(given.results / pages.INDEX, made / PAGE):
            with suppress(DataError, FileNotFoundError):  # of a figure that is being drawn
                report.grow(given.results)
    except DataError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        told = storage.of(error)
        print(f"error: {told}", file=sys.stderr)
        return told.exit_status
    return 0
