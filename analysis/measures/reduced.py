"""`python -m analysis.measures.reduced mine/first@2014/`: keep measures in place of data.

Seeds 1 to 3 of a cell ship whole. Of further ones, which claims need and nobody looks at one by
one, the provenance ships, with the SHA-256 of the data and the numbers that were measured:
`measures`. `emulate verify` does such a run again, compares the digest, and measures it anew;
`emulate run --again` brings its data back. Tables that probes left stay.
"""

import argparse
import json
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from analysis.errors import DataError
from analysis.measures.table import measure_run
from analysis.runs import study
from analysis.runs.dataset import RunFile, read_record
from analysis.runs.flentfile import RERUN
from emulation import datafile
from emulation.host.digest import sha256

WHOLE: Final = 3
"""Seeds of a cell whose data are kept."""


def reduce(run: RunFile) -> None:
    """Write what `run` measured into its provenance and remove its data.

    Raises DataError, and leaves all as it is, where the data are not what the provenance says, or
    where nothing could be kept of them.
    """
    record = read_record(run)
    if not run.data.is_file() or sha256(run.data) != record["data_sha256"]:
        raise DataError.of(run.data, "is not what the provenance describes", RERUN)
    numbers = measure_run(run)
    if not numbers:
        todo = "Keep its data, or name a 'measure' in its experiment"
        raise DataError.of(run.provenance, "its experiment names no measure", todo)
    wrong = [name for name, value in numbers.items() if not math.isfinite(value)]
    if wrong:
        raise DataError.of(run.data, f"has no value of {wrong[0]}", "Keep its data")
    partial = run.provenance.with_name(f".{run.provenance.name}.{os.getpid()}")
    text = json.dumps({**record, datafile.MEASURES: dict(numbers)}, indent=1, sort_keys=True)
    partial.write_text(text + "\n", encoding="utf-8")
    partial.replace(run.provenance)  # the data are removed when the measures are there
    stem = run.provenance.stem
    for path in run.provenance.parent.glob(f"{stem}.*"):
        if path.suffix not in (".json", ".csv"):
            path.unlink()


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("start", nargs="+", metavar="RUN", help="of the runs that begin so")
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder (default: data)")
    parser.add_argument(
        "--whole", type=int, default=WHOLE, metavar="N",
        help=f"seeds 1 to N keep their data (default: {WHOLE})",
    )  # fmt: skip
    study.add_option(parser)
    given = parser.parse_args(arguments)
    count = 0
    try:
        study.open_all(given.study)
        for start in given.start:
            runs = [
                run
                for path in sorted(given.data.glob("*/*/*/*/*/seed-*.json"))
                if (run := RunFile.at(given.data, path)).run.startswith(start)
            ]
            if not runs:
                raise DataError.of(
                    given.data, f"no run begins with {start}", "Name runs by their ids"
                )
            for run in runs:
                if run.seed > given.whole and not run.is_reduced:
                    reduce(run)
                    count += 1
    except DataError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{count} runs have their measures in place of their data")
    return 0


if __name__ == "__main__":
    sys.exit(main())
