"""What a run of a campaign on real computers measured: by windows of flent's time.

flent's time counts from its first measurement: 5 s before the load, the load, and as long after it.
Latency is what ICMP takes under load less its median before the load. Statistics of queues and
connections are those of the probes `qdisc` and `sockets` of the run (docs/probes.md), which lie
beside its data.
"""

import re
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.measures.fairness import jain
from qdisclab.analysis.measures.registry import Measure, Metric
from qdisclab.analysis.runs.dataset import RunFile, read_record
from qdisclab.analysis.runs.flentfile import RERUN, TCP_KINDS, FlentFile, Floats, Series, read_flent
from qdisclab.emulation.captures.samples import read_series
from qdisclab.emulation.datafile import read_json

BEFORE_S: Final = (0.0, 4.5)
#: Length of the load in s -> its seconds that most numbers are about.
WINDOWS: Final = {60.0: (10.0, 55.0), 40.0: (5.0, 40.0), 20.0: (5.0, 20.0), 10.0: (0.0, 10.0)}
DIRECTIONS: Final = dict(zip(TCP_KINDS, ("down", "up"), strict=True))
ROUTER: Final = "box"  # the node with the queues under test
TOWARDS: Final = {"client": "down", "near": "down", "delay": "up", "far": "up", "server": "up"}
_FLOW: Final = re.compile(r"TCP (download|upload) (\w+) BE")
_NUMBERED: Final = re.compile(r"TCP (download|upload) BE(\d) [0-9.]+")


METRICS: Final = {
    "icmp_idle_median_ms": Metric("median round trip before the load", "ms"),
    "icmp_induced_mean_ms": Metric("mean induced latency", "ms"),
    "icmp_induced_p50_ms": Metric("median induced latency", "ms"),
    "icmp_induced_p95_ms": Metric("95th percentile of the induced latency", "ms"),
    "icmp_induced_p99_ms": Metric("99th percentile of the induced latency", "ms"),
    "icmp_induced_max_ms": Metric("greatest induced latency", "ms"),
    "icmp_induced_mean_load_ms": Metric("mean induced latency of the whole load", "ms"),
    "icmp_mean_minus_min_ms": Metric("mean round trip above the least", "ms"),
    "icmp_loss_percent": Metric("pings without an answer", "%"),
    "tcp_rtt_mean_ms": Metric("mean smoothed RTT above the base", "ms"),
    "tcp_rtt_p99_ms": Metric("99th percentile of the smoothed RTT above the base", "ms"),
    "cwnd_mean_segments": Metric("mean congestion window", "segments"),
    "retransmits": Metric("segments sent again", ""),
    "sojourn_mean_ms": Metric("mean sojourn time", "ms"),
    "sojourn_p99_ms": Metric("99th percentile of the sojourn time", "ms"),
    **{
        f"{direction}_{name}": Metric(f"{title}, {direction}", unit)
        for direction in ("down", "up")
        for name, title, unit in (
            ("goodput_mbit_s", "goodput", "Mbit/s"),
            ("goodput_load_mbit_s", "goodput of the whole load", "Mbit/s"),
            ("jain", "Jain's index", ""),
            ("drops", "packets dropped", ""),
            ("marks", "packets marked", ""),
            ("drop_percent", "packets dropped", "%"),
            ("mark_percent", "packets marked", "%"),
            ("backlog_kb", "mean backlog", "kB"),
            ("pie_probability_percent", "PIE's mean probability", "%"),
            *(
                (f"{cc.lower()}_be_mbit_s", f"goodput of the flow of {cc}", "Mbit/s")
                for cc in ("CUBIC", "BBR", "Reno", "Westwood")
            ),
            *((f"flow_{n}_mbit_s", f"goodput of flow {n}", "Mbit/s") for n in range(1, 5)),
        )
    },
}


def measure(run: RunFile) -> dict[str, float]:
    """Return the metrics of one run by their names in `METRICS`; raise DataError when it cannot be
    used."""
    return measure_flent(read_flent(run.data), run)


def measure_flent(flent: FlentFile, run: RunFile) -> dict[str, float]:
    """Do as `measure`, with what has been read of the run."""
    window, load = window_of(flent, run), (flent.delay_s, flent.delay_s + flent.length_s)
    return {
        **latencies(flent, window, load),
        **goodputs(flent, window, load),
        **_queues(run, window),
        **_connections(run, window),
    }


def window_of(flent: FlentFile, run: RunFile) -> tuple[float, float]:
    """Return the begin and the end of what most numbers of the run are about, in flent's time;
    DataError for a length without such a window."""
    if flent.length_s not in WINDOWS:
        lengths = ", ".join(f"{length:g}" for length in WINDOWS)
        what = f"a load of {flent.length_s:g} s, and windows for {lengths} s alone"
        raise DataError.of(run.data, what, "Add one to WINDOWS of analysis/measures/bench.py")
    begin, end = WINDOWS[flent.length_s]
    return flent.delay_s + begin, flent.delay_s + end


def latencies(
    flent: FlentFile, window: tuple[float, float], load: tuple[float, float]
) -> dict[str, float]:
    """Return round trips of ICMP in ms above their median before the load, of `window` and of
    `load`."""
    probes = [series for series in flent.series if series.kind == "ping_icmp"]
    if len(probes) != 1:
        return {}  # several are of paths of their own
    (probe,) = probes
    idle_ms, loaded_ms = _within(probe, BEFORE_S), _within(probe, window)
    if not idle_ms.size or not loaded_ms.size:
        raise DataError.of(Path(flent.test), "no ping was answered in a window", RERUN)
    median = float(np.median(idle_ms))
    induced = loaded_ms - median
    steps = np.floor((window[1] - window[0]) / flent.step_s + 0.5)
    return {
        "icmp_idle_median_ms": median,
        "icmp_induced_mean_ms": float(induced.mean()),
        **{f"icmp_induced_p{q}_ms": float(np.percentile(induced, q)) for q in (50, 95, 99)},
        "icmp_induced_max_ms": float(induced.max()),
        "icmp_induced_mean_load_ms": float(_within(probe, load).mean() - median),
        "icmp_mean_minus_min_ms": float(loaded_ms.mean() - probe.value.min()),
        "icmp_loss_percent": float(100 * max(0.0, 1 - loaded_ms.size / max(steps, 1))),
    }


def goodputs(
    flent: FlentFile, window: tuple[float, float], load: tuple[float, float]
) -> dict[str, float]:
    """Return the payload in Mbit/s: sums of each direction, named flows, and Jain's index of the
    flows."""
    values: dict[str, float] = {}
    for kind, direction in DIRECTIONS.items():
        flows = [series for series in flent.series if series.kind == kind]
        if not flows:
            continue
        means = [_mean(flow, window) for flow in flows]
        values[f"{direction}_goodput_mbit_s"] = sum(means)
        values[f"{direction}_goodput_load_mbit_s"] = sum(_mean(flow, load) for flow in flows)
        if len(flows) > 1:
            values[f"{direction}_jain"] = jain(means)
        for flow, mean in zip(flows, means, strict=True):
            if named := _FLOW.fullmatch(flow.name):
                values[f"{direction}_{named[2].lower()}_be_mbit_s"] = mean
            elif numbered := _NUMBERED.fullmatch(flow.name):
                values[f"{direction}_flow_{numbered[2]}_mbit_s"] = mean
    return values


def _mean(flow: Series, window: tuple[float, float]) -> float:
    """Return the mean; 0 of a flow that never came to anything in the window."""
    values = _within(flow, window)
    return float(values.mean()) if values.size else 0.0


def _within(series: Series, window: tuple[float, float]) -> Floats:
    return series.value[(series.time_s >= window[0]) & (series.time_s < window[1])]


def _queues(run: RunFile, window: tuple[float, float]) -> dict[str, float]:
    """Return the counters and backlog of the two queues under test; nothing where no probe was
    there."""
    table = samples(run, "qdisc")
    if table is None:
        return {}
    values: dict[str, float] = {}
    inside = _inside(table, window)
    for interface, of_port in table[table["node"] == ROUTER].groupby("interface", observed=True):
        direction = TOWARDS[str(interface).removeprefix(f"{ROUTER}-")]
        queue = of_port[of_port["parent"] != "root"]
        queue = of_port if queue.empty else queue  # a shaper with a queue of its own
        part = queue[inside.loc[queue.index]]
        marks, sent = _marks(queue), queue["sent_packets"]
        values |= {
            f"{direction}_drops": _rise(part["drops"]),
            f"{direction}_marks": _rise(marks.loc[part.index]),
            f"{direction}_backlog_kb": float(part["backlog_bytes"].mean() / 1e3),
            f"{direction}_drop_percent": _share(queue["drops"], sent + queue["drops"]),
            f"{direction}_mark_percent": _share(marks, sent),
        }
        if "pie_probability" in part and part["pie_probability"].notna().any():
            mean = 100 * float(part["pie_probability"].mean())
            values[f"{direction}_pie_probability_percent"] = mean
        if "codel_delay_us" in part and part["codel_delay_us"].notna().any() and direction == "up":
            delays_ms = part["codel_delay_us"].to_numpy() / 1e3
            values["sojourn_mean_ms"] = float(delays_ms.mean())
            values["sojourn_p99_ms"] = float(np.percentile(delays_ms, 99))
    return values


def _marks(queue: pd.DataFrame) -> pd.Series:
    """Count the packets marked so far; 0 of a qdisc that cannot mark."""
    endings = ("ecn_mark", "ecn_marked_packets", "red_marked")
    return queue[[name for name in queue.columns if name.endswith(endings)]].sum(axis=1)


def _rise(counter: pd.Series) -> float:
    return float(counter.iloc[-1] - counter.iloc[0]) if len(counter) else 0.0


def _share(events: pd.Series, packets: pd.Series) -> float:
    """Return how many of all `packets` the `events` are, in %."""
    of = float(packets.iloc[-1])
    return 100 * float(events.iloc[-1]) / of if of else 0.0


def _connections(run: RunFile, window: tuple[float, float]) -> dict[str, float]:
    """Return the sender's view of one upload's connection; nothing where no probe was there."""
    table = samples(run, "sockets")
    if table is None:
        return {}
    inside = _inside(table, window)
    sender = table[(table["node"] == "client") & (table["bytes_sent"] > 10**6)]
    keys = sender.groupby(["local_port", "remote_port"])["bytes_sent"].max()
    if len(keys) != 1:
        return {}  # what is told is of one upload
    part = sender[inside.loc[sender.index]]
    base_ms = float(read_record(run)["measured_base_rtts_ms"][0])
    above_ms = part["srtt_us"].to_numpy() / 1e3 - base_ms
    return {
        "tcp_rtt_mean_ms": float(above_ms.mean()),
        "tcp_rtt_p99_ms": float(np.percentile(above_ms, 99)),
        "cwnd_mean_segments": float(part["cwnd_packets"].mean()),
        "retransmits": _rise(part["total_retrans_packets"]),
    }


def samples(run: RunFile, probe: str) -> pd.DataFrame | None:
    """Return the table of a probe beside the run, with `time_s` of flent; None without one."""
    path = run.provenance.with_suffix(f".{probe}.parquet")
    if not path.is_file():
        return None
    table = read_series(path)
    zero_ns = pd.Timestamp(read_json(run.data)["metadata"]["T0"]).tz_convert(None).value
    return table.assign(time_s=(table["time_ns"] - zero_ns) / 1e9)


def _inside(table: pd.DataFrame, window: tuple[float, float]) -> pd.Series:
    return (table["time_s"] >= window[0]) & (table["time_s"] < window[1])


MEASURES: Final = {"bench": Measure(measure, traffic="flent")}
