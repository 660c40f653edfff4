"""Turn the samples of probes, as a guest leaves them, into tables.

A sample is a record: time, number of the place, length, and the netlink messages with which the
kernel answers. docs/probes.md has the columns and units.
"""

import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from qdisclab.emulation import datafile
from qdisclab.emulation.errors import ConfigError, DamagedData

if TYPE_CHECKING:
    from qdisclab.emulation.kinds.probes.base import ProbeKind

_RECORD = struct.Struct("<QII")
_HEADER = struct.Struct("<IHHII")  # struct nlmsghdr
#: Column -> value by which the kernel says that there is none yet: all ones, or
#: TCP_INFINITE_SSTHRESH.
_NONE = {"ssthresh_packets": 0x7FFFFFFF, "min_rtt_us": 2**32 - 1, "pacing_rate_bit_s": 2**64 - 1}

#: Of a table: values, and bytes of all its texts. A minute of 50 sockets, 20 times a second, has 4
#: million values.
MOST_VALUES = 500_000_000
MOST_TEXT = 1 << 30


def read_series(path: Path) -> pd.DataFrame:
    """Return a table that was made by `tables`, or another of numbers and short texts.

    Raises `DamagedData` for a pipe, and for a table of something else or with too much in it:
    Parquet packs a million equal values into a few bytes.
    """
    todo = "make it again, with fewer probes or at longer intervals"
    with open(path, "rb", opener=datafile.regular) as stream:
        with pq.ParquetFile(stream) as file:
            columns, about = file.schema_arrow, file.metadata
            groups = (about.row_group(number) for number in range(about.num_row_groups))
            values = sum(group.num_rows for group in groups) * len(columns)
        if values > MOST_VALUES or any(not _is_plain(column.type) for column in columns):
            raise DamagedData(f"is no table of at most {MOST_VALUES} values", str(path), todo)
        texts = [column.name for column in columns if _is_text(column.type)]
        stored = pq.read_table(stream, columns=texts, read_dictionary=texts)
        parts = (chunk for name in texts for chunk in stored[name].chunks)
        if sum(map(_text_bytes, parts)) > MOST_TEXT:
            raise DamagedData(f"has more than {MOST_TEXT >> 20} MiB of text", str(path), todo)
        stream.seek(0)
        return pd.read_parquet(stream)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_plain(kind: pa.DataType) -> bool:
    numbers = (pa.types.is_integer(kind), pa.types.is_floating(kind), pa.types.is_boolean(kind))
    return _is_text(kind) or any(numbers)


def _text_bytes(texts: pa.DictionaryArray) -> int:
    lengths = pc.binary_length(texts.dictionary).take(texts.indices)
    return pc.sum(lengths).as_py() or 0


def tables(
    places: list[dict[str, Any]], kinds: Mapping[str, "ProbeKind"], samples: bytes
) -> dict[str, pd.DataFrame]:
    """Return the tables of `samples`, taken at `places` (`probe.places`), by what was recorded.

    `kinds` are those whose rows the samples become. Raises `ConfigError` if they are damaged.
    """
    series = {name: kind for name, kind in kinds.items() if kind.add}
    rows = {name: Rows() for name in series}
    at = 0
    while at < len(samples):
        time_ns, number, length = _RECORD.unpack_from(samples, at)
        at += _RECORD.size
        if at + length > len(samples):
            raise ConfigError("samples end within a record", "", "do the run again")
        place = places[number]
        where = (time_ns, place["node"], place.get("interface"))
        if (add := kinds[place["kind"]].add) is not None:
            for body in _messages(samples[at : at + length]):
                add(rows[place["kind"]], where, body)
        at += length
    return {name: rows[name].table(kind.columns) for name, kind in series.items()}


class Rows:
    """Rows of a table: each is a tuple and, in further columns, structs of the kernel."""

    def __init__(self) -> None:
        self._rows: list[tuple[Any, ...]] = []
        self._structs: dict[tuple[str, tuple[tuple[str, str], ...]], dict[int, bytes]] = {}
        self._values: dict[str, dict[int, int]] = {}
        self._parts: dict[str, float] = {}

    def add(self, row: tuple[Any, ...]) -> None:
        self._rows.append(row)

    def add_struct(
        self,
        prefix: str,
        fields: tuple[tuple[str, str], ...],
        content: bytes,
        parts: Mapping[str, float] = MappingProxyType({}),
    ) -> None:
        """Add the struct `content` to the last row; fields that an older kernel lacks are 0.

        `parts` has the fields that the kernel gives as parts of a whole, and how many.
        """
        self._parts |= {prefix + name: number for name, number in parts.items()}
        size = _dtype(fields).itemsize
        whole = content[:size].ljust(size, b"\0")
        self._structs.setdefault((prefix, fields), {})[len(self._rows) - 1] = whole

    def add_value(self, column: str, value: int) -> None:
        self._values.setdefault(column, {})[len(self._rows) - 1] = value

    def table(self, columns: tuple[str, ...]) -> pd.DataFrame:
        table = pd.DataFrame(self._rows, columns=list(columns))
        new: dict[str, Any] = {}
        for (prefix, fields), structs in self._structs.items():
            array = np.frombuffer(b"".join(structs.values()), _dtype(fields))
            rows = np.fromiter(structs, np.int64)
            for name, _ in fields:
                if name:
                    parts = self._parts.get(prefix + name, 0)
                    new[prefix + name] = _column(name, array[name], rows, len(table), parts)
        for column, values in self._values.items():
            rows = np.fromiter(values, np.int64)
            array = np.fromiter(values.values(), np.float64)
            new[column] = _column(column, array, rows, len(table))
        return pd.concat([table, pd.DataFrame(new, index=table.index)], axis=1)


def _dtype(fields: tuple[tuple[str, str], ...]) -> np.dtype[Any]:
    """Return the type of a packed struct of `fields`."""
    numbered = enumerate(fields)
    return np.dtype([(name or f"_{number}", f"<{kind}") for number, (name, kind) in numbered])


def _column(name: str, values: Any, rows: Any, length: int, parts: float = 0) -> Any:
    """Return a column with `values`, in its unit, at `rows` and NaN elsewhere.

    Integers stay integers if every row has a value.
    """
    scaled = values
    if parts:
        scaled = values / parts
    elif name == "ecn_mode":  # other bits are about options
        scaled = values & 3
    elif name.endswith("_bit_s"):
        scaled = values.astype(np.float64) * 8
    if name in _NONE:
        scaled = np.where(values == _NONE[name], np.nan, scaled)
    if len(rows) == length:
        return scaled
    column = np.full(length, np.nan)
    column[rows] = scaled
    return column


def _messages(content: bytes) -> Iterator[bytes]:
    """Yield the body of each netlink message."""
    at = 0
    while at + _HEADER.size <= len(content):
        (length,) = struct.unpack_from("<I", content, at)
        yield content[at + _HEADER.size : at + length]
        at += -(-length // 4) * 4
