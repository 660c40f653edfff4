"""How long packets wait as many flows join one that is there, and after they have gone: `rfc7928`.

The pings of a run of programs tell; others join JOIN_S into the load and leave LEAVE_S into it.
"""

from typing import Final

from qdisclab.analysis.errors import DataError
from qdisclab.analysis.measures.registry import Measure, Metric
from qdisclab.analysis.measures.timeline import pings
from qdisclab.analysis.runs.dataset import RunFile
from qdisclab.analysis.runs.flentfile import RERUN

JOIN_S: Final = 20.0
LEAVE_S: Final = 40.0
WINDOW_S: Final = 10.0


METRICS: Final = {
    "after_join_ms": Metric("mean delay of the 10 s after 31 flows join", "ms"),
    "after_leave_ms": Metric("mean delay of the 10 s after they have gone", "ms"),
}


def measure(run: RunFile) -> dict[str, float]:
    """Return the mean round trip in ms above the run's least, in the WINDOW_S after flows join and
    leave.

    Raises DataError where no ping was answered in one of the two.
    """
    replies = pings(run)
    least = float(replies["rtt_ms"].min())
    numbers = {}
    for name, start in (("after_join_ms", JOIN_S), ("after_leave_ms", LEAVE_S)):
        within = replies[replies["time_s"].between(start, start + WINDOW_S, inclusive="left")]
        if within.empty:
            what = f"has no answer to a ping {start:g} to {start + WINDOW_S:g} s into the load"
            raise DataError.of(run.provenance, what, RERUN)
        numbers[name] = float(within["rtt_ms"].mean()) - least
    return numbers


MEASURES: Final = {"joined": Measure(measure, traffic="programs")}
