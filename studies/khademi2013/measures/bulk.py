"""What a run measured whose every packet was followed: delays, goodput, marks and drops."""

import math
from collections.abc import Mapping
from typing import Final

import numpy as np

from qdisclab.analysis.measures.registry import Measure, Metric
from qdisclab.analysis.runs.axes import axes, span_ms
from qdisclab.analysis.runs.dataset import RunFile, read_record

from ..packets import goodput_intervals, read_packets, run_quantiles

PERCENTILES: Final = {"p10": "p10", "p50": "median", "p90": "p90"}
AVAILABLE: Final = 0.9
"""Of the median goodput, what a run has converged to for the first time."""


WIRELESS: Final = {"queuing": "queuing", "rtt": "rtt", "up_rtt": "up_rtt", "up_sojourn": "ack_wait"}
"""Quantity of a run over WiFi -> how the names of its metrics begin."""


METRICS: Final = {
    "queuing_p10_ms": Metric("10th percentile of the queuing delay", "ms", step=0.1),
    "queuing_median_ms": Metric("median queuing delay", "ms", step=0.1),
    "queuing_p90_ms": Metric("90th percentile of the queuing delay", "ms", step=0.1),
    "queuing_tail_ms": Metric("queuing delay from the 10th to the 90th percentile", "ms"),
    "queuing_most_ms": Metric("greatest queuing delay", "ms"),
    "queuing_off_target_ms": Metric("median queuing delay off its target", "ms"),
    "goodput_mean_mbit_s": Metric("mean goodput", "Mbit/s"),
    "goodput_median_mbit_s": Metric("median goodput of 5 s", "Mbit/s"),
    "packets_marked": Metric("packets marked", ""),
    "packets_dropped": Metric("packets dropped", ""),
    "sawtooth_kb": Metric("a flow's data in flight from the 10th to the 90th percentile", "kB"),
    "converged_s": Metric("time until 90 % of the median goodput", "s", step=1.0),
    "flow_median_ms": Metric("median queuing delay of one flow", "ms"),
    "flow_tail_ms": Metric("queuing delay of one flow from the 10th to the 90th percentile", "ms"),
    "rtt_p10_ms": Metric("10th percentile of the round trip", "ms"),
    "rtt_median_ms": Metric("median round trip", "ms"),
    "rtt_p90_ms": Metric("90th percentile of the round trip", "ms"),
    "up_rtt_p10_ms": Metric("10th percentile of the uploads' round trip", "ms"),
    "up_rtt_median_ms": Metric("median round trip of uploads", "ms"),
    "up_rtt_p90_ms": Metric("90th percentile of the uploads' round trip", "ms"),
    "ack_wait_p10_ms": Metric("10th percentile of the wait of uploads' acknowledgments", "ms"),
    "ack_wait_median_ms": Metric("median wait of uploads' acknowledgments", "ms"),
    "ack_wait_p90_ms": Metric("90th percentile of the wait of uploads' acknowledgments", "ms"),
    "up_goodput_median_mbit_s": Metric("median goodput of uploads in 5 s", "Mbit/s"),
    "packets_dropped_percent": Metric("packets of downloads dropped", "%"),
    "acks_dropped_percent": Metric("acknowledgments of uploads dropped", "%"),
}


def measure_wireless(run: RunFile) -> Mapping[str, float]:
    """Return percentiles of the round trips of downloads, with the base RTT and without, and with
    traffic both ways of uploads, and of the wait of the uploads' acknowledgments; goodput and
    drops. Raises DataError."""
    record = read_record(run)
    mixed = "both_ways" in record
    wanted = ["queuing", "rtt", "goodput"]
    wanted += ["up_rtt", "up_sojourn", "up_goodput"] if mixed else []
    rows = run_quantiles([run], wanted, jobs=1).set_index("quantity").to_dict("index")
    numbers = {
        f"{WIRELESS[quantity]}_{name}_ms": float(rows[quantity][share])
        for quantity in WIRELESS
        if quantity in rows
        for share, name in PERCENTILES.items()
    }
    numbers |= {
        f"{quantity}_median_mbit_s": float(rows[quantity]["p50"])
        for quantity in ("goodput", "up_goodput")
        if quantity in rows
    }
    packets = read_packets(run)  # while the load ran: starving flows send most of theirs later
    dropped = packets["fate"] == "dropped"
    numbers["packets_dropped_percent"] = 100 * float(dropped[~packets["up"]].mean())
    if mixed:
        numbers["acks_dropped_percent"] = 100 * float(dropped[packets["up"]].mean())
    return numbers


def measure(run: RunFile) -> Mapping[str, float]:
    """Return percentiles of the queuing delay, goodput, marks and drops; raise DataError."""
    row = run_quantiles([run], ["queuing"], jobs=1).iloc[0]
    goodput = goodput_intervals(run)
    off_target_ms = abs(float(row["p50"]) - span_ms(axes(run), "target"))
    each_second = goodput_intervals(run, 1.0)
    packets = read_packets(run)
    one_flow = packets.loc[packets["flow"] == 0, "queuing_ms"].dropna()
    of_one = {  # none of a flow that never got a SYN through
        "flow_median_ms": float(one_flow.median()),
        "flow_tail_ms": float(one_flow.quantile(0.9) - one_flow.quantile(0.1)),
    }
    return {
        **{f"queuing_{name}_ms": float(row[share]) for share, name in PERCENTILES.items()},
        "queuing_most_ms": float(row["most"]),
        "queuing_tail_ms": float(row["p90"] - row["p10"]),
        **({} if math.isnan(off_target_ms) else {"queuing_off_target_ms": off_target_ms}),
        "goodput_mean_mbit_s": float(goodput.mean()),
        "goodput_median_mbit_s": float(np.median(goodput)),
        "packets_marked": float(row["packets_marked"]),
        "packets_dropped": float(row["packets_dropped"]),
        "sawtooth_kb": float(row["flight_p90"] - row["flight_p10"]) / 1000,
        "converged_s": 1.0 + float((each_second >= AVAILABLE * np.median(each_second)).argmax()),
        **(of_one if one_flow.size else {}),
    }


MEASURES: Final = {
    "packets": Measure(measure, traffic="iperf"),
    "stations": Measure(measure_wireless, traffic="iperf"),
}
