"""Tables of probes beside runs, whatever kind recorded them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from qdisclab.analysis.errors import DataError, refused
from qdisclab.analysis.measures import packets
from qdisclab.analysis.runs.flentfile import RERUN
from qdisclab.analysis.runs.published import read_csv
from qdisclab.emulation.captures.samples import read_series
from qdisclab.emulation.kinds.probes.base import CAPTURE, QUEUE
from qdisclab.emulation.kinds.probes.probe import Probe
from qdisclab.emulation.model.run import Run

MOST_ROWS: Final = 10_000_000
"""Of the tables of all runs together, which take some 150 bytes of memory a row."""


def read(probe: Probe, path: Path) -> pd.DataFrame:
    """Return the table that `probe` left at `path`.

    A series has the column `time_s`, since the probe began; the packets of a queue have `node` and
    `interface`, and those of `packets.read`. Raises DataError where there is no such table.
    """
    if not path.is_file():
        todo = f"Repeat the run with --probe {probe}"
        raise DataError.of(path, f"no table of the probe '{probe.kind}'", todo)
    with refused(path, "is not a table ({})", RERUN, OSError, ValueError, KeyError):
        if probe.about.write is not None:
            return read_csv(path)
        if probe.about.recording == QUEUE:
            table = packets.read(path)
            return table.assign(**{name: table.attrs[name] for name in ("node", "interface")})
        table = read_series(path)
        for name, value in (("node", probe.node), ("interface", probe.interface)):
            if value is not None and name in table:
                table = table[table[name] == value]
        return table.assign(time_s=(table["time_ns"] - table["time_ns"].min()) / 1e9)


def tables(probe: Probe, files: Sequence[tuple[Run, Path]]) -> pd.DataFrame:
    """Return the tables of `probe` at `files` as one, with the id of each row's `run`.

    Raises DataError as `read`, of captures, which are no tables, and of too many rows.
    """
    if probe.about.recording == CAPTURE:
        raise DataError.of(files[0][1], "a capture is not a table", "Take the probe 'packets'")
    rows = sum(map(_rows, (path for _, path in files)))
    if rows > MOST_ROWS:
        what = f"{rows:,} rows of {len(files)} tables, more than {MOST_ROWS:,}"
        raise DataError.of(f"probe '{probe}'", what, "Choose fewer runs, or read them one by one")
    parts = [read(probe, path).assign(run=run.id) for run, path in files]
    return pd.concat(parts, ignore_index=True)


def _rows(path: Path) -> int:
    """Return the rows of a Parquet file; 0 of others, and where `read` will say what is wrong."""
    try:
        return int(pq.read_metadata(path).num_rows) if path.suffix == ".parquet" else 0
    except (OSError, pa.ArrowException):
        return 0
