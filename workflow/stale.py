"""`python -m workflow.stale data` tells how many of the runs below a folder are stale, and why
(`emulation.checks.stale`)."""

import argparse
import sys
from collections import Counter
from pathlib import Path

from qdisclab.emulation import project
from qdisclab.emulation.checks.stale import causes, sentences
from qdisclab.emulation.errors import ConfigError
from qdisclab.emulation.host.storage import command
from qdisclab.emulation.runs.index import indexes
from qdisclab.emulation.study import studies


@command
def main(arguments: list[str] | None = None) -> int:
    """Print what is stale; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m workflow.stale", description=__doc__)
    parser.add_argument("data", type=Path, nargs="?", default=project.data())
    given = parser.parse_args(arguments)
    if not given.data.is_dir():
        raise ConfigError("no such folder", str(given.data), "name one with runs")
    folder = given.data.absolute().parent  # of a study of one's own, which has its runs in it
    if (folder / studies.FILE).is_file():
        studies.add(folder)
    studies_of = list(indexes(given.data))
    counted = causes(run for study in studies_of for run in study.runs)
    counted += Counter(gone=sum(len(study.damaged) for study in studies_of))
    for line in sentences(counted, given.data) or [f"{counted.total()} runs, none of them stale"]:
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
