"""Turn the samples of probes, as a guest leaves them, into tables.

A sample is a record: time, number of the place, length, and the netlink messages with which the
kernel answers. docs/probes.md has the columns and units.
"""

import struct
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from qdisclab.emulation.errors import ConfigError

if TYPE_CHECKING:
    from qdisclab.emulation.kinds.probes.base import ProbeKind

_RECORD = struct.Struct("<QII")
_HEADER = struct.Struct("<IHHII")  # struct nlmsghdr
#: Column -> value by which the kernel says that there is none yet: all ones, or
#: TCP_INFINITE_SSTHRESH.
_NONE = {"ssthresh_packets": 0x7FFFFFFF, "min_rtt_us": 2**32 - 1, "pacing_rate_bit_s": 2**64 - 1}


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
