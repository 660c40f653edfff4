"""How two flows share a link, what pings and datagrams beside them see, and what a step does.

`first` is the flow of the sweep's control, from sender1; `second` is that beside it, from sender2.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np
import pandas as pd

from qdisclab.analysis.measures.registry import Measure, Metric
from qdisclab.analysis.measures.timeline import pings
from qdisclab.analysis.runs import reports
from qdisclab.analysis.runs.dataset import RunFile
from qdisclab.emulation.captures.samples import read_series
from qdisclab.emulation.datafile import ROWS, read_rows

SETTLED_S: Final = 10.0  # numbers are of the time from then on
STEP_S: Final = 15.0  # as study.yaml has it
SPIKE_MS: Final = 20.0  # above the least round trip
LEAST_BYTES: Final = 100_000  # of a connection that is load, not netperf's own
PAYLOAD: Final = 1448 / 1514

METRICS: Final = {
    "l4s_first_mbit_s": Metric("goodput of the first flow", "Mbit/s"),
    "l4s_second_mbit_s": Metric("goodput of the second flow", "Mbit/s"),
    "l4s_ratio": Metric("goodput of the first flow divided by that of the second", "", factor=True),
    "l4s_used": Metric("use of the link by the flows", "%"),
    "l4s_marks": Metric("marks of the first flow in a round trip", "packets"),
    "l4s_ect1_mean_ms": Metric("mean delay of pings with ECT(1)", "ms"),
    "l4s_ect1_p99_ms": Metric("99th percentile of the delay of pings with ECT(1)", "ms"),
    "l4s_classic_mean_ms": Metric("mean delay of pings without ECN", "ms"),
    "l4s_udp_mbit_s": Metric("rate of the datagrams that arrive", "Mbit/s"),
    "l4s_spike_ms": Metric("most that the first flow's round trip grows after the step", "ms"),
    "l4s_spike_s": Metric("time for which it is 20 ms longer than the least", "s"),
}
PINGS: Final = {"ect1": "l4s_ect1", "not_ect": "l4s_classic"}


def measure(file: RunFile) -> Mapping[str, float]:
    """Return the numbers of METRICS that a run has."""
    table = read_series(file.provenance.with_suffix(".sockets.parquet"))
    flows = {node: flow for node, of in table.groupby("node") if len(flow := _load(of))}
    rates = {node: _rate(flow) for node, flow in flows.items()}
    numbers = {}
    for node, name in (("sender1", "first"), ("sender2", "second")):
        if node in rates or name in _programs(file):  # that of a flow that starves is 0
            numbers[f"l4s_{name}_mbit_s"] = rates.get(node, 0.0)
    if len(rates) == 2:
        numbers["l4s_ratio"] = rates["sender1"] / rates["sender2"]
    numbers["l4s_used"] = 100 * sum(rates.values()) / (float(file.link.split("/")[1]) * PAYLOAD)
    if "sender1" in flows:
        numbers["l4s_marks"] = _marks(flows["sender1"])
    numbers |= _delays(file)
    if file.experiment == "step":
        numbers |= _spike(flows["sender1"])
    rows = read_rows(path) if (path := file.provenance.with_suffix(ROWS)).is_file() else []
    if arrived := [row["udp_mbit_s"] for row in rows if row.get("time_s", 0) >= SETTLED_S]:
        numbers["l4s_udp_mbit_s"] = float(np.mean(arrived))
    return numbers


def _programs(file: RunFile) -> set[str]:
    """Return the names of the programs of a run."""
    return {name for name, _ in reports.printed(file.provenance)}


def _load(table: pd.DataFrame) -> pd.DataFrame:
    """Return the samples of a node's connection that is load, in time; none for an idle node."""
    most = table.groupby("local_port")["bytes_acked"].max()
    if most.max() < LEAST_BYTES:
        return table.iloc[:0]
    flow = table[table["local_port"] == most.idxmax()].sort_values("time_ns")
    return flow.assign(time_s=(flow["time_ns"] - flow["time_ns"].iloc[0]) / 1e9)


def _settled(flow: pd.DataFrame) -> pd.DataFrame:
    """Return the samples from SETTLED_S on, while it sends."""
    sending = flow[flow["state"] == "ESTAB"]
    return sending[sending["time_s"] >= SETTLED_S]


def _rate(flow: pd.DataFrame) -> float:
    """Return what is acknowledged a second, in Mbit/s."""
    late = _settled(flow)
    grown = late[["bytes_acked", "time_s"]].iloc[-1] - late[["bytes_acked", "time_s"]].iloc[0]
    return float(8e-6 * grown["bytes_acked"] / grown["time_s"])


def _marks(flow: pd.DataFrame) -> float:
    """Return how many packets came marked in a round trip."""
    late = _settled(flow)
    seconds = late["time_s"].iloc[-1] - late["time_s"].iloc[0]
    rounds = seconds / (late["srtt_us"].mean() / 1e6)
    return float(
        (late["delivered_ce_packets"].iloc[-1] - late["delivered_ce_packets"].iloc[0]) / rounds
    )


def _delays(file: RunFile) -> dict[str, float]:
    """Return what pings wait beyond the least that any of their program does."""
    numbers = {}
    for program, of in pings(file).groupby("program"):
        name = PINGS[str(program)]
        late = of[of["time_s"] >= SETTLED_S]["rtt_ms"] - of["rtt_ms"].min()
        numbers[f"{name}_mean_ms"] = float(late.mean())
        if name == "l4s_ect1":
            numbers[f"{name}_p99_ms"] = float(late.quantile(0.99))
    return numbers


def _spike(flow: pd.DataFrame) -> dict[str, float]:
    """Return how much and how long the smoothed round trip grows from the step on."""
    sending = flow[flow["state"] == "ESTAB"]
    extra_ms = (sending["srtt_us"] - sending["min_rtt_us"].min()) / 1e3
    after = extra_ms[sending["time_s"] >= STEP_S]
    step_s = float(sending["time_s"].diff().median())
    return {
        "l4s_spike_ms": float(after.max()),
        "l4s_spike_s": step_s * int((after > SPIKE_MS).sum()),
    }


MEASURES: Final = {"l4s": Measure(measure, traffic="programs", probe="sockets")}
