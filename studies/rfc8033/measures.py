"""What PIE marks and drops, from the counters of the queue under test."""

from collections.abc import Mapping
from typing import Final

import pandas as pd

from qdisclab.analysis.measures.fairness import jain
from qdisclab.analysis.measures.registry import Measure, Metric
from qdisclab.analysis.runs import reports
from qdisclab.analysis.runs.dataset import RunFile
from qdisclab.emulation.captures.samples import read_series

SETTLED_S: Final = 4.0  # after the first packet: slow start is over
RATE_BYTES_S: Final = 10e6 / 8

METRICS: Final = {
    "pie_dropped": Metric("packets that PIE drops", "%"),
    "pie_dropped_settled": Metric("packets that PIE drops from 4 s on", "%"),
    "pie_marked_settled": Metric("packets that PIE marks from 4 s on", "%"),
    "pie_backlog_settled": Metric("what waits from 4 s on", "ms"),
    "pie_jain": Metric("Jain's index of the uploads", ""),
}


def marks(file: RunFile) -> Mapping[str, float]:
    """Return shares of the packets that come to the upload's queue, how long what waits there takes
    to be sent, and how the uploads share it."""
    table = read_series(file.provenance.with_suffix(".qdisc.parquet"))
    own = table[(table["interface"] == "r1-delay") & (table["kind"] == file.qdisc)]
    own = own[own["sent_packets"] > 0]
    late = own[own["time_ns"] >= own["time_ns"].iloc[0] + SETTLED_S * 1e9]
    late = late[late["backlog_packets"] > 0]  # until the uploads end
    uploads = reports.read(file.provenance).query("whole")
    return {
        "pie_dropped": _share(own, "drops"),
        "pie_dropped_settled": _share(late, "drops"),
        "pie_marked_settled": _share(late, f"{file.qdisc}_ecn_mark"),
        "pie_backlog_settled": float(1e3 * late["backlog_bytes"].mean() / RATE_BYTES_S),
        "pie_jain": jain(uploads["goodput_mbit_s"].astype(float)),
    }


def _share(table: pd.DataFrame, column: str) -> float:
    grown = table[["sent_packets", "drops"]].iloc[-1] - table[["sent_packets", "drops"]].iloc[0]
    return float(100 * (table[column].iloc[-1] - table[column].iloc[0]) / grown.sum())


MEASURES: Final = {"marks": Measure(marks, probe="qdisc")}
