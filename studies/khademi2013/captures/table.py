"""The table of a run's packets: one row per packet that came to the queue under test.

Times are rounded down to 0.1 ms, a twelfth of the time that a full packet takes to leave at 10
Mbit/s, and stored as differences from the row before: a queue that is never empty sends at regular
intervals, so that a file has half the size of one with exact sojourn times. The exact percentiles
of sojourn times are stored elsewhere (`summary`).
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from qdisclab.emulation import datafile
from qdisclab.emulation.errors import DamagedData

FATES = ("sent", "marked", "dropped")
TICK_NS = 100_000
#: Columns of the table in memory; rows are in the order of arrival.
COLUMNS = (
    "arrived_100us",  # at the queue, since the load began
    "left_100us",  # the queue, since the load began; NaN if the packet was dropped
    "flow",  # from 0, by address and port of its sender; pings are the last
    "length",  # of the Ethernet frame, bytes
    "fate",  # an index of FATES
    # Round trip of the synthetic packet pair that begins with this packet, without base RTT and
    # sojourn time; NaN where no pair begins.
    "elsewhere_100us",
)
#: Columns of the file: `_after_` is the difference from the last row before that has a time; from 0
#: for the first.
SCHEMA = pa.schema(
    [
        pa.field("arrived_after_100us", pa.int32(), nullable=False),
        pa.field("left_after_100us", pa.int32()),
        pa.field("flow", pa.uint16(), nullable=False),
        pa.field("length", pa.uint16(), nullable=False),
        pa.field("fate", pa.uint8(), nullable=False),
        pa.field("elsewhere_100us", pa.int32()),
    ]
)
#: Columns of the file of a run over WiFi, which has ten times the packets: coarser times, and the
#: direction of a packet's flow instead of its number.
SCHEMA_STATIONS = pa.schema(
    [
        pa.field("arrived_after_ms", pa.int32(), nullable=False),
        pa.field("left_after_ms", pa.int32()),
        pa.field("up", pa.bool_(), nullable=False),
        pa.field("length", pa.uint16(), nullable=False),
        pa.field("fate", pa.uint8(), nullable=False),
        pa.field("elsewhere_2ms", pa.int32()),  # to the nearest
    ]
)
#: Most rows of a file to read: an hour at 100 Mbit/s. The largest file that ships has 0.4 million.
MOST_ROWS = 50_000_000
ROW_BYTES = 32  # most bytes per row, unpacked; files that ship have 24
_AGAIN = "delete the run's two files and run it again"
_MS = 10**6 // TICK_NS  # ticks


#: Percentiles of `summary`: box and whiskers, and the maximum.
SHARES = {"p10": 0.1, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p90": 0.9, "most": 1.0}


def summary(delay_ns: NDArray[np.float64]) -> dict[str, int]:
    """Return percentiles of delays in microseconds, ignoring NaN; empty without a delay."""
    delay_us = delay_ns[~np.isnan(delay_ns)] / 1000
    if not delay_us.size:
        return {}
    quantiles = np.quantile(delay_us, list(SHARES.values()))
    return {name: round(float(value)) for name, value in zip(SHARES, quantiles, strict=True)}


def encoding(column: str) -> str:
    """Return how a column is stored: its bytes split where that is smallest, by trial."""
    split = "_after_" in column or column in ("flow", "elsewhere_2ms")
    return "BYTE_STREAM_SPLIT" if split else "PLAIN"


def write(table: pd.DataFrame, path: Path, downloads: int | None = None) -> None:
    """Write a table of `COLUMNS` to `path`; equal tables give equal bytes.

    The columns are those of `SCHEMA` or, with `downloads`, of `SCHEMA_STATIONS`: for a run over
    WiFi in which so many flows go to the stations.
    """
    schema = SCHEMA if downloads is None else SCHEMA_STATIONS
    stored = table
    if downloads is not None:
        elsewhere_ms = table["elsewhere_100us"] // _MS
        stored = table.assign(
            arrived_ms=table["arrived_100us"] // _MS,
            left_ms=table["left_100us"] // _MS,
            up=table["flow"] >= downloads,
            elsewhere_2ms=(elsewhere_ms + 1) // 2,
        )
    for name in schema.names:
        if "_after_" in name:
            times = stored[name.replace("_after", "")].dropna()
            stored = stored.assign(**{name: pd.Series(np.diff(times, prepend=0), times.index)})
    pq.write_table(
        pa.Table.from_pandas(stored, schema, preserve_index=False).replace_schema_metadata(None),
        path,
        compression="brotli",  # an eighth smaller than zstd at its best
        compression_level=11,
        use_dictionary=False,
        column_encoding={name: encoding(name) for name in schema.names},
        write_statistics=False,
        store_schema=False,
    )


def read(path: Path) -> pd.DataFrame:
    """Return the table of `COLUMNS` at `path`, with `up` instead of `flow` for a run over WiFi.

    Raises `DamagedData` if the file is not such a table.
    """
    stored = _stored(path).to_pandas()
    if "up" in stored:
        stored = stored.assign(
            arrived_after_100us=stored["arrived_after_ms"] * _MS,
            left_after_100us=stored["left_after_ms"] * _MS,
            elsewhere_100us=stored["elsewhere_2ms"] * 2 * _MS,
        )
    for name in ("arrived_100us", "left_100us"):  # cumsum leaves NaN in place
        stored[name] = stored[name.replace("_100us", "_after_100us")].cumsum()
    table: pd.DataFrame = stored[
        ["up" if name == "flow" and "up" in stored else name for name in COLUMNS]
    ]
    return table


def _stored(path: Path) -> pa.Table:
    """Return the table of the file, whose columns and size are checked before it is unpacked."""
    try:
        with open(path, "rb", opener=datafile.regular) as stream, pq.ParquetFile(stream) as file:
            about, columns = file.metadata, file.schema_arrow
            if not any(columns.equals(schema) for schema in (SCHEMA, SCHEMA_STATIONS)):
                raise DamagedData("has other columns than a table of packets", str(path), _AGAIN)
            size = sum(about.row_group(n).total_byte_size for n in range(about.num_row_groups))
            if about.num_rows > MOST_ROWS or size > MOST_ROWS * ROW_BYTES:
                raise DamagedData(f"has more than {MOST_ROWS} rows", str(path), _AGAIN)
            stored = file.read()
    except FileNotFoundError:
        raise DamagedData("no such file", str(path), _AGAIN) from None
    except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
        reason = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
        what = f"is not a table of packets ({reason})"
        raise DamagedData(what, str(path), _AGAIN) from error
    if pc.max(stored["fate"]).as_py() not in (None, *range(len(FATES))):
        raise DamagedData("has an unknown fate", str(path), _AGAIN)
    return stored
