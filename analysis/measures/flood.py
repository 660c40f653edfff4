"""Pings beside whatever else a run sends: a UDP flood, or TCP flows; and what the flows get."""

from typing import Final

import numpy as np
import pandas as pd

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.measures.metrics import RUN, in_window
from qdisclab.analysis.measures.registry import Measure, Metric
from qdisclab.analysis.runs.dataset import Dataset, RunFile, read_runs
from qdisclab.analysis.runs.flentfile import PING_KINDS, RERUN

LATENCY: Final = "probe_rtt_ms"
TOTAL: Final = "goodput_total_mbit_s"
SILENT: Final = "unanswered_percent"

METRICS: Final = {"unanswered_percent": Metric("steps without an answer to a ping", "%")}


def probes_ms(data: Dataset) -> pd.Series:
    """Return the mean round trip in ms of each run under load: the mean over probes of their
    means."""
    loaded = in_window(data.samples, data.runs, "loaded")
    pings = loaded[loaded["kind"].isin(PING_KINDS)]
    by_probe = pings.groupby(["run", "series"], observed=True)["rtt_ms"].mean()
    return by_probe.groupby("run", observed=True).mean()


def run_numbers(data: Dataset) -> pd.DataFrame:
    """Return one row per run: RUN, experiment, LATENCY in ms, TOTAL in Mbit/s (both directions; NaN
    without TCP) and SILENT, the share of flent's steps under load in % without an answer to a ping.

    flent interpolates over a ping or two that get lost, so that SILENT is less than the loss.
    Raises DataError for a run without any answer under load.
    """
    table = data.runs[[*RUN, "experiment"]].copy()
    table[LATENCY] = table["run"].map(probes_ms(data)).astype(float)
    totals = data.flows.groupby("run", observed=True)["goodput_mbit_s"].sum()
    table[TOTAL] = table["run"].map(totals).astype(float)
    loaded = in_window(data.samples, data.runs, "loaded")
    pings = loaded[loaded["kind"] == "ping_icmp"]
    answers = pings.groupby("run", observed=True)["time_s"].nunique()
    step_s = np.diff(np.unique(data.samples["time_s"])).min()  # all runs of an experiment have one
    steps = np.floor(data.runs["length_s"] / step_s) + 1
    table[SILENT] = 100 * (1 - table["run"].map(answers).astype(float) / steps)
    for run in table["run"][table[LATENCY].isna()]:
        raise DataError.of(run, "no ping was answered under load", RERUN)
    return table


def measure(run: RunFile) -> dict[str, float]:
    """Return the metrics of one run of the UDP flood by name."""
    row = run_numbers(read_runs([run], jobs=1)).iloc[0]
    return {name: float(row[name]) for name in (LATENCY, SILENT)}


MEASURES: Final = {"flood": Measure(measure, traffic="flent", test="udp_flood.*")}
