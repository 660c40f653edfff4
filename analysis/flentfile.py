"""One flent data file, as arrays.

flent writes gzipped JSON (flent, `doc/data-format.rst`): `results` holds every series interpolated
to common steps of STEP_SIZE seconds, counted from the first measurement, and `SERIES_META` of the
metadata what each tool said at its end. A test starts with DELAY seconds without load, then come
LENGTH seconds of load, then DELAY seconds without (flent, `tests/netperf_definitions.inc`:
TOTAL_LENGTH = LENGTH + 2 DELAY).
"""

import gzip
import json
import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from analysis.errors import DataError

Floats = NDArray[np.float64]

FORMAT_VERSION: Final = 4  # the newest that flent 2.1.1 writes
TEST: Final = "rrul_be"
KINDS: Final[dict[str, re.Pattern[str]]] = {
    "tcp_download": re.compile(r"TCP download BE\d*"),
    "tcp_upload": re.compile(r"TCP upload BE\d*"),
    "ping_icmp": re.compile(r"Ping \(ms\) ICMP"),
    "ping_udp": re.compile(r"Ping \(ms\) UDP BE\d*"),
}
TCP_KINDS: Final = ("tcp_download", "tcp_upload")
PING_KINDS: Final = ("ping_icmp", "ping_udp")

RERUN: Final = "Delete the run's two files and run it again"


@dataclass(frozen=True)
class Series:
    """One flow or one probe. `time_s` counts from the first measurement of the test."""

    name: str  # flent's name, such as "TCP upload BE2"
    kind: str  # a key of KINDS
    time_s: Floats  # shape (n,), s; flent's steps, without those that have no value
    value: Floats  # shape (n,), Mbit/s of goodput for tcp_*, ms of round trip for ping_*
    transferred_mbit_s: float  # tcp_*: bytes of the whole flow by its duration; NaN for ping_*


@dataclass(frozen=True)
class FlentFile:
    """What the project uses of a flent data file."""

    series: tuple[Series, ...]
    length_s: float  # of load
    delay_s: float  # before the load, and again after it
    step_s: float
    flent_version: str


def kind_of(name: str) -> str | None:
    """Kind of a flent series; None for flent's own sums and averages and for socket statistics."""
    return next((kind for kind, pattern in KINDS.items() if pattern.fullmatch(name)), None)


def read_flent(path: Path) -> FlentFile:
    """Read one `rrul_be` data file.

    Raises DataError when the file is missing, truncated, not flent's, of another test or of a
    newer format, or when a flow or probe has no sample.
    """
    content = _content(path)
    try:
        metadata = content["metadata"]
        if int(content["version"]) > FORMAT_VERSION:
            raise DataError.of(
                path,
                f"flent data format {content['version']}, newer than {FORMAT_VERSION}",
                "Read it with a newer version of this project",
            )
        if metadata["NAME"] != TEST:
            raise DataError.of(
                path, f"flent test {metadata['NAME']!r}, not {TEST!r}", "Move it out of this folder"
            )
        length_s = float(metadata["LENGTH"])
        delay_s = (float(metadata["TOTAL_LENGTH"]) - length_s) / 2
        step_s = float(metadata["STEP_SIZE"])
        version = str(metadata["FLENT_VERSION"])
        series = tuple(_series(content))
    except (KeyError, TypeError, ValueError) as error:
        raise DataError.of(
            path, f"not a flent data file ({type(error).__name__}: {error})", RERUN
        ) from error
    _require_samples(path, series)
    return FlentFile(series, length_s, delay_s, step_s, version)


def _content(path: Path) -> dict[str, Any]:
    try:
        with gzip.open(path, "rb") as stream:
            text = stream.read()
    except FileNotFoundError as error:
        raise DataError.of(path, "no such file", RERUN) from error
    except (EOFError, zlib.error) as error:
        raise DataError.of(path, "truncated or damaged gzip data", RERUN) from error
    except gzip.BadGzipFile as error:
        raise DataError.of(path, "not gzip data, so not written by flent", RERUN) from error
    try:
        content = json.loads(text)
    except ValueError as error:
        raise DataError.of(path, f"not JSON ({error})", RERUN) from error
    if not isinstance(content, dict):
        raise DataError.of(path, "JSON, but not a flent data file", RERUN)
    return content


def _series(content: dict[str, Any]) -> list[Series]:
    steps = np.asarray(content["x_values"], dtype=np.float64)
    # flent computes step * i in floating point; rounding makes the steps of all runs compare equal
    time_s = np.round(steps, 6)
    found = []
    for name, values in sorted(content["results"].items()):
        kind = kind_of(name)
        if kind is None:
            continue
        value = np.asarray(values, dtype=np.float64)  # None becomes NaN
        if value.shape != time_s.shape:
            raise ValueError(f"series {name!r} has {value.size} values for {time_s.size} steps")
        measured = np.isfinite(value)
        moved = _transferred(content["metadata"]["SERIES_META"][name], kind)
        found.append(Series(name, kind, time_s[measured], value[measured], moved))
    return found


def _transferred(meta: dict[str, Any], kind: str) -> float:
    """netperf's own throughput in Mbit/s, from its counters because it prints two decimals only.

    Bytes are those that the client's end counts: sent for an upload, received for a download.
    """
    if kind not in TCP_KINDS:
        return float("nan")
    counter = "BYTES_SENT" if kind == "tcp_upload" else "BYTES_RECVD"
    return float(meta[counter]) * 8 / 1e6 / float(meta["ELAPSED_TIME"])


def _require_samples(path: Path, series: tuple[Series, ...]) -> None:
    for kind in (*TCP_KINDS, "ping_icmp"):
        if not any(one.kind == kind for one in series):
            raise DataError.of(path, f"no series of kind {kind}", RERUN)
    for one in series:
        if one.value.size == 0:
            raise DataError.of(path, f"series {one.name!r} has no sample", RERUN)
