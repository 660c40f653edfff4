"""What a run of the RRUL test measured: latency, goodput, start-up and drops."""

from typing import Final

import numpy as np
import pandas as pd

from qdisclab.analysis.errors import DataError, refused
from qdisclab.analysis.measures import flood, metrics
from qdisclab.analysis.measures.registry import Measure, Metric
from qdisclab.analysis.runs.dataset import Dataset, RunFile, read_record, read_runs
from qdisclab.analysis.runs.flentfile import PING_KINDS, RERUN, TCP_KINDS, Floats

STARTUP_S: Final = 20.0  # of load: 25 s of the test, 5 of them idle
SMOOTH_S: Final = 1.0  # a spike is one if a second of it, and not one sample, is high
CONTROLLED: Final = 1.5  # times the steady latency
BOTH_WAYS: Final = (
    r"(?!udp|ping|http$|tcp_\w*(up|down)|(voip|http)-1up|rrul_up|rtt_fair_(up|down)).*"
)
"""Of the names of flent's tests: those with TCP flows in both directions."""
QUEUES: Final = {"download": "router_down r2-delay", "upload": "router_up r1-delay"}


METRICS: Final = {
    "induced_latency_ms": Metric("mean induced latency", "ms"),
    "steady_latency_ms": Metric("induced latency of the second half", "ms"),
    "startup_latency_ms": Metric("induced latency of the first 20 s", "ms"),
    "startup_peak_ms": Metric("peak at start-up", "ms"),
    "control_s": Metric("time to control", "s"),
    "goodput_download_mbit_s": Metric("download goodput", "Mbit/s"),
    "goodput_upload_mbit_s": Metric("upload goodput", "Mbit/s"),
    "drops_download_percent": Metric("packets dropped downstream", "%"),
    "drops_upload_percent": Metric("packets dropped upstream", "%"),
    "slowest_probe_ms": Metric("mean induced latency of the slowest probe", "ms"),
    "probe_rtt_ms": Metric("mean round trip of all probes", "ms"),
}


def measure(run: RunFile) -> dict[str, float]:
    """Return the metrics of one run by their names in METRICS.

    Latency is induced: round trips less the base path's. The mean is that of all probes over the
    whole test; what is said of the start rests on ICMP under load, and
    the steady latency is its mean over the second half of the load. Raises DataError when the run
    cannot be used.
    """
    data = read_runs([run], jobs=1)
    row = metrics.run_metrics(data).iloc[0]
    facts = data.runs.iloc[0]
    loaded = metrics.in_window(data.samples, data.runs, "loaded")
    probes = loaded[loaded["kind"] == "ping_icmp"].sort_values("time_s")
    time_s = probes["time_s"].to_numpy() - float(facts["delay_s"])
    latency_ms = probes["rtt_ms"].to_numpy() - float(facts["base_rtt_ms"])
    by_probe = loaded[loaded["kind"].isin(PING_KINDS)].groupby("series", observed=True)["rtt_ms"]
    if not (time_s >= float(facts["length_s"]) / 2).any():
        raise DataError.of(run.data, "no probe in the second half of the load", RERUN)
    return {
        metrics.INDUCED: float(row[metrics.INDUCED]),
        **(sums := goodputs(data)),
        flood.TOTAL: sum(sums.values()),
        flood.LATENCY: float(flood.probes_ms(data).iloc[0]),
        "slowest_probe_ms": float(by_probe.mean().max()) - float(facts["base_rtt_ms"]),
        **startup(time_s, latency_ms, float(facts["length_s"])),
        **_drops(run),
    }


def goodputs(data: Dataset) -> dict[str, float]:
    """Return the sums of the TCP flows of each direction that a run has any in."""
    sums = data.flows.groupby("kind", observed=True)["goodput_mbit_s"].sum()
    kinds = zip(TCP_KINDS, metrics.GOODPUT.values(), strict=True)
    return {column: float(sums[kind]) for kind, column in kinds if kind in sums.index}


def startup(time_s: Floats, latency_ms: Floats, length_s: float) -> dict[str, float]:
    """Return how latency rises and settles when the load starts.

    `time_s` counts from the start of the load. The peak is the highest mean of one second in the
    first 20 s. Control is regained when, after the peak, the mean of a second first is no more than
    1.5 times the steady latency; `length_s` where that does not happen.
    """
    steady = float(latency_ms[time_s >= length_s / 2].mean())
    index = pd.to_timedelta(time_s, unit="s")
    smooth = pd.Series(latency_ms, index=index).rolling(f"{SMOOTH_S:g}s").mean().to_numpy()
    early = time_s <= STARTUP_S
    whole = early & (time_s >= SMOOTH_S)
    peak = int(np.argmax(np.where(whole, smooth, -np.inf)))
    after = np.flatnonzero(smooth[peak:] <= CONTROLLED * steady)
    return {
        "steady_latency_ms": steady,
        "startup_latency_ms": float(latency_ms[early].mean()),
        "startup_peak_ms": float(smooth[peak]),
        "control_s": float(time_s[peak + after[0]]) if after.size else length_s,
    }


def _drops(run: RunFile) -> dict[str, float]:
    """Return the share of the packets that the qdisc under test dropped, as the kernel counted
    them."""
    record, shares = read_record(run), {}
    for direction, queue in QUEUES.items():
        lacks = f"no counters of {queue}"
        with refused(run.provenance, lacks, RERUN, KeyError, TypeError, IndexError):
            leaf = record["qdiscs"][queue]["qdiscs"][-1]
            dropped, sent = int(leaf["drops"]), int(leaf["packets"])
        shares[f"drops_{direction}_percent"] = 100 * dropped / (dropped + sent)
    return shares


MEASURES: Final = {"rrul": Measure(measure, traffic="flent", test=BOTH_WAYS)}
