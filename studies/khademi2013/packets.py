"""Runs whose every packet was followed: their tables, as quantities with a unit.

Beside the flent file of such a run lies `seed-NNN.packets.parquet`, a row per packet that came to
the queue under test (`captures` makes it, `data/README.md` describes it).
"""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
import pandas as pd

from qdisclab.analysis.errors import DataError, require_several
from qdisclab.analysis.runs.dataset import RunFile, facts, read_record, usable
from qdisclab.analysis.runs.flentfile import RERUN, Floats, read_series
from qdisclab.emulation.host.pool import mapped

from .captures import table as packets_table
from .captures.table import FATES

SUFFIX: Final = ".packets.parquet"
SHARES: Final = (0.1, 0.25, 0.5, 0.75, 0.9)
"""Of a box and its whiskers, which end at the 10th and 90th percentiles."""
QUANTILES: Final = tuple(f"p{share * 100:g}" for share in SHARES)
INTERVAL_S: Final = 5.0
"""Goodput is that of intervals of 5 s."""
QUANTITIES: Final = {  # name -> (what it is, unit)
    "sojourn": ("Sojourn time", "ms"),
    "rtt": ("Round-trip time", "ms"),
    "queuing": ("Queuing delay", "ms"),
    "goodput": ("Goodput in intervals of 5 s", "Mbit/s"),
    # Of flows the other way, whose acknowledgments are what comes to the queue.
    "up_sojourn": ("Sojourn time of acknowledgments", "ms"),
    "up_rtt": ("Round-trip time of uploads", "ms"),
    "up_goodput": ("Goodput of uploads in intervals of 5 s", "Mbit/s"),
}
UP: Final = "up_"
"""How the quantities of flows the other way begin, which runs with traffic both ways have."""
NONE_BACK: Final = "no flows the other way"
BOTH_WAYS: Final = "Take a run with traffic both ways"


def read_packets(file: RunFile) -> pd.DataFrame:
    """Return the packets that came to the queue under test while the load ran, in order of arrival.

    Columns: arrived_ms (since the load began), flow (over WiFi `up` instead: whether it is an
    acknowledgment of an upload), length (bytes of the Ethernet frame), fate (of FATES), sojourn_ms
    (NaN where dropped), rtt_ms (of the synthetic packet pair that it begins or, of an
    acknowledgment, ends; NaN where there is none) and queuing_ms, the latter without the base
    RTT, which is called queuing delay. Raises DataError where there is
    no such table.
    """
    path = file.data.with_name(file.data.name.removesuffix(".flent.gz") + SUFFIX)
    provenance = read_record(file)
    with usable(file):
        base_ms, length_ms = float(provenance["base_rtt_ms"]), 1000 * float(provenance["length_s"])
    table = packets_table.read(path)
    arrived_ms = table["arrived_100us"] / 10
    sojourn_ms = table["left_100us"] / 10 - arrived_ms
    queuing_ms = sojourn_ms + table["elsewhere_100us"] / 10
    which = "up" if "up" in table else "flow"
    packets = pd.DataFrame(
        {
            "arrived_ms": arrived_ms,
            which: table[which],
            "length": table["length"],
            "fate": pd.Categorical.from_codes(
                table["fate"].to_numpy(dtype=np.int64), categories=pd.Index(FATES)
            ),
            "sojourn_ms": sojourn_ms,
            "rtt_ms": base_ms + queuing_ms,
            "queuing_ms": queuing_ms,
        }
    )
    inside: pd.DataFrame = packets[packets["arrived_ms"].between(0, length_ms, inclusive="left")]
    return inside


def goodput_intervals(
    file: RunFile, interval_s: float = INTERVAL_S, *, uploads: bool = False
) -> Floats:
    """Return the goodput of all flows together in each whole interval of the load, in Mbit/s.

    Of those whose data come to the queue under test, or of `uploads` from WiFi stations, which send
    the other way: DataError where there are none. Payload that is new to its receiver; the
    paper's is tcptrace's (Sec. 3.1.3).
    """
    series = read_series(file.data)
    wireless = "TCP download sum" in series
    name = "TCP upload sum" if uploads or not wireless else "TCP download sum"
    if name not in series or (uploads and not wireless):
        raise DataError.of(file.data, NONE_BACK, BOTH_WAYS)
    time_s, total = series["time_s"], series[name]
    per = round(interval_s / (time_s[1] - time_s[0]))
    steps = total[1:]  # each step has what came since the one before
    whole = steps[: len(steps) // per * per].reshape(-1, per)
    return np.asarray(whole.mean(axis=1))


def run_row(file: RunFile) -> dict[str, Any]:
    """Return the facts of a run for a figure's summary: dataset.RUNS without VoIP and pages, flows,
    the counts of packets, and percentiles of the bytes that a flow has in flight."""
    record = read_record(file)
    with usable(file):
        packets = record["packets"]
        return {
            **facts(file, record),
            "flows": int(record["flows"]),
            **{f"packets_{name}": int(packets[name]) for name in FATES},
            **{f"flight_{name}": int(value) for name, value in packets["flight_bytes"].items()},
        }


def run_quantiles(
    files: Sequence[RunFile], quantities: Collection[str], jobs: int | None = None
) -> pd.DataFrame:
    """Return one row per run and quantity: columns of run_row, quantity, QUANTILES, mean, most and
    count.

    In the unit of QUANTITIES. `jobs` is the number of processes, by default one per core.
    """
    if not files:
        raise ValueError("no runs to read")
    require_several("quantity", quantities, QUANTITIES)
    parts = mapped(partial(_quantiles, quantities=tuple(quantities)), files, jobs)
    return pd.DataFrame([row for part in parts for row in part])


def _quantiles(file: RunFile, quantities: Sequence[str]) -> list[dict[str, Any]]:
    about = run_row(file)
    of_packets = [name for name in quantities if not name.endswith("goodput")]
    packets = read_packets(file) if of_packets else pd.DataFrame()
    rows = []
    for name in quantities:
        column, uploads = name.removeprefix(UP), name.startswith(UP)
        if column == "goodput":
            values = goodput_intervals(file, uploads=uploads)
        else:  # pings have a number above those of all flows
            of_data = ~packets["up"] if "up" in packets else packets["flow"] < about["flows"]
            values = packets.loc[of_data != uploads, f"{column}_ms"].dropna().to_numpy()
        if not values.size:
            if uploads:
                raise DataError.of(file.data, NONE_BACK, BOTH_WAYS)
            raise DataError.of(file.data, f"no value of {name}", RERUN)
        quantiles = dict(zip(QUANTILES, np.quantile(values, SHARES), strict=True))
        rest = {"mean": values.mean(), "most": values.max(), "count": values.size}
        rows.append({**about, "quantity": name, **quantiles, **rest})
    return rows


def mean_quantiles(per_run: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return one row per group of `by`: the means over runs of QUANTILES, mean and most, and
    n_seeds.

    The paper's boxes are averages over all runs (Sec. 3.1.3). `by` includes `quantity`.
    """
    columns: Mapping[str, Any] = {name: (name, "mean") for name in (*QUANTILES, "mean", "most")}
    grouped = per_run.groupby(list(by), observed=True, sort=False, dropna=False)
    means: pd.DataFrame = grouped.agg(n_seeds=("seed", "nunique"), **columns).reset_index()
    return means
