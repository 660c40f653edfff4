"""The table of a run's packets: one row per packet that came to the queue under test, as stored.

Times are rounded down to 0.1 ms, a twelfth of what a full packet takes to leave at 10 Mbit/s, and
stored as what they are after the row before: a queue that is never empty sends at regular
intervals, so that a run takes half of the room that it takes with exact sojourn times. Their exact
percentiles are counted apart (`summary`).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from emulation.errors import DamagedData

FATES = ("sent", "marked", "dropped")
TICK_NS = 100_000
#: Of the table in memory, in the order of arrival.
COLUMNS = (
    "arrived_100us",  # at the queue, since the load began
    "left_100us",  # the queue, since the load began; of a dropped packet NaN
    "flow",  # from 0, by address and port of its sender; pings are the last
    "length",  # of the Ethernet frame, bytes
    "fate",  # an index of FATES
    # Of the round trip that ends a synthetic packet pair that begins with this packet: what is
    # left of it without base RTT and sojourn time; NaN where no pair begins.
    "elsewhere_100us",
)
#: Of the file: `_after_` is what a time is after that of the row before, or of the last that has
#: one; of the first row after 0.
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
#: Of the file of a run over WiFi, which has ten times the packets: coarser times, and which way a
#: packet's flow goes instead of its number.
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
#: In which each column gets smallest, by trial; the others plain.
_SPLIT = (
    "arrived_after_100us",
    "left_after_100us",
    "flow",
    "arrived_after_ms",
    "left_after_ms",
    "elsewhere_2ms",
)
#: Of a file that is read: that of an hour at 100 Mbit/s. The largest that ships has 0.4 million.
MOST_ROWS = 50_000_000
ROW_BYTES = 32  # as it is unpacked; 24 in what ships
_AGAIN = "delete the run's two files and run it again"
_MS = 10**6 // TICK_NS  # ticks


#: Of `summary`: box and whiskers as khademi2013 draws them (Fig. 2), and the greatest.
SHARES = {"p10": 0.1, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p90": 0.9, "most": 1.0}


def summary(delay_ns: NDArray[np.float64]) -> dict[str, int]:
    """Percentiles of delays, of which NaN are none, in microseconds; empty where there is none."""
    there = delay_ns[~np.isnan(delay_ns)] / 1000
    if not there.size:
        return {}
    found = np.quantile(there, list(SHARES.values()))
    return {name: round(float(value)) for name, value in zip(SHARES, found, strict=True)}


def write(table: pd.DataFrame, path: Path, downloads: int | None = None) -> None:
    """Write a table of `COLUMNS` to `path`; equal tables give equal bytes.

    With `downloads`, of a run over WiFi in which so many flows go to the stations, as
    `SCHEMA_STATIONS` has it, else as `SCHEMA`.
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
        column_encoding={
            name: "BYTE_STREAM_SPLIT" if name in _SPLIT else "PLAIN" for name in schema.names
        },
        write_statistics=False,
        store_schema=False,
    )


def read(path: Path) -> pd.DataFrame:
    """The table of `COLUMNS` at `path`; of a run over WiFi with `up` instead of `flow`.

    Raises `DamagedData` for a file that is none.
    """
    stored = _stored(path).to_pandas()
    if "up" in stored:
        stored = stored.assign(
            arrived_after_100us=stored["arrived_after_ms"] * _MS,
            left_after_100us=stored["left_after_ms"] * _MS,
            elsewhere_100us=stored["elsewhere_2ms"] * 2 * _MS,
        )
    for name in ("arrived_100us", "left_100us"):  # cumsum leaves NaN where they are
        stored[name] = stored[name.replace("_100us", "_after_100us")].cumsum()
    table: pd.DataFrame = stored[
        ["up" if name == "flow" and "up" in stored else name for name in COLUMNS]
    ]
    return table


def _stored(path: Path) -> pa.Table:
    """The table as the file has it, looked at before anything of it is unpacked."""
    try:
        with pq.ParquetFile(path) as file:
            about, schema = file.metadata, file.schema_arrow
            if not any(schema.equals(one) for one in (SCHEMA, SCHEMA_STATIONS)):
                raise DamagedData("has other columns than a table of packets", str(path), _AGAIN)
            size = sum(about.row_group(n).total_byte_size for n in range(about.num_row_groups))
            if about.num_rows > MOST_ROWS or size > MOST_ROWS * ROW_BYTES:
                raise DamagedData(f"has more than {MOST_ROWS} rows", str(path), _AGAIN)
            found = file.read()
    except FileNotFoundError:
        raise DamagedData("no such file", str(path), _AGAIN) from None
    except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
        what = f"no table of packets ({type(error).__name__}: {str(error).partition(chr(10))[0]})"
        raise DamagedData(what, str(path), _AGAIN) from error
    if pc.max(found["fate"]).as_py() not in (None, *range(len(FATES))):
        raise DamagedData("has a fate that there is not", str(path), _AGAIN)
    return found
