"""How fairly flows of different round-trip times share a link, as in Sec. 6.1 of

T. Høiland-Jørgensen, P. Hurtig, A. Brunstrom, "The Good, the Bad and the WiFi: Modern
AQMs in a residential setting", Computer Networks 89 (2015), doi:10.1016/j.comnet.2015.07.014.
"""

from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from qdisclab.analysis.measures.metrics import RUN
from qdisclab.analysis.measures.registry import Measure, Metric
from qdisclab.analysis.runs.dataset import Dataset, RunFile, read_runs
from qdisclab.analysis.runs.flentfile import TCP_KINDS

JAIN: Final = "jain_index"
TOTAL: Final = "goodput_total_mbit_s"


METRICS: Final = {
    "jain_index": Metric("Jain's index", ""),
    "goodput_total_mbit_s": Metric("total goodput", "Mbit/s"),
    **{
        f"goodput_{rtt}ms_mbit_s": Metric(f"goodput of the flow of {rtt} ms", "Mbit/s")
        for rtt in (10, 50, 200, 500)
    },
}


def jain(goodputs: ArrayLike) -> float:
    """Return Jain's fairness index: 1 where all are equal, 1/n where one of n has all (R. Jain, D.
    Chiu, W. Hawe, "A quantitative measure of fairness", DEC-TR-301, 1984). NaN where all are
    zero."""
    x = np.asarray(goodputs, dtype=np.float64)
    squares = float((x**2).sum())
    return float(x.sum()) ** 2 / (x.size * squares) if squares else float("nan")


def flow_column(base_rtt_ms: float) -> str:
    """Return the column of a flow's goodput: `goodput_10ms_mbit_s`."""
    return f"goodput_{base_rtt_ms:g}ms_mbit_s"


def run_fairness(data: Dataset) -> pd.DataFrame:
    """Return one row per run: RUN, jain_index of the uploads' goodputs over the whole run, their
    sum, and the goodput of each in Mbit/s, `goodput_<round trip>ms_mbit_s`."""
    uploads = data.flows[data.flows["kind"] == "tcp_upload"]
    wide = uploads.pivot_table(
        index="run", columns="base_rtt_ms", values="goodput_mbit_s", aggfunc="sum", observed=True
    )
    columns: dict[str, pd.Series] = {JAIN: wide.apply(jain, axis=1), TOTAL: wide.sum(axis=1)}
    columns |= {flow_column(float(rtt)): wide[rtt] for rtt in wide.columns}
    runs = data.runs["run"]
    mapped = {name: runs.map(column).astype(float) for name, column in columns.items()}
    return data.runs[list(RUN)].assign(**mapped)


def round_trips(data: Dataset) -> list[float]:
    """Return the base round trips of the flows in ms, in ascending order."""
    return sorted(float(rtt) for rtt in set(data.flows["base_rtt_ms"]))


def measure(run: RunFile) -> dict[str, float]:
    """Return Jain's index, total goodput and that of each flow."""
    data = read_runs([run], kinds=TCP_KINDS, jobs=1)
    row = run_fairness(data).iloc[0]
    flows = [flow_column(rtt) for rtt in round_trips(data)]
    return {name: float(row[name]) for name in (JAIN, TOTAL, *flows)}


MEASURES: Final = {"fairness": Measure(measure, traffic="flent", test="rtt_fair.*")}
