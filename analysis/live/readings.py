"""A run while it goes on: what its tools have printed so far, as readings, numbers and a figure.

Tools are netperf, which prints a flow's rate every 0.2 s or more, and fping. All times are in
seconds since the first probe, flent's own start; the load begins DELAY_S later.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Final, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.plots.style import Palette, look
from analysis.runs.flentfile import Floats

DELAY_S: Final = 5.0  # of flent, before and after the load
GRID_S: Final = 0.2
SMOOTH_S: Final = 1.0  # over which the drawn goodput is a mean
DIRECTIONS: Final = {"TCP_STREAM": "upload", "TCP_MAERTS": "download"}

_INTERIM: Final = re.compile(
    r"NETPERF_INTERIM_RESULT\[\d+\]=([\d.]+)\n.*\n"
    r"NETPERF_INTERVAL\[\d+\]=([\d.]+)\nNETPERF_ENDING\[\d+\]=([\d.]+)\n"
)
_PING: Final = re.compile(r"^\[([\d.]+)\] .*: \[\d+\], \d+ bytes, ([\d.]+) ms", re.MULTILINE)
_TOTAL: Final = {"upload": "LOCAL_BYTES_SENT", "download": "LOCAL_BYTES_RECVD"}


@dataclass(frozen=True)
class Flow:
    """A TCP flow: mean rates of the spans that it reported."""

    direction: str  # upload, download
    ends_s: Floats  # shape (n,)
    spans_s: Floats  # shape (n,)
    mbit_s: Floats  # shape (n,)
    whole_mbit_s: float  # bytes by duration of a flow that has ended; NaN before


@dataclass(frozen=True)
class Readings:
    """All readings so far."""

    flows: tuple[Flow, ...]
    ping_s: Floats  # shape (n,)
    rtt_ms: Floats  # shape (n,)

    @property
    def until_s(self) -> float:
        """The last time that something is known of."""
        times = [*(flow.ends_s[-1:] for flow in self.flows), self.ping_s[-1:]]
        return float(max((one[0] for one in times if one.size), default=0.0))


class Numbers(NamedTuple):
    """What a run has come to, over its load; NaN where nothing is known yet."""

    latency_ms: float  # mean round trip under load less the base path's (Sec. 5.1)
    download_mbit_s: float  # sum of the flows (Sec. 3)
    upload_mbit_s: float


class Beside(NamedTuple):
    """A point to hold a run against."""

    label: str  # "published", "3 shipped runs, median"
    latency_ms: float
    upload_mbit_s: float  # the direction that figures show
    hollow: bool


def readings(outputs: Mapping[str, str]) -> Readings:
    """Return what the tools say; `outputs` have the command line as their first line
    (guest/live.py)."""
    pings: list[tuple[float, float]] = []
    netperf: list[tuple[str, str]] = []
    for text in outputs.values():
        command, _, output = text.partition("\n")
        if "/fping" in command or command.startswith("fping"):
            pings += [(float(at), float(rtt)) for at, rtt in _PING.findall(output)]
        else:
            kind = re.search(r" -t (TCP_\w+)", command)
            if kind and kind[1] in DIRECTIONS:
                netperf.append((DIRECTIONS[kind[1]], output))
    pings.sort()
    start = pings[0][0] - pings[0][1] / 1000 if pings else 0.0
    flows = [_flow(direction, output, start) for direction, output in netperf] if pings else []
    at_s, rtt_ms = np.asarray(pings, dtype=np.float64).reshape(-1, 2).T
    return Readings(tuple(flow for flow in flows if flow.ends_s.size), at_s - start, rtt_ms)


def _flow(direction: str, text: str, start: float) -> Flow:
    reports = np.asarray(_INTERIM.findall(text), dtype=np.float64).reshape(-1, 3)
    totals = dict(re.findall(r"^(\w+)=(\S+)$", text, re.MULTILINE))
    whole = float("nan")
    if "ELAPSED_TIME" in totals and _TOTAL[direction] in totals:
        whole = float(totals[_TOTAL[direction]]) * 8e-6 / float(totals["ELAPSED_TIME"])
    return Flow(direction, reports[:, 2] - start, reports[:, 1], reports[:, 0], whole)


def goodput(flows: Iterable[Flow], direction: str) -> tuple[Floats, Floats]:
    """Return times (s) and the sum of the flows' rates (Mbit/s), in means over SMOOTH_S.

    Ends where the flow that has reported least ends. A flow is 0 before its first report's span.
    """
    chosen = [flow for flow in flows if flow.direction == direction]
    if not chosen:
        return np.empty(0), np.empty(0)
    until = min(flow.ends_s[-1] for flow in chosen)
    time_s = np.arange(DELAY_S, until, GRID_S)
    total = np.zeros(time_s.size)
    for flow in chosen:
        sent = np.concatenate([[0.0], np.cumsum(flow.mbit_s * flow.spans_s)])  # Mbit
        ends = np.concatenate([[flow.ends_s[0] - flow.spans_s[0]], flow.ends_s])
        total += np.interp(time_s, ends, sent) - np.interp(time_s - SMOOTH_S, ends, sent)
    return time_s, total / SMOOTH_S


def numbers(found: Readings, base_rtt_ms: float, length_s: float) -> Numbers:
    """Of the load so far; where flows have ended, of their bytes by their durations."""
    loaded = (found.ping_s >= DELAY_S) & (found.ping_s <= DELAY_S + length_s)
    rtt = found.rtt_ms[loaded]
    latency = float(rtt.mean()) - base_rtt_ms if rtt.size else float("nan")
    rates = []
    for direction in ("download", "upload"):
        flows = [flow for flow in found.flows if flow.direction == direction]
        means = [
            flow.whole_mbit_s
            if np.isfinite(flow.whole_mbit_s)
            else float(np.average(flow.mbit_s, weights=flow.spans_s))
            for flow in flows
        ]
        rates.append(float(np.sum(means)) if means else float("nan"))
    return Numbers(latency, *rates)


def figure(
    found: Readings,
    palette: Palette,
    *,
    qdisc: str,
    rates_mbit_s: tuple[float, float],
    base_rtt_ms: float,
    length_s: float,
    beside: Sequence[Beside] = (),
) -> Figure:
    """Draw goodput and round trip over time, and the run as a point of latency by goodput.

    `rates_mbit_s` are those of the link, download and upload. Axes of time are as long as the run
    will be, so that a plot grows to the right.
    """
    drawn = Figure(figsize=(10.5, 4.8), layout="constrained")
    places = drawn.subplot_mosaic([["rate", "plane"], ["rtt", "plane"]], width_ratios=[1.5, 1])
    end_s = length_s + 2 * DELAY_S
    _rates(places["rate"], found, palette, rates_mbit_s)
    _round_trips(places["rtt"], found, palette, qdisc, base_rtt_ms)
    for axes in (places["rate"], places["rtt"]):
        axes.set_xlim(0, end_s)
        axes.axvspan(DELAY_S, end_s - DELAY_S, color=palette.grid, alpha=0.35, linewidth=0)
    places["rtt"].set_xlabel("Time (s); shaded: load")
    _plane(places["plane"], numbers(found, base_rtt_ms, length_s), palette, qdisc, beside)
    return drawn


def png(drawn: Figure) -> bytes:
    """Return the figure as a picture."""
    file = BytesIO()
    drawn.savefig(file, format="png", dpi=100)
    return file.getvalue()


def _rates(axes: Axes, found: Readings, palette: Palette, rates: tuple[float, float]) -> None:
    lines = (("download", palette.ink, "-"), ("upload", palette.soft, "--"))
    for (direction, color, dashes), rate in zip(lines, rates, strict=True):
        axes.plot(
            *goodput(found.flows, direction), color=color, linestyle=dashes, linewidth=1.4,
            label=direction,
        )  # fmt: skip
        axes.axhline(rate, color=palette.soft, linewidth=0.7, linestyle=":")
    axes.set_ylim(0, 1.3 * max(rates))
    axes.set_ylabel("TCP goodput (Mbit/s)")
    axes.legend(loc="upper right", ncols=2)


def _round_trips(
    axes: Axes, found: Readings, palette: Palette, qdisc: str, base_rtt_ms: float
) -> None:
    axes.plot(found.ping_s, found.rtt_ms, color=palette.color(qdisc), linewidth=1.3)
    axes.axhline(base_rtt_ms, color=palette.soft, linewidth=0.7, linestyle=":")
    highest = float(found.rtt_ms.max()) if found.rtt_ms.size else 0.0
    axes.set_ylim(0, 1.1 * max(highest, 1.5 * base_rtt_ms))
    axes.set_ylabel("Round trip (ms)")


def _plane(
    axes: Axes, now: Numbers, palette: Palette, qdisc: str, beside: Sequence[Beside]
) -> None:
    color, marker = palette.color(qdisc), look(qdisc).marker
    points = [*beside, Beside("this run", now.latency_ms, now.upload_mbit_s, False)]
    for number, place in enumerate(points):
        last = number == len(points) - 1
        axes.plot(
            place.latency_ms, place.upload_mbit_s, marker=marker, linestyle="none",
            markersize=13 if last else 11, markeredgewidth=1.2, markeredgecolor=color,
            markerfacecolor=palette.paper if place.hollow else (color, 1 if last else 0.35),
            label=place.label,
        )  # fmt: skip
    axes.margins(0.2)
    axes.invert_xaxis()
    axes.set_xlabel("Induced latency (ms), less is right")
    axes.set_ylabel("Upload goodput (Mbit/s)")
    axes.set_title("Means so far", fontsize=11, color=palette.soft, loc="left")
    axes.legend(loc="best", labelspacing=0.9)
