"""`python -m qdisclab.analysis.site.claims --data data --results results` writes the claims with
their verdicts, and their page.

Exit status 1 where data or statements cannot be used.
"""

import argparse
import sys
from pathlib import Path

from qdisclab.analysis.claims.assess import verdicts
from qdisclab.analysis.runs import study
from qdisclab.analysis.site.claims_page import write_claims
from qdisclab.emulation.errors import command


@command
def main(arguments: list[str] | None = None) -> int:
    """Run the command line, and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m qdisclab.analysis.site.claims", description=__doc__
    )
    parser.add_argument("--data", type=Path, default=Path("data"), help="where runs are")
    parser.add_argument("--results", type=Path, default=Path("results"), help="where the page goes")
    parser.add_argument("--jobs", type=int, help="processes that read runs (default: one per core)")
    given = parser.parse_args(arguments)
    claims = verdicts(given.data, study.known(), jobs=given.jobs)
    print(write_claims(given.results, claims))
    return 0


if __name__ == "__main__":
    sys.exit(main())
