"""One flent data file, as arrays.

flent writes gzipped JSON (flent, `doc/data-format.rst`): `results` holds every series interpolated
to common steps of STEP_SIZE seconds, counted from the first measurement, `raw_values` what a tool
said of each packet or page, and `SERIES_META` of the metadata what it said at its end. A test with
load starts with DELAY seconds without, then come LENGTH seconds of load, then DELAY seconds without
(flent, `tests/netperf_definitions.inc`: TOTAL_LENGTH = LENGTH + 2 DELAY).
"""

import math
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from qdisclab.analysis.errors import UNUSABLE, DataError, refused
from qdisclab.emulation.datafile import read_json

Floats = NDArray[np.float64]

FORMAT_VERSION: Final = 4  # the newest that flent 2.1.1 writes
#: How flent tells flows apart; "%s" is for what else may follow a number.
_CLASSES: Final = r" BE\d*(::\d+%s)?| BK| CS5| EF|::\d+| [A-Z]\w+ (BE|CS1)"
KINDS: Final[dict[str, re.Pattern[str]]] = {
    "tcp_download": re.compile(f"TCP download({_CLASSES % ''})?"),
    "tcp_upload": re.compile(f"TCP upload({_CLASSES % '| [0-9.]+'})?"),
    "ping_icmp": re.compile(r"Ping \(ms\) ICMP(\d* [0-9.]+)?"),
    "ping_udp": re.compile(r"Ping \(ms\) UDP (BE\d*|BK|EF)"),
    "voip": re.compile(r"VoIP::delay"),
    "page": re.compile(r"HTTP latency"),
}
"""Goodput in Mbit/s of TCP flows; round trips in ms; one-way delay in ms of the VoIP flow in means
over a step; how long each page of a web test took, in ms."""
TCP_KINDS: Final = ("tcp_download", "tcp_upload")
PING_KINDS: Final = ("ping_icmp", "ping_udp")
TESTS: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("rrul_be", "rrul", "tcp_bidirectional"), (*TCP_KINDS, "ping_icmp")),
    **dict.fromkeys(("udp_flood", "udp_flood_var_up"), ("ping_icmp",)),
    "voip-1up": ("tcp_upload", "voip"),
    "voip-rrul": (*TCP_KINDS, "ping_icmp", "voip"),
    "http": ("page",),
    "http-1up": ("tcp_upload", "page"),
    "http-rrul": (*TCP_KINDS, "ping_icmp", "page"),
    "rtt_fair_up": ("tcp_upload", "ping_icmp"),
}
"""flent's name of a test -> the kinds of series that it has to have; others have what they have."""
PACKETS: Final = "VoIP"  # the series whose raw values are the packets of the VoIP flow

RERUN: Final = "Delete the run's two files and run it again"


@dataclass(frozen=True)
class Series:
    """One flow or one probe. `time_s` counts from the first measurement of the test."""

    name: str  # flent's name, such as "TCP upload BE2"
    kind: str  # a key of KINDS
    time_s: Floats  # shape (n,), s; flent's steps, but for those without a value; begins of pages
    value: Floats  # shape (n,), in the unit of its kind
    transferred_mbit_s: float  # tcp_*: bytes of the whole flow by its duration; NaN for others


@dataclass(frozen=True)
class Loss:
    """Packets of the VoIP flow, by their sequence numbers."""

    packets: int  # from the first to the last that arrived
    lost: int  # of them


@dataclass(frozen=True)
class FlentFile:
    """What the project uses of a flent data file."""

    test: str  # flent's name of it
    series: tuple[Series, ...]
    length_s: float  # of load
    delay_s: float  # before the load, and again after it
    step_s: float
    flent_version: str
    loss: Loss | None  # of the VoIP flow, where there is one
    page_ms: float  # mean of flent's steps of a web test, NaN of others


def kind_of(name: str) -> str | None:
    """Return the kind of a flent series; None for flent's own sums and averages and for socket
    statistics."""
    return next((kind for kind, pattern in KINDS.items() if pattern.fullmatch(name)), None)


@contextmanager
def content_of(path: Path, todo: str = RERUN) -> Iterator[dict[str, Any]]:
    """Read a file of flent's; inside, what is not as flent writes it raises DataError, which asks
    to do `todo`."""
    content = read_json(path, todo[0].lower() + todo[1:])
    with refused(path, "not a flent data file ({1}: {0})", todo, *UNUSABLE):
        if (version := int(content.get("version", 1))) > FORMAT_VERSION:
            what = f"flent data format {version}, newer than {FORMAT_VERSION}"
            raise DataError.of(path, what, "Read it with a newer version of this project")
        yield content


def read_flent(path: Path, kinds: Collection[str] = tuple(KINDS)) -> FlentFile:
    """Read a data file of any test of flent's, of its series those of `kinds`.

    Raises DataError when the file is missing, truncated, not flent's or of a newer format,
    when a flow or probe has no sample, or one of TESTS lacks a kind of series.
    """
    with content_of(path) as content:
        metadata = content["metadata"]
        test = str(metadata["NAME"])
        length_s = float(metadata["LENGTH"])
        delay_s = (float(metadata["TOTAL_LENGTH"]) - length_s) / 2
        step_s = float(metadata["STEP_SIZE"])
        version = str(metadata["FLENT_VERSION"])
        series = tuple(_series(content, kinds))
        packets = content["raw_values"].get(PACKETS)
        loss = _loss(packets) if packets else None
        page_ms = _page_ms(content["results"]) if "page" in kinds else math.nan
        if not all(map(math.isfinite, (length_s, delay_s, step_s))):
            raise ValueError("a length that is not finite")
    _require_samples(path, series, [kind for kind in TESTS.get(test, ()) if kind in kinds])
    return FlentFile(test, series, length_s, delay_s, step_s, version, loss, page_ms)


def _series(content: dict[str, Any], kinds: Collection[str]) -> list[Series]:
    steps = np.asarray(content["x_values"], dtype=np.float64)
    # flent computes step * i in floating point; rounding makes the steps of all runs compare equal
    steps = np.round(steps, 6)
    series = []
    for name, values in sorted(content["results"].items()):
        kind = kind_of(name)
        if kind is None or kind not in kinds:
            continue
        if len(values) != steps.size:
            raise ValueError(f"series {name!r} has {len(values)} values for {steps.size} steps")
        if kind == "page":
            series.append(_pages(content, name))
            continue
        value = np.asarray(values, dtype=np.float64)  # None becomes NaN
        measured = np.isfinite(value)
        if kind == "voip":  # ITGDec has 0 for a step in which no packet arrived
            measured &= value > 0
        moved = _transferred(content["metadata"]["SERIES_META"][name], kind, value[measured])
        series.append(Series(name, kind, steps[measured], value[measured], moved))
    return series


def _pages(content: dict[str, Any], name: str) -> Series:
    """Each page, and not flent's interpolation between them; a time is that of the page's begin,
    and the first page, with which the test starts, is at 0."""
    pages = content["raw_values"][name]
    value = np.asarray([page["val"] for page in pages], dtype=np.float64)
    begin_s = np.asarray([page["t"] for page in pages], dtype=np.float64) - value / 1e3
    time_s: Floats = np.round(begin_s - begin_s.min(initial=np.inf), 6)
    return Series(name, "page", time_s, value, float("nan"))


def flows_began_s(content: dict[str, Any]) -> dict[str, float]:
    """Return when each TCP flow began, in s since 1970.

    As its metadata says, or in a file as flent leaves it an interval before its first report.
    Raises LookupError, TypeError or ValueError for a file that does not say it.
    """
    began = {}
    for name, about in content["metadata"]["SERIES_META"].items():
        if kind_of(name) in TCP_KINDS:
            first = {} if "STARTED" in about else content["raw_values"][name][0]
            began[name] = float(about.get("STARTED", first.get("t"))) - float(first.get("dur", 0))
    return began


def _page_ms(results: dict[str, Any]) -> float:
    """Return the mean over flent's steps of how long a page takes, in ms; NaN where there is none.

    flent's combined plots take this for the mean of the pages. It interpolates between the ends of
    two pages, at no more than five steps before an end; so a page that takes long counts more.
    """
    pages = [name for name in results if kind_of(name) == "page"]
    steps = [value for name in pages for value in results[name] if value is not None]
    return float(np.mean(steps)) if steps else math.nan


def _loss(packets: list[dict[str, Any]]) -> Loss:
    """Of the sequence numbers between the first and the last to arrive, those that did not (flent,
    `combiners.py`, RawSeqLossReducer, over the whole test).

    irtt names the packets that were lost on the way there and back; those lost on the way back had
    arrived.
    """
    there = (of for of in packets if not of.get("lost") or of.get("lost_dir") == "down")
    arrived = [int(packet["seq"]) for packet in there]
    if not arrived:
        raise ValueError("no packet of the VoIP flow arrived")
    sent = max(arrived) - min(arrived) + 1
    return Loss(sent, sent - len(set(arrived)))


def _transferred(meta: dict[str, Any], kind: str, steps: Floats) -> float:
    """netperf's own throughput in Mbit/s, from its counters because it prints two decimals only.

    Bytes are those that the client's end counts: sent for an upload, received for a download. iperf
    leaves no counters; the mean of its `steps` stands for them.
    """
    if kind not in TCP_KINDS:
        return float("nan")
    counter = "BYTES_SENT" if kind == "tcp_upload" else "BYTES_RECVD"
    if counter not in meta and "ELAPSED_TIME" not in meta and steps.size:
        return float(np.mean(steps))
    return float(meta[counter]) * 8 / 1e6 / float(meta["ELAPSED_TIME"])


def _require_samples(path: Path, series: tuple[Series, ...], kinds: Collection[str]) -> None:
    for kind in kinds:
        if not any(each.kind == kind for each in series):
            raise DataError.of(path, f"no series of kind {kind}", RERUN)
    for each in series:
        # flent drops the samples of a flow that starves at first, but keeps netperf's own count.
        moved = each.transferred_mbit_s > 0
        if each.value.size == 0 and not moved:
            raise DataError.of(path, f"series {each.name!r} has no sample", RERUN)
        least = each.value.min(initial=np.inf)
        possible = moved and least >= 0 if each.kind in TCP_KINDS else least > 0
        if not possible:
            raise DataError.of(path, f"series {each.name!r} has an impossible value", RERUN)


def read_series(path: Path) -> dict[str, Floats]:
    """Return the series of a flent file by name, NaN where there is no value, and `time_s`.

    Raises DataError where it is none.
    """
    with content_of(path) as content:
        series = {"time_s": content["x_values"], **content["results"]}
        return {name: np.asarray(values, dtype=np.float64) for name, values in series.items()}
