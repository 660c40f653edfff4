"""A run while it goes on: what its tools have printed so far, as readings, numbers and a figure.

Tools are netperf, which prints a flow's rate every 0.2 s or more, and fping. All times are in
seconds since the first probe, flent's own start; the load begins DELAY_S later. The kernel's
counters of the qdiscs come once a second.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from itertools import cycle
from typing import Any, Final, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from qdisclab.analysis.plots.marks import reference
from qdisclab.analysis.plots.style import Palette, look
from qdisclab.analysis.runs.flentfile import Floats
from qdisclab.emulation.config.explore import Choice

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


class Flow(NamedTuple):
    """A TCP flow: mean rates of the spans that it reported."""

    direction: str  # upload, download
    ends_s: Floats  # shape (n,)
    spans_s: Floats  # shape (n,)
    mbit_s: Floats  # shape (n,)
    mean_mbit_s: float  # so far; of a flow that has ended its bytes by its duration


class Queue(NamedTuple):
    """The qdisc under test of a port: what waits in it, and what it has dropped so far."""

    time_s: Floats  # shape (n,)
    packets: Floats  # shape (n,)
    drops: Floats  # shape (n,)


class Readings(NamedTuple):
    """All readings so far."""

    flows: tuple[Flow, ...]
    ping_s: Floats  # shape (n,)
    rtt_ms: Floats  # shape (n,)
    queues: Mapping[str, Queue] = {}  # by port


class Before(NamedTuple):
    """A run to draw beside another."""

    readings: Readings
    qdisc: str
    label: str


class Numbers(NamedTuple):
    """The results of a run so far, over its load; NaN where nothing is known yet."""

    latency_ms: float  # mean round trip under load less the base path's (Sec. 5.1)
    download_mbit_s: float  # sum of the flows (Sec. 3)
    upload_mbit_s: float


class Beside(NamedTuple):
    """A point to compare a run with."""

    label: str  # "published", "3 shipped runs, median"
    latency_ms: float
    upload_mbit_s: float  # the direction that figures show
    hollow: bool
    qdisc: str = ""  # where it is another


def readings(outputs: Mapping[str, str], ports: Sequence[tuple[str, str]] = ()) -> Readings:
    """Return what the tools say; `outputs` have the command line as their first line
    (guest/live.py). `ports` are the nodes and interfaces of the queues under test."""
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
    queues = _queues(outputs.get("qdiscs", ""), ports, start) if pings else {}
    there = tuple(flow for flow in flows if flow.ends_s.size)
    return Readings(there, at_s - start, rtt_ms, queues)


def _queues(text: str, ports: Sequence[tuple[str, str]], start: float) -> dict[str, Queue]:
    """Return the queues of `ports`; a last line that is not whole yet is left out."""
    rows: dict[str, list[tuple[float, int, int]]] = {}
    for line in text.splitlines(keepends=True):
        if not line.endswith("\n"):
            break
        at, node, shown = json.loads(line)
        for interface in (of for owner, of in ports if owner == node):
            own = [qdisc for qdisc in shown if qdisc.get("dev") == interface]
            tested = [qdisc for qdisc in own if not qdisc.get("root")] or own
            waiting, dropped = (sum(qdisc[key] for qdisc in tested) for key in ("qlen", "drops"))
            rows.setdefault(f"{node} {interface}", []).append((at - start, waiting, dropped))
    return {name: Queue(*np.asarray(of, dtype=float).T) for name, of in rows.items()}


def _flow(direction: str, text: str, start: float) -> Flow:
    rates, spans, ends = np.asarray(_INTERIM.findall(text), dtype=float).reshape(-1, 3).T
    totals = dict(re.findall(r"^(\w+)=(\S+)$", text, re.MULTILINE))
    mean = (rates * spans).sum() / max(spans.sum(), 1e-9)
    if "ELAPSED_TIME" in totals and _TOTAL[direction] in totals:
        mean = float(totals[_TOTAL[direction]]) * 8e-6 / float(totals["ELAPSED_TIME"])
    return Flow(direction, ends - start, spans, rates, float(mean))


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


def numbers(so_far: Readings, chosen: Choice) -> Numbers:
    """Return the numbers of the load so far; where flows have ended, of their bytes by their
    durations."""
    end_s = DELAY_S + chosen.length.seconds
    rtt = so_far.rtt_ms[(so_far.ping_s >= DELAY_S) & (so_far.ping_s <= end_s)]
    latency = float(rtt.mean()) - chosen.base_rtt.ms if rtt.size else float("nan")
    rates = {"download": float("nan"), "upload": float("nan")}
    for flow in so_far.flows:
        rates[flow.direction] = np.nansum([rates[flow.direction], flow.mean_mbit_s])
    return Numbers(latency, *rates.values())


def figure(
    so_far: Readings, palette: Palette, chosen: Choice, beside: list[Beside], before: Before | None
) -> Figure:
    """Draw goodput, round trip and queues over time, and the run as a point of latency by goodput.

    Axes of time are as long as the run will be, so that a plot grows to the right. The run `before`
    is drawn paler.
    """
    rates_mbit_s = (chosen.down.mbit_per_s, chosen.up.mbit_per_s)
    drawn = Figure(figsize=(10.5, 7.2), layout="constrained")
    places = drawn.subplot_mosaic(
        [["rate", "plane"], ["rtt", "plane"], ["queue", "drops"]], width_ratios=[1.5, 1]
    )
    rate, rtt, queue, drops = (places[name] for name in ("rate", "rtt", "queue", "drops"))
    runs = [*([before] if before else []), Before(so_far, chosen.qdisc, "")]
    for of in runs:
        look_of: dict[str, Any] = {"color": palette.color(of.qdisc), "linewidth": 1.4}
        look_of |= {"alpha": 0.4} if of is before else {}
        when = ", before" if of is before else ""
        for direction, dashes in (("download", "-"), ("upload", "--")):
            curve = goodput(of.readings.flows, direction)
            rate.plot(*curve, linestyle=dashes, label=f"{direction}{when}", **look_of)
        rtt.plot(of.readings.ping_s, of.readings.rtt_ms, **look_of)
        for (name, counted), dashes in zip(of.readings.queues.items(), cycle(("-", "--"))):
            line = {"linestyle": dashes, **look_of}
            queue.plot(counted.time_s, counted.packets, label=f"{name}{when}", **line)
            drops.plot(counted.time_s, counted.drops, **line)
    for top in rates_mbit_s:
        reference(rate, top, palette)
    rate.set(ylim=(0, 1.3 * max(rates_mbit_s)), ylabel="TCP goodput (Mbit/s)")
    for axes in (rate, *([queue] if queue.lines else [])):
        axes.legend(loc="upper right", ncols=2, fontsize=8)
    reference(rtt, chosen.base_rtt.ms, palette)
    highest = max(of.readings.rtt_ms.max(initial=1.5 * chosen.base_rtt.ms) for of in runs)
    rtt.set(ylim=(0, 1.1 * highest), ylabel="Round trip (ms)")
    queue.margins(y=0.35)  # room for the legend
    queue.set(ylim=(0, None), ylabel="Queue (packets)", xlabel="Time (s); shaded: load")
    drops.set(ylim=(0, None), ylabel="Dropped so far", xlabel="Time (s)")
    end_s = DELAY_S + chosen.length.seconds
    for axes in (rate, rtt, queue, drops):
        axes.set_xlim(0, end_s + DELAY_S)
        axes.axvspan(DELAY_S, end_s, color=palette.grid, alpha=0.35, linewidth=0)
    now = numbers(so_far, chosen)
    mine = Beside("this run", now.latency_ms, now.upload_mbit_s, False)
    _plane(places["plane"], (*beside, mine), palette, chosen.qdisc)
    return drawn


def png(drawn: Figure) -> bytes:
    """Return the figure as a picture."""
    file = BytesIO()
    drawn.savefig(file, format="png", dpi=100)
    return file.getvalue()


def _plane(axes: Axes, points: Sequence[Beside], palette: Palette, qdisc: str) -> None:
    """Draw points of latency by goodput, the last as the run's own."""
    for place in points:
        last, kind = place is points[-1], place.qdisc or qdisc
        color, marker = palette.color(kind), look(kind).marker
        axes.plot(
            place.latency_ms, place.upload_mbit_s, marker=marker, linestyle="none",
            markersize=13 if last else 11, markeredgewidth=1.2, markeredgecolor=color,
            markerfacecolor=palette.paper if place.hollow else (color, 1 if last else 0.35),
            label=place.label,
        )  # fmt: skip
    axes.margins(0.2)
    axes.invert_xaxis()
    axes.set(xlabel="Induced latency (ms), less is right", ylabel="Upload goodput (Mbit/s)")
    axes.set_title("Means so far", fontsize=11, color=palette.soft, loc="left")
    axes.legend(loc="best", labelspacing=0.9)
