"""Tables that somebody else may have made, read within bounds."""

from io import BytesIO
from pathlib import Path
from typing import Any, Final

import pandas as pd

from qdisclab.analysis.errors import DataError
from qdisclab.emulation import datafile

MOST_CSV: Final = 8 << 20
"""Bytes of a table; the largest that ships has 11 kB."""
LONGEST_LINE: Final = 1 << 16
"""Bytes of a line of a table: pandas takes a thousand times as much for a column."""


def read_csv(path: Path, **options: Any) -> pd.DataFrame:
    """Read a table as pandas does, which also raises ValueError for what it cannot read."""
    content = datafile.read(path, MOST_CSV, "restore it where it comes with the repository")
    if max(map(len, content.splitlines()), default=0) > LONGEST_LINE:
        wrong = f"a line is longer than {LONGEST_LINE >> 10} KiB"
        raise DataError.of(path, wrong, "Is it a table")
    try:
        table: pd.DataFrame = pd.read_csv(BytesIO(content), **options)
    except (IndexError, OverflowError, TypeError) as error:  # of pandas, over odd headers
        raise ValueError(str(error)) from error
    return table
