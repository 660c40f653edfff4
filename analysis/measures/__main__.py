"""`python -m qdisclab.analysis.measures --data data --output results/measured` measures all runs.

Leaves a tidy table per study and experiment, `<output>/<study>/<experiment>.parquet`: one row per
run and metric (`table.MEASURED`). What was measured before and is as it was is not measured again.
Exit status 1 where runs cannot be used.
"""

import argparse
import shutil
import sys
from pathlib import Path

from qdisclab.analysis.measures.table import NOTHING, SAME_AS, measure_study
from qdisclab.analysis.runs import study
from qdisclab.emulation.errors import command


@command
def main(arguments: list[str] | None = None) -> int:
    """Run the command line, and return the exit status."""
    parser = argparse.ArgumentParser("python -m qdisclab.analysis.measures", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("data"), help="where runs are")
    parser.add_argument("--output", type=Path, required=True, help="where the tables go")
    parser.add_argument("--jobs", type=int, help="processes that read runs (default: one per core)")
    given = parser.parse_args(arguments)
    for each in study.known():
        folder = given.output / each.name
        shutil.rmtree(folder, ignore_errors=True)
        table = measure_study(each, each.runs_root(given.data), jobs=given.jobs)
        table = table[~table["metric"].isin([NOTHING, SAME_AS])]
        for experiment, rows in table.groupby("experiment"):
            folder.mkdir(parents=True, exist_ok=True)
            rows.to_parquet(folder / f"{experiment}.parquet", index=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
