"""What downloads, uploads and pings over a link measured, as their programs printed it."""

from collections.abc import Mapping
from typing import Final

from qdisclab.analysis.measures.registry import Measure, Metric
from qdisclab.analysis.measures.timeline import pinged
from qdisclab.analysis.runs import reports
from qdisclab.analysis.runs.dataset import RunFile

METRICS: Final = {
    "link_down_mbit_s": Metric("goodput of the downloads", "Mbit/s"),
    "link_up_mbit_s": Metric("goodput of the uploads", "Mbit/s"),
    "link_rtt_mean_ms": Metric("mean round trip of pings", "ms"),
    "link_rtt_p99_ms": Metric("99th percentile of the round trips of pings", "ms"),
}


def measure(file: RunFile) -> Mapping[str, float]:
    """Return the numbers of METRICS that a run has: programs are called `down…` and `up…`."""
    whole = reports.whole(file.provenance).set_index("program")["goodput_mbit_s"].astype(float)
    numbers = {}
    for way in ("down", "up"):
        if len(own := whole[whole.index.str.startswith(way)]):
            numbers[f"link_{way}_mbit_s"] = float(own.sum())
    return numbers | {f"link_{name}": value for name, value in pinged(file).items()}


MEASURES: Final = {"link": Measure(measure, traffic="programs")}
