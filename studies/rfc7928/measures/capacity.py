"""How a queue takes a link that falls to a fifth and rises again: `rfc7928`.

The table of the probe `packets` tells. The rate falls FALL_S into the load and rises at RISE_S.
"""

from typing import Final

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.measures import packets
from qdisclab.analysis.measures.registry import Measure, Metric
from qdisclab.analysis.runs.dataset import RunFile, read_record, usable
from qdisclab.analysis.runs.flentfile import RERUN
from qdisclab.emulation.datafile import ROWS, read_rows

TABLE: Final = ".box.box-receiver.packets.parquet"
FALL_S: Final = 20.0
RISE_S: Final = 40.0
LEFT: Final = 0.2  # of the rate, between the two
WINDOW_S: Final = 10.0

METRICS: Final = {
    "after_fall_ms": Metric("mean delay of the 10 s after the rate's fall", "ms"),
    "used_percent": Metric("use of the link whose rate changes", "%"),
}


def measure(run: RunFile) -> dict[str, float]:
    """Return the mean delay in ms of packets that left in the WINDOW_S after the fall, and the
    share of the link that was used while the load lasted.

    Raises DataError where no packet left then, or the link did not say when the load began.
    """
    table = packets.read(run.provenance.with_suffix(TABLE)).dropna(subset="sojourn_ms")
    with usable(run):
        began_ns = int(read_rows(run.provenance.with_suffix(ROWS))[0]["began_ns"])
    left_s = (table["out_ns"] - began_ns).astype(float) / 1e9
    length_s = float(read_record(run)["length_s"])
    after = left_s.between(FALL_S, FALL_S + WINDOW_S)
    if not after.any():
        raise DataError.of(run.provenance, f"no packet left {FALL_S:g} s into the load", RERUN)
    mbit_s = float(run.link.partition("/")[2])
    carried = mbit_s * (length_s - (1 - LEFT) * (RISE_S - FALL_S))
    sent = 8e-6 * float(table.loc[left_s.between(0, length_s), "length"].sum())
    return {
        "after_fall_ms": float(table.loc[after, "sojourn_ms"].mean()),
        "used_percent": 100 * sent / carried,
    }


MEASURES: Final = {"capacity": Measure(measure, traffic="programs")}
