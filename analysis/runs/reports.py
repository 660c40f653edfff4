"""What measuring programs reported: iperf, iperf3, netperf and ping, as one tidy table.

It is read from what they printed (`.output.tar.gz` beside a run), whichever kind of program of a
study started them, and is known by its form: iperf's CSV (`-y C`), iperf3's JSON (`-J`), netperf's
classic tables, the lines of ping.
"""

import io
import json
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pandas as pd

from qdisclab.analysis.errors import refused
from qdisclab.analysis.runs.flentfile import RERUN
from qdisclab.emulation import datafile
from qdisclab.emulation.datafile import OUTPUT, read_json

COLUMNS: Final = (
    "program", "tool", "flow", "time_s", "seconds", "whole", "goodput_mbit_s", "retransmits",
    "rtt_ms", "lost_percent",
)  # fmt: skip
"""One row per flow and interval, and one for the `whole` of a flow; per reply to a ping, and one
for all. `time_s` is the begin since that of the load, `flow` a number from 0 within a program.

Goodput of a whole flow is what its receiver got; in an interval of iperf3 it is what the sender's
socket took, and the RTT the sender's smoothed one. netperf's and iperf's own intervals take an
option (`-i 1` of iperf). Lost are pings, and packets of UDP.
"""
MOST: Final = 32 << 20  # bytes of what a program printed; the rest is not read
MOST_IN_ALL: Final = 256 << 20  # bytes of an archive, unpacked

_IPERF: Final = re.compile(
    r"^\d{14}(?:\.\d+)?(?:[+-]\d{4})?,[\d.a-f:]*,\d*,[\d.a-f:]*,\d*,(-?\d+),"
    r"([\d.]+)-([\d.]+),\d+,(\d+)(?:,(?:[\d.]+,\d+,\d+,([\d.]+),\d+))?$",
    re.ASCII | re.MULTILINE,
)
_NETPERF: Final = re.compile(r"^(?:MIGRATED )?(TCP|UDP)[ _](.*?) TEST", re.ASCII | re.MULTILINE)
_UNIT: Final = re.compile(r"10\^(\d)bits/s", re.ASCII)
_NUMBERS: Final = re.compile(r"^[\d. \t]+$", re.ASCII | re.MULTILINE)
REPLY: Final = re.compile(
    r"^(?:\[(\d+\.\d+)\] )?\d+ bytes from .* time=([\d.]+) ms", re.ASCII | re.MULTILINE
)
_LOSS: Final = re.compile(r"^(\d+) packets transmitted, (\d+) received", re.ASCII | re.MULTILINE)


def printed(provenance: Path) -> Iterator[tuple[str, str]]:
    """Yield each program of a run and what it printed; raise DataError for a damaged archive."""
    path = provenance.with_suffix(OUTPUT)
    content = io.BytesIO(datafile.read(path, MOST_IN_ALL))
    unread = refused(path, "cannot be read ({})", RERUN, OSError, tarfile.TarError)
    with unread, tarfile.open(fileobj=content) as archive:
        for member in archive:
            file = archive.extractfile(member) if Path(member.name).name == "stdout" else None
            if file is not None:
                yield str(Path(member.name).parent), file.read(MOST).decode(errors="replace")


def read(provenance: Path) -> pd.DataFrame:
    """Return the table of COLUMNS of a run; without rows where nothing was reported."""
    rows: list[dict[str, Any]] = []
    if provenance.with_suffix(OUTPUT).exists():
        ran = read_json(provenance).get("programs", {})
        for program, text in printed(provenance):
            wrong = "provenance without a usable entry ({1}: {0})"
            with refused(provenance, wrong, RERUN, AttributeError, TypeError, ValueError):
                began_s = float(ran.get(program, {}).get("start_s") or 0.0)
            for row in _rows(text):
                rows.append({**row, "program": program, "time_s": began_s + row["time_s"]})
    return pd.DataFrame(rows, columns=list(COLUMNS))


def whole(provenance: Path) -> pd.DataFrame:
    """Return those rows of `read` that are of whole flows."""
    table = read(provenance)
    return table[table["whole"].astype(bool)]


def _rows(text: str) -> Iterator[dict[str, Any]]:
    if text.startswith("{"):
        yield from _iperf3(text)
    elif text.startswith("PING "):
        yield from _ping(text)
    elif match := _NETPERF.search(text):
        yield from _netperf(match, text)
    else:
        yield from _iperf(text)


def _row(tool: str, flow: int, time_s: float, seconds: float, **values: Any) -> dict[str, Any]:
    about = {"tool": tool, "flow": flow, "time_s": time_s, "seconds": seconds}
    return about | {"whole": True} | values


def _iperf3(text: str) -> Iterator[dict[str, Any]]:
    try:
        report = json.loads(text)
        flows: dict[int, int] = {}
        for interval in report["intervals"]:
            for part in interval["streams"]:
                flow = flows.setdefault(part["socket"], len(flows))
                yield _row(
                    "iperf3", flow, part["start"], part["seconds"], whole=False,
                    goodput_mbit_s=part["bits_per_second"] / 1e6,
                    retransmits=part.get("retransmits"), rtt_ms=_ms(part.get("rtt")),
                )  # fmt: skip
        for stream in report["end"]["streams"]:
            sent, got = (stream.get("udp") or stream[end] for end in ("sender", "receiver"))
            flow, lost = flows.setdefault(sent["socket"], len(flows)), got.get("lost_percent")
            mbit_s = got["bits_per_second"] / 1e6 * (1 - (lost or 0) / 100)
            yield _row(
                "iperf3",
                flow,
                sent["start"],
                sent["seconds"],
                goodput_mbit_s=mbit_s,
                retransmits=sent.get("retransmits"),
                rtt_ms=_ms(sent.get("mean_rtt")),
                lost_percent=lost,
            )
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        return  # JSON of another program, or the report of an error


def _ms(microseconds: float | None) -> float | None:
    return microseconds / 1e3 if microseconds else None


def _iperf(text: str) -> Iterator[dict[str, Any]]:
    lines = [line for line in _IPERF.findall(text) if not line[0].startswith("-")]  # no sums
    flows = {number: flow for flow, number in enumerate(sorted({int(line[0]) for line in lines}))}
    ends = {name: max(float(line[2]) for line in lines if line[0] == name) for name, *_ in lines}
    for name, begin, end, bit_s, lost in lines:
        begin_s, seconds = float(begin), float(end) - float(begin)
        yield _row(
            "iperf", flows[int(name)], begin_s, seconds,
            whole=begin_s == 0 and float(end) == ends[name],
            goodput_mbit_s=float(bit_s) / 1e6, lost_percent=float(lost) if lost else None,
        )  # fmt: skip


def _netperf(match: re.Match[str], text: str) -> Iterator[dict[str, Any]]:
    lines = [line.split() for line in _NUMBERS.findall(text) if len(line.split()) > 3]
    if not lines:
        return
    if "REQUEST" in match[2]:
        *_, seconds, per_s = map(float, lines[0])
        yield _row("netperf", 0, 0.0, seconds, rtt_ms=1e3 / per_s if per_s else None)
    elif unit := _UNIT.search(text):
        *_, rate = map(float, lines[-1])
        sizes = 2 if match[1] == "UDP" else 3
        seconds = float(lines[0][sizes])
        yield _row("netperf", 0, 0.0, seconds, goodput_mbit_s=rate * 10 ** (int(unit[1]) - 6))


def _ping(text: str) -> Iterator[dict[str, Any]]:
    replies = [(float(at or "nan"), float(rtt)) for at, rtt in REPLY.findall(text)]
    if not replies:
        return
    sent_s = [at - rtt / 1e3 for at, rtt in replies]
    for begin_s, (_, rtt) in zip(sent_s, replies, strict=True):
        yield _row("ping", 0, begin_s - sent_s[0], 0.0, whole=False, rtt_ms=rtt)
    asked, answered = map(int, loss.groups()) if (loss := _LOSS.search(text)) else (0, 0)
    yield _row(
        "ping", 0, 0.0, sent_s[-1] - sent_s[0],
        rtt_ms=sum(rtt for _, rtt in replies) / len(replies),
        lost_percent=100 * (1 - answered / asked) if asked else None,
    )  # fmt: skip
