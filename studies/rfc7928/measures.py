"""How a queue takes changes of its link and load, and how two flows share it.

BEGIN_S and END_S into the load the link falls to a fifth and rises again (`capacity`, the table of
the probe `packets` tells), or 31 flows join one that is there and leave (`joined`, the pings of the
programs tell). Of two flows the second has a control, way or size of its own (`shares`).
"""

from typing import Final

from qdisclab.analysis.errors import DataError, refused
from qdisclab.analysis.measures import packets
from qdisclab.analysis.measures.fairness import jain
from qdisclab.analysis.measures.registry import Measure, Metric
from qdisclab.analysis.measures.timeline import pings
from qdisclab.analysis.runs import reports
from qdisclab.analysis.runs.dataset import RunFile, read_record, usable
from qdisclab.analysis.runs.flentfile import RERUN
from qdisclab.emulation.datafile import OUTPUT, ROWS, read_rows
from qdisclab.emulation.errors import DamagedData

TABLE: Final = ".box.box-receiver.packets.parquet"
BEGIN_S: Final = 20.0
END_S: Final = 40.0
LEFT: Final = 0.2  # of the rate, between the two
WINDOW_S: Final = 10.0

METRICS: Final = {
    "after_fall_ms": Metric("mean delay of the 10 s after the rate's fall", "ms"),
    "used_percent": Metric("use of the link whose rate changes", "%"),
    "after_join_ms": Metric("mean delay of the 10 s after 31 flows join", "ms"),
    "after_leave_ms": Metric("mean delay of the 10 s after they have gone", "ms"),
    "goodput_first_mbit_s": Metric("goodput of the first flow", "Mbit/s"),
    "goodput_second_mbit_s": Metric("goodput of the second flow", "Mbit/s"),
}


def capacity(run: RunFile) -> dict[str, float]:
    """Return the mean delay in ms of packets that left in the WINDOW_S after the fall, and the
    share of the link that was used while the load lasted.

    Raises DataError where no packet left then, or the link did not say when the load began.
    """
    table = packets.read(run.provenance.with_suffix(TABLE)).dropna(subset="sojourn_ms")
    with usable(run):
        began_ns = int(read_rows(run.provenance.with_suffix(ROWS))[0]["began_ns"])
    left_s = (table["out_ns"] - began_ns).astype(float) / 1e9
    length_s = float(read_record(run)["length_s"])
    after = left_s.between(BEGIN_S, BEGIN_S + WINDOW_S)
    if not after.any():
        raise DataError.of(run.provenance, f"no packet left {BEGIN_S:g} s into the load", RERUN)
    mbit_s = float(run.link.partition("/")[2])
    carried = mbit_s * (length_s - (1 - LEFT) * (END_S - BEGIN_S))
    sent = 8e-6 * float(table.loc[left_s.between(0, length_s), "length"].sum())
    return {
        "after_fall_ms": float(table.loc[after, "sojourn_ms"].mean()),
        "used_percent": 100 * sent / carried,
    }


def joined(run: RunFile) -> dict[str, float]:
    """Return the mean round trip in ms above the run's least, in the WINDOW_S after flows join and
    leave.

    Raises DataError where no ping was answered in one of the two.
    """
    replies = pings(run)
    least = float(replies["rtt_ms"].min())
    numbers = {}
    for name, start in (("after_join_ms", BEGIN_S), ("after_leave_ms", END_S)):
        within = replies[replies["time_s"].between(start, start + WINDOW_S, inclusive="left")]
        if within.empty:
            what = f"has no answer to a ping {start:g} to {start + WINDOW_S:g} s into the load"
            raise DataError.of(run.provenance, what, RERUN)
        numbers[name] = float(within["rtt_ms"].mean()) - least
    return numbers


def shares(run: RunFile) -> dict[str, float]:
    """Return the goodput of both flows in Mbit/s, and Jain's index; raise DataError where one is
    missing.

    The programs `first` and `second` are netperfs that print their throughput alone, in Mbit/s,
    from their first segment to the last one's delivery.
    """
    path, wrong = run.provenance.with_suffix(OUTPUT), "has no throughput of two netperfs ({})"
    with refused(path, wrong, RERUN, DamagedData, KeyError, ValueError):
        texts = dict(reports.printed(run.provenance))
        first, second = (float(texts[name]) for name in ("first", "second"))
    return {
        "goodput_first_mbit_s": first,
        "goodput_second_mbit_s": second,
        "jain_index": jain([first, second]),
    }


MEASURES: Final = {
    of.__name__: Measure(of, traffic="programs") for of in (capacity, joined, shares)
}
